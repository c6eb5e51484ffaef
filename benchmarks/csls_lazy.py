"""CSLS of 1,500 queries against 200,000 words, 300 dimensions: lazily, and by the full pass (both ours).

The headline is the best target of each query; details hold the ten best. Each way runs once, because a full
pass takes minutes; memory is that of the same runs. Accuracy is the share of queries whose answers, indices
and scores alike, are those of the full pass.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._words import two_languages
from benchmarks.harness import Result, Side, calibrate, measure_seconds, peak_extra_mb
from isogloss.lexicon import csls_top_k
from isogloss.linalg import TopK

WORDS, DIMS, QUERIES, K = 200_000, 300, 1_500, 10


def main() -> Result:
    """Compare them."""
    x, y = two_languages(WORDS, DIMS)
    queries = x[np.random.default_rng(1).choice(WORDS, QUERIES, replace=False)]

    def ask(k: int, method: Any) -> Callable[[], TopK]:
        return lambda: csls_top_k(queries, y, k, sources=x, method=method)

    with threadpool_limits(limits=1):
        best, lazy = once("isogloss, lazy", ask(1, "lazy"))
        ten, lazy_ten = once("isogloss, lazy", ask(K, "lazy"))
        everything, full = once("isogloss, full pass", ask(K, "full"))
        calibration = calibrate()
    first = TopK(everything.scores[:, :1], everything.indices[:, :1])
    return Result(
        name="csls_lazy",
        ours=lazy,
        peer=full,
        ratio=lazy.cpu_seconds / full.cpu_seconds,
        accuracy={"ours": same(best, first), "peer": 1.0},
        threads=1,
        measure="cpu_seconds",
        repeats=1,
        calibration_seconds=calibration,
        details={
            "times_less_cpu": full.cpu_seconds / lazy.cpu_seconds,
            "ten_best_cpu": lazy_ten.cpu_seconds,
            "ten_best_times_less_cpu": full.cpu_seconds / lazy_ten.cpu_seconds,
            "ten_best_same": same(ten, everything),
            "words": WORDS,
            "queries": QUERIES,
        },
    )


def once(name: str, run: Callable[[], TopK]) -> tuple[TopK, Side]:
    """The answers of one run, and what it took."""
    kept: list[TopK] = []
    times: list[tuple[float, float]] = []
    peak = peak_extra_mb(lambda: times.append(measure_seconds(lambda: kept.append(run()))))
    (cpu, wall), answers = times[0], kept[0]
    return answers, Side(name, cpu, wall, peak, cpu)


def same(some: TopK, others: TopK) -> float:
    """Share of queries with the same indices and the same scores, to the bit."""
    equal = (some.indices == others.indices) & (some.scores == others.scores)
    return float(equal.all(axis=1).mean())
