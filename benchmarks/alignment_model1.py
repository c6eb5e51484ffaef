"""IBM Model 1, five EM iterations in both directions on 50,000 sentence pairs: ours and fast_align's.

fast_align is the one in systran-align, told not to favour the diagonal. Both read files. Accuracy is the
number of iterations, the same for both; the error rates of Model 1 in each direction (34.8 and 30.9 for any
correct one) are in the details.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks._hansards import Hansards
from benchmarks.harness import Result, compare, need
from isogloss.alignment import Aligner
from isogloss.corpora import LinePairs

ITERATIONS = 5


def main() -> Result:
    """Compare them."""
    systran = need("systran_align", package="systran-align")
    text = Hansards(50_000)
    with tempfile.TemporaryDirectory() as name:
        source, target = text.write(Path(name))
        both = Path(name) / "both"
        both.write_text("".join(f"{e} ||| {f}\n" for e, f in text.pairs()))
        aligner = model1(source, target)
        details = {
            method: text.aer(aligner.align(text.pairs(), method=method)) for method in ("forward", "backward")
        }
        return compare(
            "alignment_model1",
            ours=lambda: len(model1(source, target).bits_per_word_),
            peer=lambda: train_fast_align(systran, both, Path(name)),
            peer_name="fast_align (systran-align)",
            accuracy=float,
            repeats=2,
            details=details,
        )


def model1(source: Path, target: Path) -> Aligner:
    """Model 1 alone, each direction on its own, without what fast_align does not have."""
    aligner = Aligner(f"1:{ITERATIONS}", agreement=None, spelling=0, null=None)
    return aligner.fit(list(LinePairs(source, target)))


def train_fast_align(systran: object, both: Path, folder: Path) -> int:
    """Its training of both directions, probabilities written to files."""
    systran.generate_alignment_probabilities(  # type: ignore[attr-defined]
        str(both), str(folder / "forward"), str(folder / "backward"), iterations=ITERATIONS
    )
    return ITERATIONS
