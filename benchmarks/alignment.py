"""Word alignment of 50,000 sentence pairs in both directions, files in, links out: ours and eflomal's.

The number of pairs can be given in ISOGLOSS_PAIRS. Accuracy is the alignment error rate (per cent, lower is
better) on the test sentences of the Hansards: agreed links of ours, the intersection of eflomal's directions,
which is the better of its symmetrisations there. Nothing is tuned on these sentences.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks._hansards import Hansards
from benchmarks.harness import Result, compare, need
from isogloss.alignment import Aligner, Links, read_pharaoh, symmetrise, write_pharaoh
from isogloss.corpora import LinePairs


def main() -> Result:
    """Compare them."""
    eflomal = need("eflomal")
    n = int(os.environ.get("ISOGLOSS_PAIRS", "50000"))
    text = Hansards(n)
    with tempfile.TemporaryDirectory() as name:
        source, target = text.write(Path(name))
        return compare(
            "alignment",
            ours=lambda: align_ours(source, target, Path(name)),
            peer=lambda: align_eflomal(eflomal, source, target, Path(name)),
            peer_name="eflomal",
            accuracy=text.aer,
            repeats=1 if n > 100_000 else 2,
            details={"sentence_pairs": n},
        )


def align_ours(source: Path, target: Path, folder: Path) -> Links:
    """What ``isogloss align`` does with its defaults."""
    pairs = list(LinePairs(source, target))
    links = Aligner().fit(pairs).align(pairs)
    write_pharaoh(links, folder / "ours")
    return links


def align_eflomal(eflomal: object, source: Path, target: Path, folder: Path) -> Links:
    """Both directions with its defaults, and their intersection."""
    forward, backward = folder / "forward", folder / "backward"
    with source.open() as en, target.open() as fr:
        eflomal.Aligner().align(  # type: ignore[attr-defined]
            en, fr, links_filename_fwd=str(forward), links_filename_rev=str(backward)
        )
    return symmetrise(read_pharaoh(forward), read_pharaoh(backward), "intersection")
