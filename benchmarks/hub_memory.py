"""``isogloss similar fit --batch-rows`` on a corpus larger than memory: a hard limit below its size on disk.

Twelve languages with planted topics, a fifth of the documents of all but the hub missing, 1 GB of counts
on the disk and a limit of 500 MB (RLIMIT_DATA: all memory of the process but mapped files, which the system
takes back when it needs them). The command runs in a process of its own, once with ``--batch-rows`` and once
without, which has to fail, or the limit was none. The 'peer' is what ``HubSimilarity.plan_fit`` says before.
Accuracy is the AMRR of 500 new rows between four of the languages, no word of which is common to two; of the
'peer', the MRR of chance. Peak memory is the largest resident set, mapped pages included. Details: the
largest difference of cosines between a fit in blocks and one in memory, on the first rows of the corpus.

    python -m benchmarks hub_memory
    python -m benchmarks.hub_memory --rows 150000 --limit 800 [--batch-rows 2000]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks._topic_corpus import TopicCorpus
from benchmarks.harness import Result, Side, calibrate, report
from isogloss import io
from isogloss.corpora import ComparableCorpus, Corpus, save_corpus
from isogloss.similarity import HubSimilarity, evaluate

ROWS, LANGUAGES, WORDS, LENGTH, MISSING, TOPICS = 80_000, 12, 5_000, 250, 0.2, 8
BATCH_ROWS, LIMIT_MB, NEW_ROWS, FEW_ROWS = 1_000, 500, 500, 1_500

COMMAND = """
import resource, sys
limit = int(sys.argv.pop(1)) * 10**6
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
from isogloss.cli.app import main
main()
"""


def main() -> Result:
    """The published size."""
    return run(ROWS, LIMIT_MB, BATCH_ROWS)


def run(rows: int, limit: int, batch_rows: int) -> Result:
    """Make the corpus, fit it twice under the limit, and look at what came of it."""
    sizes = {"languages": LANGUAGES, "topics": TOPICS, "length": LENGTH, "missing": MISSING}
    with tempfile.TemporaryDirectory() as place:
        corpus, output = Path(place) / "corpus", Path(place) / "model"
        save_corpus(TopicCorpus(rows, WORDS, **sizes), corpus)
        size = sum(path.stat().st_size for path in corpus.rglob("*") if path.is_file())
        read = ComparableCorpus(corpus)
        print(f"{size / 1e9:.2f} GB on the disk, a limit of {limit / 1e3:.2f} GB", flush=True)
        settings = {"n_directions": TOPICS, "random_state": 0}
        plan = HubSimilarity(TOPICS, batch_rows=batch_rows, **settings).plan_fit(read)
        blocks, cpu, wall = fit_limited(corpus, output, limit, ["--batch-rows", str(batch_rows)])
        if blocks:
            raise SystemExit(f"the fit in blocks of {batch_rows} rows failed under {limit} MB")
        whole, _, _ = fit_limited(corpus, Path(place) / "whole", limit, [])
        asked = TopicCorpus(NEW_ROWS, WORDS, **sizes)
        amrr = evaluate(io.load(output), asked, languages=asked.languages[:4]).amrr
        difference = blocks_and_memory(read.select(np.arange(FEW_ROWS)), batch_rows=FEW_ROWS // 7, **settings)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
    return Result(
        name="hub_memory",
        ours=Side("isogloss", cpu, wall, peak, cpu),
        peer=Side("predicted", plan.seconds, plan.seconds, plan.bytes / 1e6, plan.seconds),
        ratio=cpu / plan.seconds,
        accuracy={"ours": amrr, "peer": float(np.mean(1 / np.arange(1, NEW_ROWS + 1)))},
        threads=1,
        measure="cpu_seconds",
        repeats=1,
        calibration_seconds=calibrate(),
        details=sizes
        | {"rows": rows, "words": WORDS, "batch_rows": batch_rows, "disk_mb": size / 1e6, "limit_mb": limit}
        | {"in_memory_fails": whole != 0, "difference_of_cosines": difference},
    )


def fit_limited(corpus: Path, output: Path, limit: int, more: Sequence[str]) -> tuple[int, float, float]:
    """Exit code, CPU and wall seconds of the command in a process that may take so many MB."""
    sizes = ["--dimensions", str(TOPICS), "--directions", str(TOPICS)]
    fit = ["similar", "fit", str(corpus), "--output", str(output), *sizes, *more]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    code = subprocess.run([sys.executable, "-c", COMMAND, str(limit), *fit], check=False).returncode
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    return code, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def blocks_and_memory(corpus: Corpus, *, batch_rows: int, n_directions: int, random_state: int) -> float:
    """Largest difference of cosines of documents in two languages between the two ways to fit."""
    settings = {"n_directions": n_directions, "random_state": random_state}
    cosines = []
    for rows in (None, batch_rows):
        model = HubSimilarity(TOPICS, batch_rows=rows, **settings).fit(corpus)
        left, right = (model.project_corpus(corpus, code)[:1000] for code in corpus.languages[1:3])
        cosines.append(left @ right.T)
    return float(np.abs(cosines[0] - cosines[1]).max())


def ask(arguments: Sequence[str] | None = None) -> None:
    """Another size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--limit", type=int, default=LIMIT_MB, help="memory in MB")
    parser.add_argument("--batch-rows", type=int, default=BATCH_ROWS, help="rows in memory at a time")
    given = parser.parse_args(arguments)
    report(run(given.rows, given.limit, given.batch_rows))


if __name__ == "__main__":
    ask()
