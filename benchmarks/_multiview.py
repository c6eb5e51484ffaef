"""Data, measures and the other environment that the multi-view benchmarks share."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import subprocess
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

__all__ = ["Mvlearn", "correlation_sum", "peak_rss_mb", "split", "uncorrelated", "unequal_views"]

MVLEARN_PYTHON = "ISOGLOSS_MVLEARN_PYTHON"
HOW_TO_GET_MVLEARN = (
    f"not measured: {MVLEARN_PYTHON} names no interpreter. In an environment of its own: pip install "
    "scikit-learn==1.6.* matplotlib seaborn pandas, then pip install --no-deps mvlearn==0.5.0"
)

Array = NDArray[np.float64]


def unequal_views(
    rows: int, features: Sequence[int], *, factors: int = 20, seen: str = "in part", seed: int = 0
) -> list[Array]:
    """Views of common factors in white noise, in which no two views see the factors alike.

    ``seen='in part'``: each view has two factors in three, with strengths from 0.9 to 3, so that some
    factors are in two views only. ``seen='in another order'``: each view has all, with the same strengths
    from 3 down to 0.15, but the factor that is strongest in one view may be the weakest in another.
    """
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((rows, factors))
    out = []
    for p in features:
        if seen == "in part":
            strengths = (rng.random(factors) < 2 / 3) * rng.uniform(0.9, 3.0, factors)
        else:
            strengths = rng.permutation(np.geomspace(3.0, 0.15, factors))
        directions, _ = np.linalg.qr(rng.standard_normal((p, factors)))
        out.append((z * strengths) @ directions.T + rng.standard_normal((rows, p)))
    return out


def split(views: list[Array], rows: int) -> tuple[list[Array], list[Array]]:
    """Rows to fit on, and new ones."""
    return [x[:rows] for x in views], [x[rows:] for x in views]


def correlation_sum(projections: Sequence[Array]) -> float:
    """Correlations of all pairs of views, summed over components: the same for whoever projected."""
    unit = [z - z.mean(axis=0) for z in map(np.asarray, projections)]
    unit = [z / np.linalg.norm(z, axis=0) for z in unit]
    return float(sum((a * b).sum() for a, b in combinations(unit, 2)))


def uncorrelated(fitted_on: Sequence[Array], projections: Sequence[Array]) -> list[Array]:
    """The projections after the least change that makes components uncorrelated within each view.

    Multi-set CCA by one eigenproblem lets the components of a view correlate, and so counts in part
    the same thing twice; problems with the constraint of CCA in each view do not.
    """
    out = []
    for z, new in zip(map(np.asarray, fitted_on), map(np.asarray, projections), strict=True):
        centred = z - z.mean(axis=0)
        scale = np.linalg.norm(centred, axis=0)
        _, s, Vt = np.linalg.svd(centred / scale, full_matrices=False)
        out.append((new - z.mean(axis=0)) / scale @ (Vt.T / s) @ Vt)
    return out


class Mvlearn:
    """mvlearn in an interpreter of its own: it does not run with today's scikit-learn.

    It reads the rows from files in ``folder`` once, then fits as often as it is told to; its CPU seconds
    are taken around the fit alone, with one thread.
    """

    def __init__(self, folder: Path, train: Sequence[Array], test: Sequence[Array]) -> None:
        self.folder, self.python = folder, os.environ.get(MVLEARN_PYTHON, "")
        for name, views in (("train", train), ("test", test)) if self.python else ():
            for i, x in enumerate(views):
                np.save(folder / f"{name}{i}.npy", x)

    def __enter__(self) -> Self:
        if self.python:
            child = Path(__file__).with_name("_mvlearn_child.py")
            self.child = subprocess.Popen(
                [self.python, str(child), str(self.folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"),
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self.python:
            self.child.communicate()

    def by_turns(
        self, ours: Callable[[], Any], repeats: int, model: str, **parameters: Any
    ) -> dict[str, Any]:
        """Least CPU seconds of both, by turns after one run to warm up, and what mvlearn found."""
        from benchmarks.harness import measure_seconds

        if not self.python:
            return {"mvlearn": HOW_TO_GET_MVLEARN}
        mine, theirs = [], []
        with threadpool_limits(limits=1):
            for _ in range(repeats + 1):
                mine.append(measure_seconds(ours)[0])
                theirs.append(self._fit(model, parameters))
        cpu = min(mine[1:]), min(t["cpu_seconds"] for t in theirs[1:])
        train, test = (self._projections(name) for name in ("train", "test"))
        return {
            "peer": f"mvlearn {theirs[0]['version']}, scikit-learn {theirs[0]['scikit_learn']}",
            "ours_cpu": cpu[0],
            "peer_cpu": cpu[1],
            "ratio": cpu[0] / cpu[1],
            "train": correlation_sum(train),
            "test": correlation_sum(test),
            "test_uncorrelated": correlation_sum(uncorrelated(train, test)),
        }

    def _fit(self, model: str, parameters: dict[str, Any]) -> dict[str, Any]:
        if self.child.stdin is None or self.child.stdout is None:
            raise RuntimeError("the interpreter of mvlearn has no pipes")
        self.child.stdin.write(json.dumps({"model": model, "parameters": parameters}) + "\n")
        self.child.stdin.flush()
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError(f"mvlearn failed in {self.python}; what it said is above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _projections(self, name: str) -> list[Array]:
        return list(np.load(self.folder / f"{name}_projected.npy"))


def peak_rss_mb(work: Callable[..., Any], *arguments: Any) -> float:
    """Most memory (MB, 10^6 bytes) of a new process that does the work: interpreter, libraries and data."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=_measured, args=(send, work, arguments))
    child.start()
    send.close()
    peak: float = receive.recv()
    child.join()
    return peak


def _measured(send: Any, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with threadpool_limits(limits=1):
        work(*arguments)
    send.send(_own_peak_mb())


def _own_peak_mb() -> float:
    """Most memory of this process since its program began; ``ru_maxrss`` remembers that of its parent."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
    return int(lines["VmHWM"].split()[0]) * 1024 / 1e6
