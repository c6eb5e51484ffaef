"""Measure two ways of doing the same thing in one run, by turns, and report the ratio.

A benchmark is a module of this package whose docstring says in its first line what is compared::

    from benchmarks.harness import Result, compare, need

    def main() -> Result:
        peer = need("hmmlearn.hmm")                      # says what to install when it is missing
        data = ...                                       # not measured
        return compare(
            "hmm",
            ours=lambda: fit_ours(data),
            peer=lambda: fit_theirs(peer, data),
            peer_name="hmmlearn",
            accuracy=lambda fitted: score(fitted, data), # one number for what each of them gives back
        )

Both run once to warm up, then by turns (ours, peer, ours, peer, ...) under the same number of threads;
the least of the repeats counts, because the machine's noise only ever adds. Memory is measured
afterwards, in one more run of each. A ratio below 1 means that we need less than the peer.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import resource
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any, Literal, TypeVar

import numpy as np
import psutil
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

__all__ = [
    "MissingPeerError",
    "Result",
    "Side",
    "calibrate",
    "compare",
    "cpu_seconds",
    "need",
    "peak_extra_mb",
    "report",
]

T = TypeVar("T")
Measure = Literal["cpu_seconds", "wall_seconds", "peak_mb"]


class MissingPeerError(Exception):
    """The peer of a benchmark is not installed; the message says how to get it."""


@dataclass(frozen=True)
class Side:
    """What one of the two needed: the least CPU and wall seconds, and the most memory on top."""

    name: str
    cpu_seconds: float
    wall_seconds: float
    peak_mb: float | None
    median_cpu_seconds: float


@dataclass(frozen=True)
class Result:
    """A comparison; ``ratio`` is ours over the peer's in the chosen ``measure``."""

    name: str
    ours: Side
    peer: Side
    ratio: float
    accuracy: dict[str, float]
    threads: int
    measure: Measure
    repeats: int
    calibration_seconds: float
    details: dict[str, Any] = field(default_factory=dict)


def compare(
    name: str,
    *,
    ours: Callable[[], T],
    peer: Callable[[], T],
    peer_name: str,
    accuracy: Callable[[T], float],
    accuracy_of_peer: Callable[[T], float] | None = None,
    threads: int = 1,
    repeats: int = 5,
    measure: Measure = "cpu_seconds",
    details: dict[str, Any] | None = None,
) -> Result:
    """Run both by turns and compare them.

    Parameters
    ----------
    name : str
        The name of the benchmark.
    ours, peer : callables without arguments
        The work; what they give back goes to ``accuracy``.
    peer_name : str
        What to call the peer, best with its version.
    accuracy : callable
        One number for what a side gave back: an error, a score, a likelihood.
    accuracy_of_peer : callable, optional
        The same for the peer, where what it gives back has another form.
    threads : int
        Threads of BLAS and OpenMP for both.
    repeats : int
        Measured runs of each.
    measure : {'cpu_seconds', 'wall_seconds', 'peak_mb'}
        What the ratio is about.
    details : dict, optional
        Sizes and other things worth keeping with the result.
    """
    work = {"isogloss": ours, peer_name: peer}
    status = Console(stderr=True).status(f"{name}: warming up")
    os.environ["ISOGLOSS_NUM_THREADS"] = str(threads)
    with status, threadpool_limits(limits=threads):
        judge = {"isogloss": accuracy, peer_name: accuracy_of_peer or accuracy}
        judged = {side: float(judge[side](run())) for side, run in work.items()}
        times: dict[str, list[tuple[float, float]]] = {side: [] for side in work}
        for turn in range(repeats):
            for side, run in work.items():
                status.update(f"{name}: run {turn + 1} of {repeats}, {side}")
                times[side].append(measure_seconds(run))
        status.update(f"{name}: memory")
        sides = [_side(label, times[label], peak_extra_mb(run)) for label, run in work.items()]
        calibration = calibrate()
    mine, theirs = (getattr(side, measure) for side in sides)
    return Result(
        name=name,
        ours=sides[0],
        peer=sides[1],
        ratio=mine / theirs if mine is not None and theirs else float("nan"),
        accuracy={"ours": judged["isogloss"], "peer": judged[peer_name]},
        threads=threads,
        measure=measure,
        repeats=repeats,
        calibration_seconds=calibration,
        details=details or {},
    )


def _side(name: str, times: list[tuple[float, float]], peak: float | None) -> Side:
    cpu, wall = zip(*times, strict=True)
    return Side(name, min(cpu), min(wall), peak, median(cpu))


def measure_seconds(run: Callable[[], Any]) -> tuple[float, float]:
    """CPU and wall seconds of one run."""
    gc.collect()
    wall, cpu = time.perf_counter(), cpu_seconds()
    run()
    return cpu_seconds() - cpu, time.perf_counter() - wall


def cpu_seconds() -> float:
    """CPU time of this process, all its threads, and its children, ended or still running."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time() + ended.ru_utime + ended.ru_stime
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def peak_extra_mb(run: Callable[[], Any]) -> float | None:
    """Most memory (MB, 10^6 bytes) this process held during a run beyond what it held before.

    The kernel keeps the high-water mark of the resident set and can be asked to set it back, so
    nothing is sampled and no short peak is missed. Free memory that the allocator keeps is given back
    first; otherwise the run would fill it unseen. Children are not counted. None where the kernel
    cannot do this (it is Linux's own).
    """
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    except (OSError, AttributeError):
        return None
    before = _resident_mb("VmRSS")
    result = run()
    peak = _resident_mb("VmHWM")
    del result
    return max(peak - before, 0.0)


def _resident_mb(key: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024 / 1e6
    raise KeyError(key)


def calibrate(repeats: int = 3) -> float:
    """CPU seconds of a fixed piece of work: matrix products, and a loop in Python.

    Divide by it to compare figures of two machines, or of one machine on two days.
    """
    a = np.random.default_rng(0).standard_normal((600, 600))

    def work() -> float:
        for _ in range(8):
            a @ a
        return sum(i * i for i in range(500_000))

    return min(measure_seconds(work)[0] for _ in range(repeats))


def need(module: str, *, package: str | None = None) -> ModuleType:
    """Import a peer, or say how to install it (``package`` is its name there, if it is another)."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = package or module.partition(".")[0]
        raise MissingPeerError(
            f"the peer {package} is not installed; .venv/bin/python -m pip install {package}"
        ) from error


def report(result: Result) -> None:
    """Print a table for people, then one line of JSON for machines."""
    table = Table(title=f"{result.name} ({result.threads} thread(s), least of {result.repeats})")
    for column in ("", "CPU s", "wall s", "peak MB", "accuracy"):
        table.add_column(column, justify="left" if not column else "right")
    for label, side in (("ours", result.ours), ("peer", result.peer)):
        peak = "-" if side.peak_mb is None else f"{side.peak_mb:.1f}"
        seconds = (f"{side.cpu_seconds:.3f}", f"{side.wall_seconds:.3f}")
        table.add_row(side.name, *seconds, peak, f"{result.accuracy[label]:.6g}")
    console = Console()
    console.print(table)
    console.print(f"ratio of {result.measure.replace('_', ' ')}, ours / peer: {result.ratio:.3f}")
    print(json.dumps(asdict(result)), flush=True)
