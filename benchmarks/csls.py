"""CSLS of all pairs, 50,000 x 50,000 words, 300 dimensions: ours and faiss's IndexFlatIP.

Ours takes two passes over the similarities: the means of both sides at once, then the ranking. faiss
searches in one direction at a time, so that the same takes it three. Accuracy is the share of words whose
translation comes first. Details: our share of the rate of plain float32 matrix products, measured in the same
run, and one search in one direction by either.
"""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._words import Single, sgemm_rate, two_languages
from benchmarks.harness import Result, compare, measure_seconds, need
from isogloss.lexicon.csls import csls_means, csls_top_k
from isogloss.linalg.topk import top_k

WORDS, DIMS, K = 50_000, 300, 10
PASS = 2.0 * WORDS * WORDS * DIMS


def main() -> Result:
    """Compare them."""
    faiss = need("faiss", package="faiss-cpu")
    faiss.omp_set_num_threads(1)
    x, y = two_languages(WORDS, DIMS)
    result = compare(
        "csls",
        ours=lambda: csls_top_k(x, y, K, method="full").indices,
        peer=lambda: faiss_csls(faiss, x, y),
        peer_name=f"faiss {faiss.__version__} IndexFlatIP",
        accuracy=lambda indices: float((indices[:, 0] == np.arange(WORDS)).mean()),
        repeats=1,
    )
    result.details.update(rates(faiss, x, y), words=WORDS, dims=DIMS)
    result.details["share_of_sgemm"] = 2 * PASS / result.ours.cpu_seconds / result.details["sgemm_rate"]
    return result


def faiss_csls(faiss: Any, x: Single, y: Single) -> Any:
    """The ranking by cos(x, y) - r(y) / 2 as inner products with one more dimension."""
    of_y = search(faiss, y, x)[0].mean(axis=1)
    search(faiss, x, y)[0].mean(axis=1)
    more_x = np.column_stack([x, np.ones(len(x), np.float32)])
    more_y = np.column_stack([y, -0.5 * of_y]).astype(np.float32)
    return search(faiss, more_x, more_y)[1]


def search(faiss: Any, queries: Single, targets: Single) -> Any:
    """Scores and indices of the best targets."""
    index = faiss.IndexFlatIP(targets.shape[1])
    index.add(targets)
    return index.search(queries, K)


def rates(faiss: Any, x: Single, y: Single) -> dict[str, float]:
    """Similarities per CPU second of single passes, and operations per CPU second of plain products."""
    with threadpool_limits(limits=1):
        before = sgemm_rate(x, y)
        both = measure_seconds(lambda: csls_means(x, y, K))[0]
        ours = measure_seconds(lambda: top_k(x, y, K))[0]
        peer = measure_seconds(lambda: search(faiss, x, y))[0]
        rate = max(before, sgemm_rate(x, y))
    return {
        "sgemm_rate": rate,
        "both_directions_share_of_sgemm": PASS / both / rate,
        "one_direction_share_of_sgemm": PASS / ours / rate,
        "faiss_one_direction_share_of_sgemm": PASS / peer / rate,
    }
