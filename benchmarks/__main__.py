"""Run benchmarks by name.

    python -m benchmarks              list them
    python -m benchmarks NAME         run one; the last line is its result as JSON
    python -m benchmarks --all        run all, each in a process of its own

Exit code 0: done; 1: a benchmark failed; 2: no such benchmark, or its peer is not installed.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).resolve().parent
NOT_BENCHMARKS = {"__init__", "__main__", "harness"}


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="isogloss beside its peers")
    parser.add_argument("name", nargs="?", help="the benchmark to run; without it, all are listed")
    parser.add_argument("--all", action="store_true", help="run all, each in a process of its own")
    options = parser.parse_args()
    if options.all:
        return run_all()
    if options.name is None:
        return list_all()
    return run_one(options.name)


def benchmarks() -> dict[str, str]:
    """Name and first line of every benchmark, without importing it."""
    paths = sorted(p for p in FOLDER.glob("*.py") if p.stem not in NOT_BENCHMARKS and p.stem[0] != "_")
    docs = {path.stem: ast.get_docstring(ast.parse(path.read_text())) for path in paths}
    return {name: (doc or "no docstring").splitlines()[0] for name, doc in docs.items()}


def list_all() -> int:
    """One line per benchmark."""
    table = Table("name", "compares", box=None)
    for name, line in benchmarks().items():
        table.add_row(name, line)
    Console().print(table)
    return 0


def run_one(name: str) -> int:
    """Run one here; a missing peer is a sentence, not a trace."""
    if name not in benchmarks():
        print(f"no benchmark {name!r}; there are: {', '.join(benchmarks())}", file=sys.stderr)
        return 2
    try:
        from benchmarks.harness import MissingPeerError, report
    except ModuleNotFoundError as error:
        print(f"benchmarks need {error.name}; run: make bench, or pip install --group bench", file=sys.stderr)
        return 2
    try:
        report(importlib.import_module(f"benchmarks.{name}").main())
    except MissingPeerError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2
    return 0


def run_all() -> int:
    """Run every benchmark in a process of its own, and show the ratios together."""
    summary = Table("benchmark", "ours / peer", "of", "peer", title="all benchmarks", title_justify="left")
    worst = 0
    for name in benchmarks():
        command = [sys.executable, "-m", "benchmarks", name]
        done = subprocess.run(command, cwd=FOLDER.parent, stdout=subprocess.PIPE, text=True)
        print(done.stdout, end="", flush=True)
        worst = max(worst, 1 if done.returncode not in (0, 2) else done.returncode, key=[0, 2, 1].index)
        if done.returncode == 0:
            result = json.loads(done.stdout.splitlines()[-1])
            summary.add_row(name, f"{result['ratio']:.3f}", result["measure"], result["peer"]["name"])
        else:
            summary.add_row(name, "-", "failed" if done.returncode != 2 else "peer missing", "")
    Console().print(summary)
    return worst


if __name__ == "__main__":
    sys.exit(main())
