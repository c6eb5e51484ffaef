"""Topics of 20,000 English documents: ours and those of tomotopy, gensim and scikit-learn.

Documents are three verses of the Bible or three paragraphs of the LibreOffice help each, from the folder that
ISOGLOSS_DATA names. A tenth of them is held out. Accuracy is the perplexity of half of their words, drawn
at random, under proportions of topics that the same variational inference finds from the other half for the
topics and the learned priors of every model; less is better. The ratio is of the sampler ('gibbs') to
tomotopy's, with half as many sweeps. The details have CPU seconds and perplexity of each package, of our
other methods, and of more sweeps. Settings are defaults except for numbers of topics and sweeps; gensim and
scikit-learn learn by variational inference, gensim with ``alpha='auto', eta='auto'``, and scikit-learn with
fixed priors, because it has no others.
"""

from __future__ import annotations

import gzip
import itertools
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import LatentDirichletAllocation as SklearnLDA
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks.harness import MissingPeerError, Result, compare, measure_seconds, need
from isogloss.topics import LatentDirichletAllocation, completion_perplexity

TOPICS, DOCUMENTS, HELD_OUT, SEGMENTS = 100, 20_000, 2_000, 3
OUR_SWEEPS, PEER_SWEEPS = 100, 200
SMALLEST_PRIOR = 1e-3


class Fitted(NamedTuple):
    """Topics (topics x words) and the prior of their proportions."""

    topics: NDArray[np.float64]
    prior: NDArray[np.float64]


def main() -> Result:
    """Compare them."""
    tomotopy, gensim = need("tomotopy"), need("gensim")
    logging.getLogger("gensim").setLevel(logging.ERROR)
    warnings.simplefilter("ignore", ConvergenceWarning)
    problem = Problem()
    others: dict[str, Callable[[], Fitted]] = {
        f"ours, gibbs, {PEER_SWEEPS} sweeps": lambda: problem.ours("gibbs", PEER_SWEEPS),
        "ours, batch": lambda: problem.ours("batch", 60),
        "ours, online, 3 passes": lambda: problem.ours("online", 3),
        "gensim, 5 passes": lambda: problem.gensim(gensim, 5),
        "scikit-learn, batch, 5 passes": lambda: problem.scikit_learn("batch", 5),
        "scikit-learn, online, 5 passes": lambda: problem.scikit_learn("online", 5),
    }
    details: dict[str, Any] = {
        "documents": problem.train.shape[0],
        "words": problem.train.shape[1],
        "tokens": int(problem.train.sum()),
    }
    for name, fit in others.items():
        kept: list[Fitted] = []
        cpu, _ = measure_seconds(lambda fit=fit, kept=kept: kept.append(fit()))  # type: ignore[misc]
        details[name] = {"cpu_seconds": round(cpu, 1), "perplexity": round(problem.perplexity(kept[0]), 1)}
    return compare(
        "topics",
        ours=lambda: problem.ours("gibbs", OUR_SWEEPS),
        peer=lambda: problem.tomotopy(tomotopy, PEER_SWEEPS),
        peer_name=f"tomotopy {tomotopy.__version__}",
        accuracy=problem.perplexity,
        repeats=1,
        details=details,
    )


class Problem:
    """Documents to learn from, two halves of others, and a fit by each package."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        found = list(english_documents())
        texts = [found[place] for place in rng.permutation(len(found))[:DOCUMENTS]]
        vectoriser = CountVectorizer(min_df=5, max_df=0.3, token_pattern=r"[^\W\d_]{3,}")
        counts = sparse.csr_matrix(vectoriser.fit_transform(texts), dtype=np.float64)
        self.train, test = counts[:-HELD_OUT], counts[-HELD_OUT:]
        self.observed = test.copy()
        self.observed.data = rng.binomial(test.data.astype(np.int64), 0.5).astype(np.float64)
        self.hidden = sparse.csr_matrix(test - self.observed)
        spans = itertools.pairwise(self.train.indptr)
        self.bags = [
            list(
                zip(self.train.indices[a:b].tolist(), self.train.data[a:b].astype(int).tolist(), strict=True)
            )
            for a, b in spans
        ]

    def perplexity(self, fitted: Fitted) -> float:
        """Perplexity of the hidden halves."""
        prior = np.maximum(fitted.prior, SMALLEST_PRIOR)
        return completion_perplexity(fitted.topics, self.observed, self.hidden, doc_topic_prior=prior)

    def ours(self, method: str, sweeps: int) -> Fitted:
        """Our topics."""
        model = LatentDirichletAllocation(
            TOPICS, learning_method=method, max_iter=sweeps, random_state=0
        ).fit(self.train)
        return Fitted(model.topics_, model.doc_topic_prior_)

    def tomotopy(self, tomotopy: Any, sweeps: int) -> Fitted:
        """Those of tomotopy, whose reading of documents is part of the work."""
        model = tomotopy.LDAModel(k=TOPICS, seed=0)
        for bag in self.bags:
            model.add_doc([str(word) for word, n in bag for _ in range(n)])
        model.train(sweeps, workers=1)
        topics = np.zeros((TOPICS, self.train.shape[1]))
        columns = [int(word) for word in model.used_vocabs]
        topics[:, columns] = [model.get_topic_word_dist(k) for k in range(TOPICS)]
        return Fitted(topics, np.asarray(model.alpha, dtype=np.float64))

    def gensim(self, gensim: Any, passes: int) -> Fitted:
        """Those of gensim."""
        from gensim.models import LdaModel

        names = {column: str(column) for column in range(self.train.shape[1])}
        model = LdaModel(
            self.bags, TOPICS, names, passes=passes, alpha="auto", eta="auto", random_state=0, eval_every=None
        )
        return Fitted(model.get_topics().astype(np.float64), np.asarray(model.alpha, dtype=np.float64))

    def scikit_learn(self, method: str, passes: int) -> Fitted:
        """Those of scikit-learn."""
        model = SklearnLDA(TOPICS, learning_method=method, max_iter=passes, random_state=0).fit(self.train)
        return Fitted(model.components_, np.full(TOPICS, model.doc_topic_prior_))


def english_documents() -> Iterator[str]:
    """Verses and paragraphs of help pages, some at a time."""
    folder = os.environ.get("ISOGLOSS_DATA")
    if not folder or not (Path(folder) / "parallel" / "bible").is_dir():
        raise MissingPeerError("set ISOGLOSS_DATA to the folder with parallel/bible and parallel/lohelp")
    parallel = Path(folder) / "parallel"
    yield from _joined(_lines(parallel / "bible" / "en.txt.gz"))
    text, ids = (_lines(parallel / "lohelp" / name) for name in ("en.txt.gz", "ids.txt.gz"))
    pages = itertools.groupby(zip(ids, text, strict=True), key=lambda pair: pair[0].partition("#")[0])
    for _, rows in pages:
        yield from _joined([line for _, line in rows if line])


def _joined(lines: list[str]) -> Iterator[str]:
    return (" ".join(lines[start : start + SEGMENTS]) for start in range(0, len(lines), SEGMENTS))


def _lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]
