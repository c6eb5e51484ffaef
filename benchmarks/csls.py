"""CSLS of all pairs, 50,000 x 50,000 words, 300 dimensions: ours and faiss's IndexFlatIP.

Ours takes two passes over the similarities: the means of both sides at once, then the ranking. faiss
searches in one direction at a time, so that the same takes it three. Accuracy is the share of words whose
translation comes first. Details: what plain float32 matrix products of the same size take in the same run
(the mean of many, and the best of them) as a share of what each pass takes, ours and faiss's.
"""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._words import Single, sgemm_seconds, two_languages
from benchmarks.harness import Result, compare, measure_seconds, need
from isogloss.lexicon import csls_means, csls_top_k
from isogloss.linalg import top_k

WORDS, DIMS, K = 50_000, 300, 10


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
    for kind in ("sgemm", "best_sgemm"):
        seconds = result.details[f"{kind}_seconds"]
        result.details[f"share_of_{kind}"] = 2 * seconds / result.ours.cpu_seconds
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
    """CPU seconds of plain products, by turns with single passes, as shares of the passes' seconds."""
    plain: list[float] = []
    shares: dict[str, float] = {}
    passes = {
        "both_directions": lambda: csls_means(x, y, K),
        "one_direction": lambda: top_k(x, y, K),
        "faiss_one_direction": lambda: search(faiss, x, y),
    }
    with threadpool_limits(limits=1):
        for name, run in passes.items():
            plain += sgemm_seconds(x, y)
            shares[name] = measure_seconds(run)[0]
        plain += sgemm_seconds(x, y)
    table = WORDS * WORDS * float(np.mean(plain))
    found = {f"{name}_share_of_sgemm": table / seconds for name, seconds in shares.items()}
    return found | {"sgemm_seconds": table, "best_sgemm_seconds": WORDS * WORDS * min(plain)}
