r"""Error rates of word alignment: presets, fixed settings and other packages, and what they cost.

    python -m experiments.alignment_methods [folder] [--data FOLDER] [--quick] [--sets NAME ...]
        [--sizes N ...] [--settings NAME ...] [--peers NAME ...]

Three language pairs, each with 500, 5,000 and all (0) sentence pairs besides those with manual links. Every
aligner runs as a command of its own, from tokenised files to links, on one thread; CPU time and the greatest
resident memory are those of the process and its children. Of eflomal and fast_align, which write both
directions, the best of the intersection, grow-diag and grow-diag-final-and is given, and which it was.
Sentences that were used to choose settings are not scored. AER in per cent.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, cast

from experiments._report import Table, data_folder, options_parser, own_folder, write_report
from experiments.alignment_data import SETS, GoldText
from isogloss.alignment import Gold, Links, read_pharaoh, score_links, symmetrise
from isogloss.alignment.decoding import Heuristic

_ONE = ["--set", "ensemble=[]"]
_LONG = "1:3,hmm:5"

OURS: dict[str, list[str]] = {
    "default": [],
    "quick": ["--preset", "quick"],
    "thorough": ["--preset", "thorough"],
    "one model (0.1)": [*_ONE, "--schedule", _LONG, "--threshold", "0.5"],
    "one model of words": _ONE,
    "one model of four letters": [*_ONE, "--set", "prefix=4"],
    "one model of stems": [*_ONE, "--set", "stems=true"],
    "words, 4 and 3 letters": ["--set", "ensemble=[4,3]"],
    "words, 4 letters, stems": ["--set", 'ensemble=[4,"stems"]'],
    "words, 5, 4, 3 letters, stems": ["--set", 'ensemble=[5,4,3,"stems"]'],
    "default, 1:3,hmm:5": ["--schedule", _LONG],
    "default, grow-diag-final-and": ["--method", "grow-diag-final-and"],
    "default, threshold .4": ["--threshold", "0.4"],
    "default, threshold .5": ["--threshold", "0.5"],
    "default, threshold .6": ["--threshold", "0.6"],
}
"""Options of ``isogloss align`` by the name of the setting; the first three are the presets."""

PEERS = {"eflomal": "eflomal", "fast_align": "thot"}
"""Packages and their modules."""

HEURISTICS = ("intersection", "grow-diag", "grow-diag-final-and")
SIZES = (500, 5_000, 0)


class Outcome(NamedTuple):
    """What one run needed and how well it did."""

    aer: float
    precision: float
    recall: float
    cpu_seconds: float
    megabytes: float
    method: str = ""


class Usage(NamedTuple):
    """CPU seconds and the greatest resident memory, in MB, of a command and its children."""

    cpu_seconds: float
    megabytes: float


def run_command(command: Sequence[str]) -> Usage:
    """Run a command to its end on one thread."""
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", ISOGLOSS_NUM_THREADS="1")
    with tempfile.TemporaryFile() as log:
        outputs = [(os.POSIX_SPAWN_DUP2, log.fileno(), number) for number in (1, 2)]
        child = os.posix_spawn(command[0], list(command), environment, file_actions=outputs)
        _, status, used = os.wait4(child, 0)
        if status:
            log.seek(0)
            raise RuntimeError(f"{' '.join(command)}: {log.read()[-2000:].decode(errors='replace')}")
    return Usage(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6)


def align_ours(options: Sequence[str], folder: Path) -> tuple[dict[str, Links], Usage]:
    """Our command."""
    files = [str(folder / name) for name in ("source", "target")]
    command = [
        sys.executable,
        "-m",
        "isogloss",
        "align",
        "run",
        *files,
        "-o",
        str(folder / "ours"),
        "-j",
        "1",
    ]
    used = run_command([*command, *options])
    return {"": read_pharaoh(folder / "ours")}, used


def align_peer(name: str, folder: Path) -> tuple[dict[str, Links], Usage]:
    """Another package, and its two directions symmetrised in each way."""
    used = run_command([sys.executable, "-m", "experiments._alignment_peers", name, str(folder)])
    forward, backward = (read_pharaoh(folder / side) for side in ("forward", "backward"))
    return {how: symmetrise(forward, backward, cast(Heuristic, how)) for how in HEURISTICS}, used


def measure(text: GoldText, found: dict[str, Links], used: Usage) -> Outcome:
    """The best of the ways to symmetrise."""
    gold = Gold(text.gold.sure[text.held], text.gold.possible[text.held])
    scores = {how: score_links(links[text.held], gold) for how, links in found.items()}
    how = min(scores, key=lambda name: scores[name].aer)
    best = scores[how]
    return Outcome(*(round(100 * x, 2) for x in (best.aer, best.precision, best.recall)), *used, how)


def compare(text: GoldText, ours: Sequence[str], peers: Sequence[str]) -> dict[str, Outcome]:
    """Our settings and other packages on one text."""
    out = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side, lines in (("source", text.source), ("target", text.target)):
            (folder / side).write_text("".join(f"{line}\n" for line in lines))
        for setting in ours:
            out[setting] = measure(text, *align_ours(OURS[setting], folder))
            print(f"  {setting}: {out[setting]}", flush=True)
        for peer in peers:
            if find_spec(PEERS[peer]) is None:
                print(f"  {peer} is not installed; pip install --group bench", flush=True)
                continue
            out[peer] = measure(text, *align_peer(peer, folder))
            print(f"  {peer}: {out[peer]}", flush=True)
    return out


def table(title: str, found: dict[str, Outcome]) -> Table:
    """One text."""
    header = ("", "AER", "precision", "recall", "CPU s", "MB", "symmetrised by")
    rows = [
        (name, f"{o.aer:.1f}", f"{o.precision:.1f}", f"{o.recall:.1f}", f"{o.cpu_seconds:.1f}",
         f"{o.megabytes:.0f}", o.method)
        for name, o in found.items()
    ]  # fmt: skip
    return Table(title, header, rows)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = options_parser(__doc__, data="alignment/")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="training pairs; 0 for all")
    parser.add_argument("--settings", nargs="+", choices=list(OURS), default=list(OURS))
    parser.add_argument("--peers", nargs="*", choices=list(PEERS), default=list(PEERS))
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> Path:
    """Measure everything and write the report."""
    given = parse(arguments)
    data = data_folder(given.data, "alignment")
    lines, figures = ["# Word alignment", "", *(__doc__ or "").splitlines()[4:], ""], {}
    for name in given.sets:
        for size in given.sizes[:1] if given.quick else given.sizes:
            text = SETS[name](data, size or None)
            title = f"{name}, {len(text.source):,} sentence pairs, {len(text.held)} scored"
            print(title, flush=True)
            found = compare(text, given.settings[: 2 if given.quick else None], given.peers)
            one = table(title, found)
            one.show()
            lines += [f"## {title}", "", *one.markdown(), ""]
            figures[title] = {setting: outcome._asdict() for setting, outcome in found.items()}
    return write_report(own_folder(given.folder, "alignment"), lines, cast(dict[str, Any], figures))


if __name__ == "__main__":
    main()
