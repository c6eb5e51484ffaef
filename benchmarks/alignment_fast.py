"""The quick setting, 50,000 sentence pairs in both directions, files in, links out: ours and fast_align's.

Ours is one iteration of Model 1 and one of the HMM, chosen on the development sentences; fast_align, the one
in systran-align, runs as its authors recommend: five iterations with the diagonal favoured, its tension
fitted, and variational Bayes. This build only returns symmetrised links, which have more errors than the
intersection of its directions (15.9 against 12.7 per cent). Accuracy is the alignment error rate (per cent,
lower is better) on the test sentences of the Hansards.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks._hansards import Hansards
from benchmarks.harness import Result, compare, need
from isogloss.alignment import Aligner, Bitext, Links, write_pharaoh
from isogloss.corpora import LinePairs

SCHEDULE, AGREEMENT = "1:1,hmm:1", "product"


def main() -> Result:
    """Compare them."""
    systran = need("systran_align", package="systran-align")
    text = Hansards(50_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, target = text.write(folder)
        return compare(
            "alignment_fast",
            ours=lambda: align_ours(source, target, folder),
            peer=lambda: align_fast_align(systran, source, target, folder),
            peer_name="fast_align (systran-align)",
            accuracy=text.aer,
            repeats=3,
            details={"schedule": SCHEDULE, "agreement": AGREEMENT},
        )


def align_ours(source: Path, target: Path, folder: Path) -> Links:
    """One iteration of each model."""
    bitext = Bitext.from_pairs(LinePairs(source, target))
    links = Aligner(SCHEDULE, agreement=AGREEMENT).fit(bitext).align(bitext)
    write_pharaoh(links, folder / "ours")
    return links


def align_fast_align(systran: Any, source: Path, target: Path, folder: Path) -> Links:
    """Its training of both directions, and its symmetrised links."""
    both, forward, backward = (folder / name for name in ("both", "forward", "backward"))
    lines = [path.read_text().splitlines() for path in (source, target)]
    both.write_text("".join(f"{e} ||| {f}\n" for e, f in zip(*lines, strict=True)))
    systran.generate_alignment_probabilities(
        *map(str, (both, forward, backward)),
        favor_diagonal=True,
        optimize_tension=True,
        variational_bayes=True,
    )
    tokens = [[line.split() for line in side] for side in lines]
    found = systran.Aligner(str(forward), str(backward)).align_batch(*tokens)
    return Links.from_sets(one["alignments"] for one in found)
