"""Plant faults in a copy of the source, one at a time, and require the named test to turn red.

    python tools/faults.py                 every fault of tests/planted_faults.toml
    python tools/faults.py moments merge   those whose file, test or `why` has one of these words

Each entry of the table is::

    [[fault]]
    file = "src/isogloss/stats/cross.py"
    find = "self.n + n"            # occurs exactly once in the file
    replace = "self.n"
    test = "tests/stats/test_moments.py::test_merge_equals_one_pass"
    why = "a merge that forgets rows"   # optional

A fault is caught when the test passes on the untouched copy and fails, as a test (not as an import
error), on the copy with the fault. Exit code 0: all caught; 1: some survived; 2: the table is wrong.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.metadata
import multiprocessing
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import track
from rich.table import Table

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests" / "planted_faults.toml"
LEFT_OUT = (".*", "build", "dist", "_build", "gallery", "generated", "__pycache__")
PYTEST_FAILED = 1
SECONDS = 300
T = TypeVar("T")

# Importing scikit-learn takes longer than most tests, so tests run in forks of a process that has done it.
# isogloss itself is not among these, because every copy has its own.
IMPORTED_ONCE = """
    hypothesis numpy pytest pytest_timeout rich.progress scipy.linalg scipy.sparse scipy.special
    sklearn.base sklearn.cluster sklearn.datasets sklearn.metrics sklearn.utils.validation
"""
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(IMPORTED_ONCE.split())

# An editable install finds isogloss before PYTHONPATH does; the copy's interpreters must not ask it.
SITECUSTOMIZE = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "isogloss" not in type(finder).__module__]
"""


@dataclasses.dataclass(frozen=True)
class Fault:
    """One line of the source made wrong, and the test that must notice."""

    file: str
    find: str
    replace: str
    test: str
    why: str = ""

    @property
    def name(self) -> str:
        """What people call it."""
        return self.why or f"{self.find.strip()} -> {self.replace.strip() or 'nothing'}"

    def problem(self, root: Path = ROOT) -> str | None:
        """What is wrong with the entry itself, if anything."""
        path, test = root / self.file, root / self.test.partition("::")[0]
        if not path.is_file():
            return f"{self.file} does not exist"
        if not test.is_file():
            return f"{test.relative_to(root)} does not exist"
        found = path.read_text().count(self.find)
        if found != 1:
            return f"the text to find occurs {found} times in {self.file}; expected once"
        return "find and replace are the same" if self.find == self.replace else None


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What became of a fault."""

    fault: Fault
    caught: bool
    said: str


def main() -> int:
    """Run the table, or the part of it that was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="only faults whose file, test or why has one of these")
    parser.add_argument("--table", type=Path, default=TABLE, help="the table (tests/planted_faults.toml)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="faults at a time")
    options = parser.parse_args()
    console = Console()
    try:
        faults = [fault for fault in read_table(options.table) if concerns(fault, options.words)]
    except (KeyError, TypeError, ValueError) as error:
        console.print(f"[red]{options.table.name}: {error}")
        return 2
    problems = [f"{fault.name}: {problem}" for fault in faults if (problem := fault.problem())]
    if problems or not faults:
        message = "\n".join(problems) or "no such fault in the table"
        console.print(message, style="red", markup=False, soft_wrap=True)
        return 2
    verdicts = run_all(faults, options.jobs, console)
    show(verdicts, console)
    return 0 if all(verdict.caught for verdict in verdicts) else 1


def read_table(path: Path = TABLE) -> list[Fault]:
    """The faults of a table."""
    return [Fault(**entry) for entry in tomllib.loads(path.read_text())["fault"]]


def concerns(fault: Fault, words: Sequence[str]) -> bool:
    """Whether a fault is among those asked for."""
    return not words or any(word in f"{fault.file} {fault.test} {fault.why}" for word in words)


def run_all(faults: Sequence[Fault], jobs: int, console: Console) -> list[Verdict]:
    """First every test on the source as it is, then every fault."""
    tests = sorted({fault.test for fault in faults})
    with ThreadPoolExecutor(jobs) as pool:
        outcomes = show_progress(pool.map(run_healthy, tests), "without faults", len(tests), console)
        healthy = dict(zip(tests, outcomes, strict=True))
        verdicts = pool.map(lambda fault: run_fault(fault, healthy), faults)
        return list(show_progress(verdicts, "with faults", len(faults), console))


def show_progress(values: Iterable[T], what: str, total: int, console: Console) -> Iterable[T]:
    """The values, with a progress bar for people."""
    return track(values, what, total, console=console, transient=True, disable=not console.is_terminal)


def run_healthy(test: str) -> tuple[int, str]:
    """Exit code and closing words of a test on an untouched copy."""
    with copy_of_the_tree() as tree:
        return run_test(tree, test)


def run_fault(fault: Fault, healthy: dict[str, tuple[int, str]]) -> Verdict:
    """Plant one fault in a copy of its own and run its test."""
    code, said = healthy[fault.test]
    if code:
        return Verdict(fault, False, f"red without the fault: {said}")
    with copy_of_the_tree() as tree:
        path = tree / fault.file
        path.write_text(path.read_text().replace(fault.find, fault.replace))
        code, said = run_test(tree, fault.test)
    return Verdict(fault, code == PYTEST_FAILED, said if code else f"survived: {said}")


@contextmanager
def copy_of_the_tree() -> Iterator[Path]:
    """A copy of the checkout, compiled kernels included, that Python prefers to the installed one."""
    with tempfile.TemporaryDirectory(prefix="isogloss-fault-") as folder:
        tree = Path(folder, "tree")
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for compiled in compiled_kernels():
            shutil.copy(compiled, tree / "src" / "isogloss" / "kernels")
        (tree / "src" / "sitecustomize.py").write_text(SITECUSTOMIZE)
        yield tree


def compiled_kernels() -> list[Path]:
    """The extension modules of the installed package, found without importing it."""
    files = importlib.metadata.files("isogloss") or []
    return [Path(str(file.locate())) for file in files if file.name.startswith("_kernels.")]


def run_test(tree: Path, test: str) -> tuple[int, str]:
    """Exit code and closing line of one test in a tree."""
    output = tree.parent / "output.txt"
    process = FORKS.Process(target=become_a_test_run, args=(tree, test, output))
    process.start()
    process.join(SECONDS)
    if process.exitcode is None:
        process.kill()
        process.join()
        return -1, f"no answer in {SECONDS} s"
    lines = output.read_text(errors="replace").strip().splitlines() or ["nothing said"]
    return process.exitcode, lines[-1]


def become_a_test_run(tree: Path, test: str, output: Path) -> None:
    """Become a Python that was started in the tree, run pytest there, and exit with its code."""
    said = os.open(output, os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.chdir(tree)
    # CI: the same random examples every time. PYTHONPATH: for the processes that a test starts.
    os.environ |= {"CI": "true", "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(tree), str(tree / "src")]
    exec(SITECUSTOMIZE)
    import pytest

    sys.exit(pytest.main(["-x", "-m", "", "-p", "no:cacheprovider", "--tb=line", test]))


def show(verdicts: Sequence[Verdict], console: Console) -> None:
    """A table of what became of every fault."""
    table = Table("fault", "test", "outcome", title="planted faults", title_justify="left")
    table.columns[1].overflow = "fold"
    for verdict in verdicts:
        outcome = "[green]caught" if verdict.caught else f"[red]NOT CAUGHT: {escape(verdict.said)}"
        table.add_row(escape(verdict.fault.name), escape(verdict.fault.test.removeprefix("tests/")), outcome)
    console.print(table)
    caught = sum(verdict.caught for verdict in verdicts)
    console.print(f"{caught} of {len(verdicts)} faults caught")


if __name__ == "__main__":
    sys.exit(main())
