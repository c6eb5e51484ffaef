"""Two copies of a command side by side on one machine, beside one copy alone, in CPU seconds of a copy.

The ratio is the worst of three commands: the demo, a dictionary from 10,000 x 150 vectors of each language,
and an alignment of 20,000 generated sentence pairs. Copies that only share the cores have a ratio near 1;
copies whose threads spin while they wait for a core need many times more. Accuracy is the share of commands
whose output is the same alone and side by side. Details: the ratio and the wall seconds of each command.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console

from benchmarks._words import two_languages
from benchmarks.harness import Result, Side, calibrate

TURNS = 3
WORDS, DIMENSIONS, SEEDS = 10_000, 150, 3_000
PAIRS, VOCABULARY, LENGTH = 20_000, 5_000, 15


def main() -> Result:
    """Compare them."""
    with tempfile.TemporaryDirectory() as folder, Console(stderr=True).status("oversubscription") as status:
        commands = _commands(Path(folder))
        alone: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        beside: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        outputs: dict[str, set[bytes]] = {name: set() for name in commands}
        for turn in range(TURNS):
            for name, command in commands.items():
                status.update(f"oversubscription: {name}, turn {turn + 1} of {TURNS}")
                for copies, times in ((1, alone), (2, beside)):
                    for cpu, wall, output in _run(command, copies):
                        times[name].append((cpu, wall))
                        outputs[name].add(output)
    ratios = {name: _least(beside[name]) / _least(alone[name]) for name in commands}
    worst = max(ratios, key=lambda name: ratios[name])
    same = sum(len(seen) == 1 for seen in outputs.values()) / len(commands)
    walls = {name: [min(w for _, w in times[name]) for times in (alone, beside)] for name in commands}
    return Result(
        name="oversubscription",
        ours=_side("a copy of two side by side", beside[worst]),
        peer=_side("one copy alone", alone[worst]),
        ratio=ratios[worst],
        accuracy={"ours": same, "peer": 1.0},
        threads=os.cpu_count() or 1,
        measure="cpu_seconds",
        repeats=TURNS,
        calibration_seconds=calibrate(),
        details={"ratio": ratios, "wall_seconds_alone_and_beside": walls},
    )


def _commands(folder: Path) -> dict[str, list[str]]:
    """Return the commands, each of which writes its result to standard output."""
    x, y = two_languages(WORDS, DIMENSIONS)
    for name, vectors in (("en", x), ("xx", y)):
        with (folder / f"{name}.vec").open("w") as file:
            file.write(f"{WORDS} {DIMENSIONS}\n")
            for k, row in enumerate(vectors):
                file.write(f"{name}{k} " + " ".join(f"{value:.4f}" for value in row) + "\n")
    (folder / "seed.txt").write_text("".join(f"en{k} xx{k}\n" for k in range(SEEDS)))
    rng = np.random.default_rng(0)
    zipf = 1 / np.arange(1, VOCABULARY + 1)
    ids = rng.choice(VOCABULARY, size=(PAIRS, LENGTH), p=zipf / zipf.sum())
    for name in ("a", "b"):
        lines = (" ".join(f"{name}{word}" for word in rng.permutation(row)) for row in ids)
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    isogloss = [sys.executable, "-m", "isogloss"]
    vectors = ["--src", f"en={folder / 'en.vec'}", "--tgt", f"xx={folder / 'xx.vec'}"]
    return {
        "demo": [*isogloss, "demo", "--json"],
        "dictionary": [
            *isogloss, "dictionary", "build", *vectors, "--seed", str(folder / "seed.txt"), "-o", "-",
        ],
        "align": [*isogloss, "align", str(folder / "a.txt"), str(folder / "b.txt"), "-o", "-"],
    }  # fmt: skip


def _run(command: list[str], copies: int) -> list[tuple[float, float, bytes]]:
    """Run copies at the same time; return CPU seconds, wall seconds and output of each."""
    results, start = [], time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, str(copy)) for copy in range(copies)]
        running = []
        for path in files:
            with path.open("wb") as output:
                running.append(subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL))
        for process, path in zip(running, files, strict=True):
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                raise RuntimeError(f"{' '.join(command)} ended with code {process.returncode}")
            wall = time.perf_counter() - start
            results.append((used.ru_utime + used.ru_stime, wall, path.read_bytes()))
    return results


def _least(times: list[tuple[float, float]]) -> float:
    return min(cpu for cpu, _ in times)


def _side(name: str, times: list[tuple[float, float]]) -> Side:
    cpu, wall = zip(*times, strict=True)
    return Side(name, min(cpu), min(wall), None, median(cpu))
