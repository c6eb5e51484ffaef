"""Measure the source tree at some revisions: lines by kind, modules, folders, constants, names of classes.

python tools/measure_code.py [--packages] [REVISION ...]      by default the files as they are now
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tarfile
from collections import Counter
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = PurePosixPath("src/isogloss")
MAX_FUNCTION_LINES = 60
MAX_FOLDER_MODULES = 15
Sources = dict[PurePosixPath, str]


def read_sources(revision: str | None) -> Sources:
    """Return the modules of the package at a revision, or as they are on disk."""
    if revision is None:
        files = (ROOT / PACKAGE).rglob("*.py")
        return {PurePosixPath(file.relative_to(ROOT / PACKAGE)): file.read_text("utf-8") for file in files}
    packed = subprocess.run(
        ["git", "archive", revision, str(PACKAGE)], cwd=ROOT, capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        members = [m for m in archive.getmembers() if m.isfile() and m.name.endswith(".py")]
        return {
            PurePosixPath(m.name).relative_to(PACKAGE): archive.extractfile(m).read().decode()
            for m in members
        }


def count_lines(text: str) -> Counter[str]:
    """Count the lines of a module: code, documentation (strings that are statements, comments), blank."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            documented.update(range(node.lineno, node.end_lineno + 1))
    kinds: Counter[str] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        is_text = number in documented or line.lstrip().startswith("#")
        kinds["documentation" if is_text else "code" if line.strip() else "blank"] += 1
    return kinds


def measure(sources: Sources) -> dict[str, int]:
    """Return the measures of a tree."""
    lines: Counter[str] = Counter()
    folders: Counter[PurePosixPath] = Counter()
    classes: dict[str, set[PurePosixPath]] = {}
    constants: Counter[str] = Counter()
    long_functions = 0
    for path, text in sources.items():
        tree = ast.parse(text)
        lines += count_lines(text)
        if path.name != "__init__.py":
            folders[path.parent] += 1
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes.setdefault(node.name, set()).add(path)
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            names = (target.id for target in targets if isinstance(target, ast.Name))
            constants.update(name for name in names if re.fullmatch(r"_?[A-Z][A-Z0-9_]+", name))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                text_lines = len((ast.get_docstring(node, clean=False) or "").splitlines())
                long_functions += node.end_lineno - node.lineno + 1 - text_lines > MAX_FUNCTION_LINES
    private = [path for path in sources if any(re.match(r"_[^_]", part) for part in path.parts)]
    return {
        "lines": lines.total(),
        **lines,
        "modules": len(sources),
        "public modules": len(sources) - len(private),
        "modules of the largest folder": max(folders.values()),
        f"folders of more than {MAX_FOLDER_MODULES} modules": sum(
            count > MAX_FOLDER_MODULES for count in folders.values()
        ),
        "names of classes used twice": sum(len(paths) > 1 for paths in classes.values()),
        "constants": constants.total(),
        "names of constants used four times or more": sum(count > 3 for count in constants.values()),
        f"functions of more than {MAX_FUNCTION_LINES} lines": long_functions,
    }


def measure_packages(sources: Sources) -> dict[str, int]:
    """Return the lines of each package."""
    sizes: Counter[str] = Counter()
    for path, text in sources.items():
        sizes[path.parts[0] if len(path.parts) > 1 else "(modules)"] += len(text.splitlines())
    return dict(sorted(sizes.items()))


def main() -> None:
    """Print a table with a column for each revision."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revisions", nargs="*", metavar="REVISION")
    parser.add_argument("--packages", action="store_true", help="lines of each package")
    options = parser.parse_args()
    revisions = options.revisions or [None]
    work = measure_packages if options.packages else measure
    columns = [work(read_sources(revision)) for revision in revisions]
    width = max(len(name) for column in columns for name in column)
    print(" " * width, *(f"{revision or 'now':>12.12}" for revision in revisions))
    for name in dict.fromkeys(name for column in columns for name in column):
        print(f"{name:{width}}", *(f"{column.get(name, 0):12,}" for column in columns))


if __name__ == "__main__":
    main()
