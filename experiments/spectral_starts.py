r"""Starts of EM from moments beside random starts: hidden Markov models and topics.

    python -m experiments.spectral_starts [folder] [--data FOLDER] [--only NAME] [--quick] [--seed N]

Each model is fitted by EM from the estimate of its moments, and from 20 random starts with the same stopping
rule. Compared are bounds on the log-likelihood per symbol or word of the text that was fitted, since a start
can only help to find a better optimum. 'Alone' is the estimate without a step of EM.

Planted chains have states that stay with probability .3 or more; planted topics have Dirichlet priors of
.05 (words) and .1 (topics). Real text is the letters of the first 3,000 verses of the English Bible, and
documents of three verses or three paragraphs of the LibreOffice help, as in ``benchmarks/topics.py``.
"""

from __future__ import annotations

import argparse
import gzip
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer

from experiments._report import (
    Table,
    claim,
    data_folder,
    options_parser,
    own_folder,
    reading,
    timed,
    write_report,
)
from isogloss.graphical import Sequences
from isogloss.sequences import DiscreteHMM
from isogloss.topics import LatentDirichletAllocation

STARTS = 20
CLOSE = 1e-3
"""Differences of log-likelihood per word that count as none."""


class Fitted(NamedTuple):
    """Bound per word, EM steps and CPU seconds of one fit."""

    bound: float
    steps: int
    seconds: float


class Compared(NamedTuple):
    """One problem: the estimate alone, EM from it, and EM from random starts."""

    alone: Fitted
    spectral: Fitted
    random: list[Fitted]

    @property
    def best(self) -> float:
        """The highest bound of a random start."""
        return max(one.bound for one in self.random)


Fit = Callable[..., Fitted]


def planted_chain(k: int, v: int, n: int, length: int, rng: np.random.Generator) -> Sequences:
    """Sequences drawn from a random chain."""
    transition = 0.3 * np.eye(k) + 0.7 * rng.dirichlet(np.full(k, 0.5), k)
    emission = rng.dirichlet(np.full(v, 0.1), k)
    z, codes = rng.integers(k, size=n), np.empty((n, length), dtype=np.int64)
    for t in range(length):
        for state in range(k):
            rows = np.flatnonzero(z == state)
            codes[rows, t] = rng.choice(v, size=len(rows), p=emission[state])
            z[rows] = rng.choice(k, size=len(rows), p=transition[state])
    return Sequences.from_lengths(codes.reshape(-1), [length] * n)


def planted_documents(k: int, v: int, n: int, length: int, rng: np.random.Generator) -> Any:
    """Counts of words drawn from planted topics."""
    topics = rng.dirichlet(np.full(v, 0.05), k)
    theta = rng.dirichlet(np.full(k, 0.1), n)
    return sparse.csr_matrix(np.array([rng.multinomial(length, t @ topics) for t in theta], dtype=float))


def letters(folder: Path, verses: int) -> Sequences:
    """Letters of verses, and the space."""
    with gzip.open(folder / "parallel" / "bible" / "en.txt.gz", "rt", encoding="utf-8") as file:
        lines = [line.lower() for line, _ in zip(file, range(verses), strict=False)]
    codes = [[ord(c) - 96 if "a" <= c <= "z" else 0 for c in line.strip()] for line in lines]
    codes = [line for line in codes if line]
    return Sequences.from_lengths(np.concatenate(codes), [len(line) for line in codes])


def documents(folder: Path, n: int, seed: int) -> Any:
    """Counts of words of documents of the benchmark."""
    found = []
    for path in ("bible/en.txt.gz", "lohelp/en.txt.gz"):
        with gzip.open(folder / "parallel" / path, "rt", encoding="utf-8") as file:
            lines = [line.strip() for line in file if line.strip()]
        found += [" ".join(lines[row : row + 3]) for row in range(0, len(lines), 3)]
    texts = [found[row] for row in np.random.default_rng(seed).permutation(len(found))[:n]]
    counted = CountVectorizer(min_df=5, max_df=0.3, token_pattern=r"[^\W\d_]{3,}").fit_transform(texts)
    return sparse.csr_matrix(counted, dtype=np.float64)


def chain_fit(text: Sequences, k: int) -> Fit:
    """Fits of a hidden Markov model to the text."""
    n_symbols = int(text.codes.max()) + 1

    def fit(init: str, seed: int, max_iter: int = 500) -> Fitted:
        start = time.process_time()
        model = DiscreteHMM(
            k, symbols=n_symbols, init=init, tol=1e-5, max_iter=max_iter, random_state=seed
        ).fit(text)
        return Fitted(model.lower_bound_, model.n_iter_, time.process_time() - start)

    return fit


def topics_fit(counts: Any, k: int) -> Fit:
    """Fits of latent Dirichlet allocation to the counts."""

    def fit(init: str, seed: int, max_iter: int = 200) -> Fitted:
        start = time.process_time()
        model = LatentDirichletAllocation(
            k,
            doc_topic_prior=0.1,
            topic_word_prior=0.05,
            init=init,
            tol=0.02,
            max_iter=max_iter,
            random_state=seed,
        ).fit(counts)
        return Fitted(model.bound_ / counts.sum(), model.n_iter_, time.process_time() - start)

    return fit


def compared(name: str, fit: Fit, starts: int, seed: int) -> Compared:
    """One problem, all starts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        alone = fit("spectral", seed, 0)
        spectral = timed(f"{name}, spectral", lambda: fit("spectral", seed))
        random = timed(
            f"{name}, {starts} random starts", lambda: [fit("random", seed + n) for n in range(starts)]
        )
    return Compared(alone, spectral, random)


def table(found: dict[str, Compared]) -> Table:
    """All problems."""
    rows = []
    for name, one in found.items():
        bounds = np.array([start.bound for start in one.random])
        steps = np.median([start.steps for start in one.random])
        seconds = np.median([start.seconds for start in one.random])
        reached = int((bounds >= one.spectral.bound - CLOSE).sum())
        rows.append(
            [
                name,
                f"{one.alone.bound:.4f}",
                f"{one.spectral.bound:.4f}",
                f"{one.best:.4f}",
                f"{np.median(bounds):.4f}",
                f"{reached} of {len(bounds)}",
                f"{one.spectral.steps} / {steps:.0f}",
                f"{one.spectral.seconds:.1f} / {seconds:.1f}",
            ]
        )
    header = ["problem", "alone", "spectral", "best random", "median", "as good", "steps", "CPU s"]
    return Table("Bound per symbol or word", header, rows)


def problems(options: argparse.Namespace) -> dict[str, Callable[[], Fit]]:
    """Name and fits of each problem."""

    def rng() -> np.random.Generator:
        return np.random.default_rng(options.seed)

    planted: dict[str, Callable[[], Fit]] = {
        "chain, 5 states, 50 symbols, 100,000": lambda: chain_fit(planted_chain(5, 50, 2500, 40, rng()), 5),
        "chain, 10 states, 200 symbols, 200,000": lambda: chain_fit(
            planted_chain(10, 200, 5000, 40, rng()), 10
        ),
        "chain, 10 states, 500 symbols, 40,000": lambda: chain_fit(
            planted_chain(10, 500, 1000, 40, rng()), 10
        ),
        "30 topics, 2,000 words, 5,000 documents": lambda: topics_fit(
            planted_documents(30, 2000, 5000, 60, rng()), 30
        ),
    }
    if options.quick:
        return {"chain": lambda: chain_fit(planted_chain(3, 9, 200, 30, rng()), 3)} | {
            "topics": lambda: topics_fit(planted_documents(5, 100, 300, 40, rng()), 5)
        }
    folder = data_folder(options.data, "parallel/bible")
    return planted | {
        "letters of 3,000 verses, 6 states": lambda: chain_fit(letters(folder, 3000), 6),
        "text of 3,000 documents, 30 topics": lambda: topics_fit(documents(folder, 3000, options.seed), 30),
    }


def run(options: argparse.Namespace) -> Path:
    """Compare the starts on all problems."""
    starts = 3 if options.quick else STARTS
    chosen = {name: make for name, make in problems(options).items() if options.only in name}
    found = {name: compared(name, make(), starts, options.seed) for name, make in chosen.items()}
    shown = table(found)
    shown.show()
    lines = [
        "# Starts from moments",
        "",
        *(
            claim(one.spectral.bound >= one.best - CLOSE, f"as good as {starts} random starts: {name}")
            for name, one in found.items()
        ),
        "",
        *shown.markdown(),
        "",
        *reading(__doc__, 4),
    ]
    data = {
        name: {
            "alone": one.alone._asdict(),
            "spectral": one.spectral._asdict(),
            "random": [start._asdict() for start in one.random],
        }
        for name, one in found.items()
    }
    return write_report(own_folder(options.folder, "spectral_starts"), lines, data)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = options_parser(__doc__, data="parallel")
    parser.add_argument("--only", default="", help="only problems whose names contain this")
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
