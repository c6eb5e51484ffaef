"""Truncated SVD, 200 dimensions, of 30,000 sparse documents: our SVD of CL-LSI and gensim's LsiModel.

Documents are BM25 vectors of a language with planted topics and Zipf's law, 50,000 words, in single
precision as the models keep them. LsiModel is given the same matrix through ``Sparse2Corpus``, with its
defaults (chunks of 20,000 documents, 100 extra dimensions, two power iterations, double precision inside);
one thread for both. Accuracy is the share of the energy (sum of squares) of the matrix that the subspace of
words captures. Details: the same for gensim with all documents in one chunk, for scikit-learn's
``TruncatedSVD`` and for our power iterations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD

from benchmarks._topic_corpus import TopicCorpus
from benchmarks.harness import Result, compare, measure_seconds, need
from isogloss.linalg import krylov_svd, randomized_svd
from isogloss.similarity.models import basis_size
from isogloss.text import TermWeighting

DOCUMENTS, WORDS, LENGTH, DIMENSIONS, ITERATIONS = 30_000, 50_000, 150, 200, 4

Array = NDArray[np.float64]


def main() -> Result:
    """Compare them."""
    models = need("gensim.models", package="gensim")
    matutils = need("gensim.matutils", package="gensim")
    X = make_documents(np.float32)
    corpus = matutils.Sparse2Corpus(X, documents_columns=False)

    def gensim(chunk: int) -> Array:
        model = models.LsiModel(corpus, num_topics=DIMENSIONS, chunksize=chunk, random_seed=0)
        return np.asarray(model.projection.u)

    def sklearn() -> Array:
        return np.asarray(TruncatedSVD(DIMENSIONS, n_iter=ITERATIONS, random_state=0).fit(X).components_.T)

    def krylov() -> Array:
        size = basis_size(DIMENSIONS, ITERATIONS)
        return np.asarray(krylov_svd(X, DIMENSIONS, n_basis=size, random_state=0)[2].T)

    def power() -> Array:
        return randomized_svd(X, DIMENSIONS, n_iter=ITERATIONS, random_state=0)[2].T

    details = {"documents": DOCUMENTS, "words": WORDS, "entries": int(X.nnz), "dimensions": DIMENSIONS}
    others = {
        "gensim, one chunk": lambda: gensim(DOCUMENTS),
        "scikit-learn": sklearn,
        "power iterations": power,
    }
    for name, run in others.items():
        found: list[Array] = []
        seconds, _ = measure_seconds(lambda r=run, f=found: f.append(r()))
        details[name] = {"cpu_seconds": seconds, "energy": energy(X, found[0])}
    return compare(
        "svd",
        ours=lambda: (
            krylov_svd(X, DIMENSIONS, n_basis=basis_size(DIMENSIONS, ITERATIONS), random_state=0)[2].T
        ),
        peer=lambda: gensim(20_000),
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
    return float(np.square(X @ Q, dtype=np.float64).sum() / X.multiply(X).sum(dtype=np.float64))
