"""The Hansards of the shared data: sentence pairs, and gold links of the first of them."""

from __future__ import annotations

import gzip
import os
from itertools import islice
from pathlib import Path

from benchmarks.harness import MissingPeerError
from isogloss.alignment import Gold, Links, read_gold, score_links

__all__ = ["Hansards", "folder"]


def folder() -> Path:
    """The folder of the data; says what to do when it is absent."""
    root = Path(os.environ.get("ISOGLOSS_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    found = root / "alignment" / "hansards-en-fr"
    if not found.is_dir():
        raise MissingPeerError(f"no Hansards in {found.name}; set ISOGLOSS_DATA to the folder of the data")
    return found


class Hansards:
    """The test sentences with their gold links, then ``n`` training pairs."""

    def __init__(self, n: int) -> None:
        where = folder()
        self.gold: Gold = read_gold(where / "test.gold")
        self.lines = [
            [*(where / f"test.{side}").read_text().splitlines(), *_first(where / f"train.{side}.gz", n)]
            for side in ("en", "fr")
        ]

    def pairs(self) -> list[tuple[str, str]]:
        """All sentence pairs."""
        return list(zip(*self.lines, strict=True))

    def write(self, to: Path) -> tuple[Path, Path]:
        """Both sides as plain files, for peers that want those."""
        paths = to / "en", to / "fr"
        for path, lines in zip(paths, self.lines, strict=True):
            path.write_text("\n".join(lines) + "\n")
        return paths

    def aer(self, links: Links) -> float:
        """Alignment error rate on the test sentences, in per cent."""
        return 100 * score_links(links[: len(self.gold.sure)], self.gold).aer


def _first(path: Path, n: int) -> list[str]:
    with gzip.open(path, "rt") as lines:
        return [line.rstrip("\n") for line in islice(lines, n)]
