"""What every experiment shares: its options, tables, verdicts, pictures, and the files it writes."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from rich.console import Console
from rich.table import Table as RichTable

T = TypeVar("T")


class Table(NamedTuple):
    """A table to print and to write."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> list[str]:
        """Its lines in Markdown, without the title."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return [f"| {' | '.join(line)} |" if line[0] != "---" else "|---" * len(line) + "|" for line in lines]

    def show(self) -> None:
        """Print it."""
        table = RichTable(title=self.title)
        for number, column in enumerate(self.header):
            table.add_column(column, justify="left" if number == 0 else "right")
        for row in self.rows:
            table.add_row(*row)
        Console().print(table)


def options_parser(doc: str | None, *, data: str = "") -> argparse.ArgumentParser:
    """The options that all have: where the report goes, --quick and --seed; with ``data``, --data too."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", default="reports", type=Path, help="where the report goes")
    parser.add_argument("--quick", action="store_true", help="a small part of the published size")
    parser.add_argument("--seed", default=0, type=int)
    if data:
        parser.add_argument("--data", type=Path, help=f"folder with {data}; ISOGLOSS_DATA by default")
    return parser


def data_folder(given: Path | None, needed: str) -> Path:
    """The folder of the data, as given, of ISOGLOSS_DATA or beside the checkout; it must have ``needed``."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = given or Path(os.environ.get("ISOGLOSS_DATA", beside))
    if not (folder / needed).is_dir():
        raise SystemExit(f"there is no {needed} in {folder}; set ISOGLOSS_DATA or give --data")
    return folder


def own_folder(folder: Path, name: str) -> Path:
    """The folder of one experiment, made if need be."""
    own = folder / name
    own.mkdir(parents=True, exist_ok=True)
    return own


def claim(holds: bool, what: str) -> str:
    """A line that says whether a published claim holds."""
    return f"- {'holds' if holds else '**does not hold**'}: {what}"


def reading(doc: str | None, skip: int) -> list[str]:
    """The section that says how the source was read: a module's docstring without its first lines."""
    return ["## Reading of the source", "", *(doc or "").strip().splitlines()[skip:], ""]


def save_figure(fig: plt.Figure, path: Path) -> None:
    """Write a picture and forget it."""
    fig.tight_layout()
    fig.savefig(path, dpi=120)
    plt.close(fig)


def write_report(folder: Path, lines: Sequence[str], data: dict[str, Any]) -> Path:
    """Write report.md and, beside it, the figures as report.json."""
    (folder / "report.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    path = folder / "report.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"written: {path}")
    return path


def timed(what: str, run: Callable[[], T]) -> T:
    """Run something, and print how many CPU seconds it took."""
    print(f"{what} ...", flush=True)
    start = time.process_time()
    result = run()
    print(f"{what}: {time.process_time() - start:.0f} s", flush=True)
    return result
