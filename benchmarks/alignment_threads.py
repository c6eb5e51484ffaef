"""A fit of 50,000 sentence pairs on two threads beside the same fit on one, in seconds on the clock.

The ratio is two threads' over one's: 0.5 is all that two cores can give. Accuracy is the bits per word at the
end, which are the same. Details: the same ratio of a product of matrices in this run, which is what the
machine can give just then.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._hansards import Hansards
from benchmarks.harness import Result, compare, measure_seconds
from isogloss.alignment import Aligner, Bitext


def main() -> Result:
    """Compare them."""
    text = Bitext.from_pairs(Hansards(50_000).pairs())
    return compare(
        "alignment_threads",
        ours=lambda: Aligner(n_jobs=2).fit(text),
        peer=lambda: Aligner(n_jobs=1).fit(text),
        peer_name="isogloss on one thread",
        accuracy=lambda aligner: aligner.bits_per_word_[-1],
        repeats=9,
        measure="wall_seconds",
        details={"product_on_two_threads": product_ratio()},
    )


def product_ratio(turns: int = 5) -> float:
    """Seconds of a matrix product on two threads over those on one, the least of some turns."""
    matrix = np.random.default_rng(0).standard_normal((3000, 3000)).astype(np.float32)
    least = {1: np.inf, 2: np.inf}
    for _ in range(turns):
        for threads in least:
            with threadpool_limits(limits=threads):
                _, seconds = measure_seconds(lambda: matrix @ matrix)
            least[threads] = min(least[threads], seconds)
    return float(least[2] / least[1])
