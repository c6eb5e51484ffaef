"""100 languages in a service: a packed model in bytes, memory and latency of texts of 300 words.

The model is generated: ten languages with 100,000 words and ninety with 20,000, 500 components; weights are
random bytes, words are drawn by Zipf's law. A service with it runs in a process of its own (``isogloss
serve`` on SQLite) and compares texts of 300 words in two languages drawn at random, one request after the
other. 'Ours' is CPU of the service and its resident set, pages of mapped files included. The 'peer' is the
same model in single precision, whose memory is not measured but computed: four bytes for each weight and 220
for each word (a Python string and an entry of a dictionary). Accuracy is the share of answered requests.

Details: percentiles of wall and CPU time of a request on a warm service, and of the first request in each
language; the parts of the resident set that are memory of the process and pages of files, which are dropped
when memory is short; the proportional set size (PSS), which divides pages by the processes that map them; the
size of the folder.

    python -m benchmarks packed_languages
    python -m benchmarks.packed_languages --languages 100 --requests 500 [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from benchmarks._topic_corpus import zipf
from benchmarks.harness import Result, Side, calibrate, report
from isogloss.similarity.packed import PackedLanguage, PackedWords, write_packed
from isogloss.text import TermWeighting, Tokeniser, known_languages

LANGUAGES, LARGE, MANY_WORDS, FEW_WORDS, COMPONENTS, TEXT_WORDS, REQUESTS = (
    100,
    10,
    100_000,
    20_000,
    500,
    300,
    400,
)
BYTES_OF_A_WORD = 220
SETTINGS = """
[store]
place = "news.db"
[models]
similarity = "packed"
[limits]
reads_per_second = 100000
[stream]
encoder = false
"""


def main() -> Result:
    """The published size."""
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), LANGUAGES, REQUESTS)


def run(folder: Path, languages: int, requests: int) -> Result:
    """Make the model if it is not there, serve it and ask."""
    codes = [one.code for one in known_languages() if len(one.code) == 2 and one.script == "Latn"]
    codes = sorted(codes)[:languages]
    sizes = {code: MANY_WORDS if number < LARGE else FEW_WORDS for number, code in enumerate(codes)}
    if not (folder / "packed").exists():
        weights = np.linspace(1, 0.1, COMPONENTS)
        settings: dict[str, Any] = {
            "normalise": True,
            "storage": "int8",
            "params": {"n_components": COMPONENTS},
        }
        write_packed(folder / "packed", generated(sizes), weights, **settings)
    (folder / "isogloss.toml").write_text(SETTINGS)
    size = sum(path.stat().st_size for path in (folder / "packed").iterdir())
    command = [sys.executable, "-m", "isogloss", "serve", "--port", "0", "--no-worker"]
    with open(folder / "serve.log", "w") as log:
        served = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        found = re.search(r"http://\S+", served.stdout.readline() if served.stdout else "")
        if found is None:
            raise SystemExit(f"the service did not start: {(folder / 'serve.log').read_text()[-2000:]}")
        details, answered, cpu, wall = ask_all(
            found.group().rstrip("/"), psutil.Process(served.pid), sizes, requests
        )
    finally:
        served.terminate()
        served.wait()
    words = sum(sizes.values())
    whole = words * (COMPONENTS * 4 + BYTES_OF_A_WORD) / 1e6
    return Result(
        name="packed_languages",
        ours=Side("isogloss serve, packed as int8", cpu, wall, details["rss_mb"], cpu),
        peer=Side("single precision, computed", float("nan"), float("nan"), whole, float("nan")),
        ratio=details["rss_mb"] / whole,
        accuracy={"ours": answered, "peer": float("nan")},
        threads=1,
        measure="peak_mb",
        repeats=requests,
        calibration_seconds=calibrate(),
        details=details | {"languages": languages, "words": words, "folder_mb": size / 1e6},
    )


def generated(sizes: dict[str, int]) -> Iterator[tuple[str, PackedLanguage]]:
    """Languages with random weights, one after the other."""
    for number, (code, words) in enumerate(sizes.items()):
        rng = np.random.default_rng(number)
        weighting = TermWeighting("bm25").fit_frequencies(
            np.maximum(1, 100_000 // np.arange(1, words + 1)), 100_000, 2e7
        )
        top = rng.integers(words, size=(COMPONENTS, 2, 20)).astype(np.int32)
        pulls = -np.sort(-rng.random(top.shape, dtype=np.float32), axis=2)
        yield (
            code,
            PackedLanguage(
                code,
                rng.integers(-127, 128, (words, COMPONENTS), dtype=np.int8),
                np.full(words, 0.001, np.float32),
                np.zeros(COMPONENTS, np.float32),
                *PackedWords.of([word_of(code, rank) for rank in range(words)]),
                weighting,
                Tokeniser(code),
                top,
                pulls,
            ),
        )


def word_of(code: str, rank: int) -> str:
    """A word of letters, another one for each rank and language."""
    letters = "".join("abcdefghij"[int(digit)] for digit in str(rank))
    return f"{code}{letters}"


def text_of(rng: np.random.Generator, code: str, words: int) -> str:
    """A text whose words follow Zipf's law."""
    return " ".join(word_of(code, int(rank)) for rank in zipf(rng, words, (1, TEXT_WORDS))[0])


def ask_all(
    address: str, process: psutil.Process, sizes: dict[str, int], requests: int
) -> tuple[dict[str, Any], float, float, float]:
    """Ask in every language once, then at random; what the requests and the process took."""
    rng, codes = np.random.default_rng(0), list(sizes)
    warm = [(code, codes[(n + 1) % len(codes)]) for n, code in enumerate(codes)]
    pairs = [tuple(rng.choice(codes, 2, replace=False).tolist()) for _ in range(requests)]
    idle = process.memory_info().rss / 1e6
    with httpx.Client(base_url=address, timeout=60) as client:
        first = _ask(client, process, rng, sizes, warm)
        walls, cpus, good = _ask(client, process, rng, sizes, pairs)
    status = dict(line.split(":", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
    details = {
        "rss_mb": process.memory_info().rss / 1e6,
        "own_mb": int(status["RssAnon"].split()[0]) * 1024 / 1e6,
        "mapped_mb": int(status["RssFile"].split()[0]) * 1024 / 1e6,
        "pss_mb": process.memory_full_info().pss / 1e6,
        "rss_before_requests_mb": idle,
        "wall_ms": _percentiles(walls),
        "cpu_ms": _percentiles(cpus),
        "first_request_wall_ms": _percentiles(first[0]),
        "first_request_cpu_ms": _percentiles(first[1]),
    }
    return details, good / len(pairs), float(np.sum(cpus)), float(np.sum(walls))


def _ask(
    client: httpx.Client,
    process: psutil.Process,
    rng: np.random.Generator,
    sizes: dict[str, int],
    pairs: Sequence[Any],
) -> tuple[list[float], list[float], int]:
    """Wall and CPU seconds of each request, and how many were answered."""
    walls, cpus, good = [], [], 0
    for a, b in pairs:
        sides = (("a", a), ("b", b))
        body = {side: {"text": text_of(rng, code, sizes[code]), "lang": code} for side, code in sides}
        start, before = time.perf_counter(), _cpu(process.pid)
        answer = client.post("/api/v1/similarity", json=body)
        walls.append(time.perf_counter() - start)
        cpus.append(_cpu(process.pid) - before)
        good += answer.status_code == 200 and answer.json()["channels"]["latent"] is not None
    return walls, cpus, good


def _cpu(pid: int) -> float:
    """CPU seconds of all threads of a process, to the nanosecond; psutil has hundredths."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def _percentiles(seconds: Sequence[float]) -> dict[str, float]:
    return {f"p{p}": round(float(1000 * np.percentile(seconds, p)), 1) for p in (50, 90, 99)}


def ask(arguments: Sequence[str] | None = None) -> None:
    """Another size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--languages", type=int, default=LANGUAGES)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--folder", type=Path, help="where the model is made, and found again")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        place = given.folder or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        report(run(place, given.languages, given.requests))


if __name__ == "__main__":
    ask()
