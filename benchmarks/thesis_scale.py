"""Hub CCA at the sizes of Rupnik's dissertation: a curve of measured fits beside what was predicted for each.

The corpus is generated: vocabularies by Zipf's law, planted topics, no word common to two languages;
documents lie on the disk and are read in blocks. For each number of rows: CPU seconds and peak memory of a
fit in a process of its own and its prediction, CPU per added document (its projection) and of one more
language that is added to the model; the AMRR of new rows. ``--plan`` predicts only, for sizes that take too
long; ``--dask`` fits the smallest size again on a cluster of two worker processes and compares the cosines.
'Ours' is the largest size that was measured, the 'peer' its prediction.

    python -m benchmarks thesis_scale
    python -m benchmarks.thesis_scale --rows 3000,10000 --languages 3 --words 200000 [--missing 0.6] [--dask]
    python -m benchmarks.thesis_scale --plan --rows 300000
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._topic_corpus import TopicCorpus
from benchmarks.harness import Result, Side, calibrate, measure_seconds, report
from isogloss import io
from isogloss.corpora import ComparableCorpus, save_corpus
from isogloss.similarity import HubSimilarity, evaluate
from isogloss.similarity.fitting import predict_sizes

ROWS, LANGUAGES, WORDS, COMPONENTS, LENGTH, MISSING = "1000,2000,4000", 3, 20_000, 100, 150, 0.2
NEW_ROWS, BATCH_ROWS = 500, 10_000
# Different words of a document of LENGTH words, about, for predictions without a corpus.
DISTINCT = 0.72

CHILD = """
import json, resource, sys, time
from isogloss import io
from isogloss.corpora import ComparableCorpus
from isogloss.similarity import HubSimilarity
place, components, batch, output = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
corpus = ComparableCorpus(place)
corpus = corpus.select(languages=corpus.languages[:-1])
model = HubSimilarity(components, batch_rows=batch if len(corpus) > batch else None, random_state=0)
plan, start = model.plan_fit(corpus), (time.process_time(), time.perf_counter())
model.fit(corpus)
took = time.process_time() - start[0], time.perf_counter() - start[1]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
io.save(model, output)
found = {"cpu": took[0], "wall": took[1], "peak_mb": peak}
print(json.dumps(found | {"plan_cpu": plan.seconds, "plan_mb": plan.bytes / 1e6}))
"""


def main() -> Result:
    """The small curve."""
    return run(parse([]))


def run(options: argparse.Namespace) -> Result:
    """Measure each size."""
    sizes = [int(rows) for rows in options.rows.split(",")]
    curve = [measure(options, rows) for rows in sizes]
    for line in curve:
        print(json.dumps(line), flush=True)
    details: dict[str, Any] = {"curve": curve, "languages": options.languages, "words": options.words}
    if options.dask:
        details["dask_difference_of_cosines"] = on_dask(options, sizes[0])
    last = curve[-1]
    return Result(
        name="thesis_scale",
        ours=Side("isogloss", last["cpu"], last["wall"], last["peak_mb"], last["cpu"]),
        peer=Side("predicted", last["plan_cpu"], last["plan_cpu"], last["plan_mb"], last["plan_cpu"]),
        ratio=last["cpu"] / last["plan_cpu"],
        accuracy={"ours": last["amrr"], "peer": float(np.mean(1 / np.arange(1, NEW_ROWS + 1)))},
        threads=1,
        measure="cpu_seconds",
        repeats=1,
        calibration_seconds=calibrate(),
        details=details,
    )


def corpus_of(options: argparse.Namespace, rows: int) -> TopicCorpus:
    """The rows to learn from, then new ones; one language more than a fit has."""
    return TopicCorpus(
        rows + NEW_ROWS,
        options.words,
        languages=options.languages + 1,
        topics=options.components,
        length=LENGTH,
        missing=options.missing,
    )


def measure(options: argparse.Namespace, rows: int) -> dict[str, Any]:
    """Fit one size in a process of its own, and add a document and a language."""
    made = corpus_of(options, rows)
    with tempfile.TemporaryDirectory() as folder:
        place, output = Path(folder, "corpus"), Path(folder, "model")
        save_corpus(made.select(np.arange(rows)), place)
        sizes = [str(options.components), str(options.batch_rows)]
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(place), *sizes, str(output)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found: dict[str, Any] = {"rows": rows} | json.loads(done.stdout.splitlines()[-1])
        model, corpus = io.load(output, expected=HubSimilarity), ComparableCorpus(place)
        asked = made.select(np.arange(rows, rows + NEW_ROWS))
        hub, new = made.languages[0], made.languages[-1]
        cpu, _ = measure_seconds(lambda: model.project_corpus(asked, hub))
        found["ms_per_added_document"] = 1000 * cpu / NEW_ROWS
        found["amrr"] = evaluate(model, asked).amrr
        found["cpu_of_added_language"], _ = measure_seconds(lambda: model.add_language(new, corpus))
        found["amrr_of_added_language"] = evaluate(model, asked, languages=[hub, new]).amrr
    return found


def on_dask(options: argparse.Namespace, rows: int) -> float:
    """Largest difference of cosines between a fit in this process and on two worker processes."""
    from distributed import Client

    from isogloss.engine.dask import DaskEngine

    made = corpus_of(options, rows)
    settings: dict[str, Any] = {"batch_rows": max(1, rows // 6), "random_state": 0}
    with tempfile.TemporaryDirectory() as folder, Client(n_workers=2, threads_per_worker=1) as client:
        save_corpus(made.select(np.arange(rows)), Path(folder, "corpus"))
        corpus = ComparableCorpus(Path(folder, "corpus"))
        cosines = []
        for engine in (None, DaskEngine(client)):
            model = HubSimilarity(options.components, engine=engine, **settings).fit(corpus)
            left, right = (model.project_corpus(corpus, code)[:500] for code in made.languages[:2])
            cosines.append(left @ right.T)
    return float(np.abs(cosines[0] - cosines[1]).max())


def plan(options: argparse.Namespace) -> None:
    """Predictions from sizes alone, at the speed of this machine."""
    for rows in map(int, options.rows.split(",")):
        others = round(rows * (1 - options.missing))
        documents = [rows, *[others] * (options.languages - 1)]
        found = predict_sizes(
            documents,
            (options.words,) * options.languages,
            round(sum(documents) * LENGTH * DISTINCT),
            0,
            options.components,
            max(options.components, 500),
            n_blocks=max(1, -(-rows // options.batch_rows)),
        )
        line = {"rows": rows, "languages": options.languages, "documents": sum(documents)}
        print(json.dumps(line | {"plan_cpu": found.seconds, "plan_gb": found.bytes / 1e9}), flush=True)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", default=ROWS, help="one size or several")
    parser.add_argument("--languages", type=int, default=LANGUAGES)
    parser.add_argument("--words", type=int, default=WORDS)
    parser.add_argument("--components", type=int, default=COMPONENTS)
    parser.add_argument(
        "--missing", type=float, default=MISSING, help="share of the rows that a language lacks"
    )
    parser.add_argument("--batch-rows", type=int, default=BATCH_ROWS, help="rows in memory at a time")
    parser.add_argument("--dask", action="store_true", help="compare with two worker processes")
    parser.add_argument("--plan", action="store_true", help="predict only")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    given = parse(None)
    if given.plan:
        plan(given)
    else:
        report(run(given))
