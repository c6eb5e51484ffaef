"""A fit of hub CCA: 20 languages, 10,000 rows, 50,000 words, 500 components; measured and predicted.

The 'peer' is what ``HubSimilarity.plan_fit`` says before the fit starts. The corpus lies on the disk; three
topics are planted in every row, a fifth of the documents of all languages but the hub is missing. Peak memory
is what the process holds beyond what it held before, mapped files that were read included. Accuracy is the
AMRR of 1,000 new rows between five of the languages, no word of which is common to two; of the 'peer', the
MRR of chance.

    python -m benchmarks hub_scale
    python -m benchmarks.hub_scale --rows 2000 --languages 6 [--batch-rows 500]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks._topic_corpus import TopicCorpus
from benchmarks.harness import Result, Side, calibrate, measure_seconds, peak_extra_mb, report
from isogloss.corpora import ComparableCorpus, save_corpus
from isogloss.similarity import HubSimilarity, evaluate

ROWS, NEW_ROWS, LANGUAGES, WORDS, COMPONENTS, LENGTH, MISSING = 10_000, 1_000, 20, 50_000, 500, 250, 0.2


def main() -> Result:
    """The published size."""
    return run(ROWS, LANGUAGES, WORDS, COMPONENTS)


def run(rows: int, languages: int, words: int, components: int, batch_rows: int | None = None) -> Result:
    """Fit once, and set what was predicted beside what was measured."""
    sizes = {"languages": languages, "topics": components, "length": LENGTH, "missing": MISSING}
    made = TopicCorpus(rows + NEW_ROWS, words, **sizes)
    with tempfile.TemporaryDirectory() as folder:
        save_corpus(made.select(np.arange(rows)), Path(folder) / "corpus")
        corpus = ComparableCorpus(Path(folder) / "corpus")
        model = HubSimilarity(components, batch_rows=batch_rows, random_state=0)
        plan = model.plan_fit(corpus)
        print(f"predicted: {plan}", flush=True)
        seconds: list[tuple[float, float]] = []
        peak = peak_extra_mb(lambda: seconds.append(measure_seconds(lambda: model.fit(corpus))))
    cpu, wall = seconds[0]
    ours = Side("isogloss", cpu, wall, peak, cpu)
    predicted = Side("predicted", plan.seconds, plan.seconds, plan.bytes / 1e6, plan.seconds)
    asked = made.select(np.arange(rows, rows + NEW_ROWS), made.languages[:5])
    amrr = evaluate(model, asked).amrr
    chance = float(np.mean(1 / np.arange(1, NEW_ROWS + 1)))
    return Result(
        name="hub_scale",
        ours=ours,
        peer=predicted,
        ratio=cpu / plan.seconds,
        accuracy={"ours": amrr, "peer": chance},
        threads=1,
        measure="cpu_seconds",
        repeats=1,
        calibration_seconds=calibrate(),
        details=sizes | {"rows": rows, "words": words, "components": components, "batch_rows": batch_rows},
    )


def ask(arguments: Sequence[str] | None = None) -> None:
    """Another size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--languages", type=int, default=LANGUAGES)
    parser.add_argument("--words", type=int, default=WORDS)
    parser.add_argument("--components", type=int, default=COMPONENTS)
    parser.add_argument("--batch-rows", type=int, help="rows in memory at a time; all by default")
    given = parser.parse_args(arguments)
    report(run(given.rows, given.languages, given.words, given.components, given.batch_rows))


if __name__ == "__main__":
    ask()
