"""The ten nearest of 100,000 documents at 500 dimensions: ours by bytes first and faiss's IndexFlatIP.

Accuracy is the share of the ten nearest, by exact inner products, that are found. Details: the exact search
of ours, which finds all of them, beside faiss and beside the rate of sgemm in the same run, and memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Result, compare, cpu_seconds, need
from isogloss.linalg import top_k
from isogloss.similarity import Index

DOCUMENTS, QUERIES, DIMS, NEIGHBOURS = 100_000, 4_000, 500, 10

Single = NDArray[np.float32]


def main() -> Result:
    """Compare them."""
    faiss = need("faiss", package="faiss-cpu")
    rng = np.random.default_rng(0)
    documents, queries = unit(rng, DOCUMENTS), unit(rng, QUERIES)
    exact, rounded = (
        Index(DIMS, storage=storage).add(np.arange(DOCUMENTS), documents) for storage in ("float32", "int8")
    )
    peer = faiss.IndexFlatIP(DIMS)
    peer.add(documents)
    answer = exact.search(queries, NEIGHBOURS).indices
    seconds = by_turns(
        {
            "sgemm": lambda: multiply(queries, documents),
            "exact": lambda: exact.search(queries, NEIGHBOURS),
            "faiss": lambda: peer.search(queries, NEIGHBOURS),
            "top_k": lambda: top_k(queries, documents, NEIGHBOURS),
        }
    )
    details = {
        "exact_speed_over_faiss": seconds["faiss"] / seconds["exact"],
        "top_k_speed_over_faiss": seconds["faiss"] / seconds["top_k"],
        "exact_share_of_sgemm": seconds["sgemm"] / seconds["exact"],
        "faiss_share_of_sgemm": seconds["sgemm"] / seconds["faiss"],
        "similarities_per_second": {name: DOCUMENTS * QUERIES / s for name, s in seconds.items()},
        "mb": {"float32": exact.nbytes / 1e6, "int8": rounded.nbytes / 1e6},
    }
    return compare(
        "index",
        ours=lambda: rounded.search(queries, NEIGHBOURS).indices,
        peer=lambda: peer.search(queries, NEIGHBOURS)[1],
        peer_name=f"faiss {faiss.__version__} IndexFlatIP",
        accuracy=lambda found: recall(answer, found),
        repeats=3,
        details=details,
    )


def unit(rng: np.random.Generator, n: int) -> Single:
    """Random directions."""
    x = rng.standard_normal((n, DIMS), dtype=np.float32)
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True), dtype=np.float32)


def by_turns(runs: dict[str, Any], rounds: int = 3) -> dict[str, float]:
    """CPU seconds of each, the least of some rounds."""
    best = dict.fromkeys(runs, np.inf)
    for _ in range(rounds):
        for name, run in runs.items():
            before = cpu_seconds()
            run()
            best[name] = min(best[name], cpu_seconds() - before)
    return best


def multiply(queries: Single, documents: Single) -> None:
    """All products, block by block, and nothing done with them."""
    out = np.empty((512, 2048), np.float32)
    for i in range(0, len(queries), 512):
        for j in range(0, len(documents), 2048):
            x, y = queries[i : i + 512], documents[j : j + 2048]
            np.matmul(x, y.T, out=out[: len(x), : len(y)] if len(y) < 2048 else out[: len(x)])


def recall(answer: NDArray[Any], found: NDArray[Any]) -> float:
    """Share of the answers that were found."""
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(answer, found, strict=True)]))
