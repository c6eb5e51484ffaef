"""Truncated SVD, 200 dimensions, of 30,000 sparse documents: our randomised SVD and gensim's LsiModel.

Documents are BM25 vectors of a language with planted topics and Zipf's law, 50,000 words. LsiModel is given
the same matrix through ``Sparse2Corpus``, in one chunk, with its defaults otherwise (100 extra dimensions,
two power iterations); one thread for both. Accuracy is the share of the energy (sum of squares) of the
matrix that the subspace of words captures. Details: the same for gensim's default chunks of 20,000
documents and for scikit-learn's ``TruncatedSVD``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD

from benchmarks._topic_corpus import TopicCorpus
from benchmarks.harness import Result, compare, measure_seconds, need
from isogloss.linalg import randomized_svd
from isogloss.text import TermWeighting

DOCUMENTS, WORDS, LENGTH, DIMENSIONS, ITERATIONS = 30_000, 50_000, 150, 200, 4

Array = NDArray[np.float64]


def main() -> Result:
    """Compare them."""
    models = need("gensim.models", package="gensim")
    matutils = need("gensim.matutils", package="gensim")
    X = make_documents(np.float64)
    corpus = matutils.Sparse2Corpus(X, documents_columns=False)

    def gensim(chunk: int) -> Array:
        model = models.LsiModel(corpus, num_topics=DIMENSIONS, chunksize=chunk, random_seed=0)
        return np.asarray(model.projection.u)

    def sklearn() -> Array:
        return np.asarray(TruncatedSVD(DIMENSIONS, n_iter=ITERATIONS, random_state=0).fit(X).components_.T)

    details = {"documents": DOCUMENTS, "words": WORDS, "entries": int(X.nnz), "dimensions": DIMENSIONS}
    for name, run in (("gensim, chunks of 20,000", lambda: gensim(20_000)), ("scikit-learn", sklearn)):
        found: list[Array] = []
        seconds, _ = measure_seconds(lambda r=run, f=found: f.append(r()))
        details[name] = {"cpu_seconds": seconds, "energy": energy(X, found[0])}
    return compare(
        "svd",
        ours=lambda: randomized_svd(X, DIMENSIONS, n_iter=ITERATIONS, random_state=0)[2].T,
        peer=lambda: gensim(DOCUMENTS),
        peer_name=f"gensim {need('gensim').__version__}",
        accuracy=lambda U: energy(X, U),
        repeats=1,
        details=details,
    )


def make_documents(dtype: Any) -> Any:
    """Weighted documents, by rows."""
    made = TopicCorpus(DOCUMENTS, WORDS, languages=1, topics=300, length=LENGTH, missing=0.0)
    return TermWeighting("bm25").fit_transform(made.matrix(made.languages[0])).astype(dtype)


def energy(X: Any, U: Array) -> float:
    """Share of the sum of squares that lies in the span of the columns of ``U``."""
    Q, _ = np.linalg.qr(U)
    return float(np.square(X @ Q).sum() / X.multiply(X).sum())
