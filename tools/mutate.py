"""Mutation testing: change the code in small ways and see whether the tests of its package fail.

    python tools/mutate.py src/isogloss/stats                            every mutant of a package
    python tools/mutate.py src/isogloss/events/link --sample 150         150 mutants, chosen at random
    python tools/mutate.py src/isogloss/em --tests tests/mixture         with further tests

`make mutate` calls this. mutmut makes the mutants; for each it runs the tests that reach the changed
function. It works in a copy of the checkout, which is deleted at the end. pytest loads this file as a plugin.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path("src", "isogloss")
# Texts of errors and of log records may change without a failing test.
NOT_MUTATED = [r"\braise \w+", r"\b_?(log|logger)\.\w+\(", r"\bwarnings\.warn\(", r"^\s*(from|import) "]
STATUSES = ("killed", "timeout", "survived", "no tests")
# An editable installation finds isogloss before the PYTHONPATH does.
SITE_CUSTOMISATION = """\
import sys
sys.meta_path[:] = [each for each in sys.meta_path if not type(each).__name__.startswith("ScikitBuild")]
"""


def main():
    """Run what the command line asks for, and print the survivors and the score of each module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", metavar="PATH", help="folder or file below src/isogloss")
    parser.add_argument(
        "--sample", type=int, metavar="N", help="try N mutants, chosen at random; default: all"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample; default: 0")
    parser.add_argument("--tests", nargs="+", default=[], metavar="PATH", help="run these tests as well")
    parser.add_argument(
        "-k", dest="keyword", metavar="EXPRESSION", help="run only matching tests, as in pytest"
    )
    parser.add_argument("--jobs", type=int, default=1, help="mutants to test at a time; default: 1")
    parser.add_argument("--keep", action="store_true", help="keep the copy, e.g. for `mutmut browse`")
    options = parser.parse_args()
    paths = [checked(parser, path) for path in options.paths]
    tests = sorted({test for path in paths for test in tests_of(path)} | set(options.tests))
    with copy_of_checkout(options.keep) as folder:
        configure(folder, paths, tests, options.keyword)
        os.chdir(folder)  # mutmut reads its settings from the current directory
        return run(options)


def checked(parser, given):
    """The path from the root of the checkout, or a usage error."""
    path = Path(given).resolve()
    if not path.exists() or ROOT / PACKAGE not in path.parents:
        parser.error(f"{given} is not a file or folder below {PACKAGE}")
    return path.relative_to(ROOT)


def tests_of(path):
    """Tests of the package at or above `path`, and the examples in its docstrings."""
    package = Path(path.relative_to(PACKAGE).parts[0]).stem
    yield str(path)
    if (ROOT / "tests" / package).is_dir():
        yield f"tests/{package}"
    for test in ROOT.glob(f"tests/test_{package}*.py"):
        yield str(test.relative_to(ROOT))
    for test in ROOT.glob("tests/properties/test_*.py"):
        if f"isogloss.{package}" in test.read_text():
            yield str(test.relative_to(ROOT))


@contextlib.contextmanager
def copy_of_checkout(keep):
    """A temporary folder with the files that git tracks or would track, and the compiled kernels."""
    folder = Path(tempfile.mkdtemp(prefix="isogloss-mutate-"))
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    kernels = importlib.util.find_spec("isogloss.kernels._kernels").origin
    try:
        for name in filter(None, names.split("\0")):
            if (ROOT / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        shutil.copy2(kernels, folder / PACKAGE / "kernels")
        yield folder
    finally:
        if keep:
            print(f"\nThe copy is {folder}; `cd` there and call `mutmut browse`.")
        else:
            shutil.rmtree(folder)


def configure(folder, paths, tests, keyword):
    """Write the settings of mutmut, and let Python find isogloss in the copy only."""
    pytest = ["-p", "mutate", "-p", "no:cacheprovider", "-p", "no:xdist", "--import-mode=importlib"]
    settings = {
        "source_paths": ["src"],
        "only_mutate": [f"{path}/*" if (folder / path).is_dir() else str(path) for path in paths],
        "also_copy": sorted(each.name for each in folder.iterdir() if each.name != "src"),
        "do_not_mutate_patterns": NOT_MUTATED,
        "pytest_add_cli_args": [*pytest, *(["-k", keyword] if keyword else [])],
        "pytest_add_cli_args_test_selection": tests,
        "process_isolation": "forkserver",
        "use_git_change_detection": False,
        "timeout_multiplier": 4.0,
        "timeout_constant": 5.0,
    }
    with (folder / "pyproject.toml").open("a") as file:
        file.write("\n[tool.mutmut]\n")
        for name, value in settings.items():
            file.write(f"{name} = {json.dumps(value)}\n")  # JSON is valid TOML for these
    (folder / "tools" / "sitecustomize.py").write_text(SITE_CUSTOMISATION)
    for file in (folder / PACKAGE).rglob("*.py"):  # mutmut leaves decorated functions alone
        file.write_text(re.sub(r"^ *@thread_bound\n", "", file.read_text(), flags=re.MULTILINE))


def run(options):
    """Make the mutants, test them and report; return the exit code."""
    from mutmut.__main__ import copy_src_dir, create_mutants

    with contextlib.redirect_stdout(None):
        copy_src_dir()
        create_mutants(options.jobs)
    every = sorted(exit_codes())
    sampled = options.sample is not None and options.sample < len(every)
    chosen = random.Random(options.seed).sample(every, options.sample) if sampled else every
    print(
        f"{len(chosen)} of {len(every)} mutants" + (f", seed {options.seed}" if sampled else ""), flush=True
    )
    mutants = Path("mutants").resolve()
    folders = [mutants / "src", mutants, mutants.parent / "tools"]
    command = [
        shutil.which("mutmut", path=Path(sys.executable).parent),
        "run",
        "--max-children",
        str(options.jobs),
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}
    done = subprocess.run([*command, *(chosen if sampled else ())], env=environment)
    if done.returncode == 0:
        report(chosen)
    return done.returncode


def exit_codes():
    """The exit code of the tests by the name of the mutant; None if it was not tried."""
    from mutmut.__main__ import collect_source_file_mutation_data

    return {name: code for _, name, code in collect_source_file_mutation_data(mutant_names=[])[0]}


def report(chosen):
    """Print what the survivors change, then the score of each module."""
    from mutmut.mutation.diff_apply import find_mutant, get_diff_for_mutant
    from mutmut.stats import status_by_exit_code

    codes = exit_codes()
    counts = defaultdict(Counter)
    survivors = []
    for name in sorted(name for name in chosen if codes[name] is not None):
        status = status_by_exit_code[codes[name]]
        status = status if status in STATUSES else "killed"  # the tests crashed
        counts[re.split(r"\.x[_ǁ]", name)[0]][status] += 1
        if status in ("survived", "no tests"):
            survivors.append((name, status))
    for name, status in survivors:
        print(f"\n{name}: {status}")
        changes = get_diff_for_mutant(name, path=find_mutant(name).path).splitlines()[2:]
        print("\n".join(line for line in changes if line.startswith(("-", "+"))))
    width = max(map(len, counts), default=0)
    row = f"{{:{width}}} {{:>8}} {{:>7}} {{:>8}} {{:>9}} {{:>9}} {{:>6}}"
    print("\n" + row.format("module", "mutants", "killed", "timeout", "survived", "no tests", "score"))
    for module, found in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
        score = (found["killed"] + found["timeout"]) / max(1, found.total())
        print(row.format(module, found.total(), *(found[status] for status in STATUSES), f"{score:.0%}"))


def pytest_sessionstart():
    """Let Hypothesis draw the same examples for every mutant, and not shrink those that fail."""
    from hypothesis import Phase, settings

    phases = [Phase.explicit, Phase.generate]
    settings.register_profile("mutate", settings(), derandomize=True, database=None, phases=phases)
    settings.load_profile("mutate")


def pytest_collection_modifyitems(items):
    """Leave out the examples that every mutant repeats in its docstring, and run quick tests first."""
    items[:] = [item for item in items if not re.search(r"__mutmut_\d+$", item.name)]
    with contextlib.suppress(FileNotFoundError):  # the first run measures
        seconds = json.loads(Path("mutmut-stats.json").read_text())["duration_by_test"]
        items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))


if __name__ == "__main__":
    sys.exit(main())
