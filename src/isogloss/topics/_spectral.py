r"""Topics from the moments of two and three words of a document.

For three words :math:`x_1, x_2, x_3` of one document, as indicators, and :math:`\alpha_0 = \sum_k \alpha_k`,

.. math::

    M_2 &= \operatorname{E}[x_1 x_2^\top] - \tfrac{\alpha_0}{\alpha_0 + 1} m m^\top
         = \sum_k \tfrac{\alpha_k}{\alpha_0 (\alpha_0 + 1)} \beta_k \beta_k^\top, \\
    M_3 &= \operatorname{E}[x_1 \otimes x_2 \otimes x_3] - \dots
         = \sum_k \tfrac{2 \alpha_k}{\alpha_0 (\alpha_0 + 1) (\alpha_0 + 2)} \beta_k^{\otimes 3}

(A. Anandkumar, D. Foster, D. Hsu, S. M. Kakade, Y.-K. Liu, *A spectral algorithm for latent Dirichlet
allocation*, NIPS 2012). Words are divided by the roots of their frequencies, without which the most
frequent ones rule. :math:`M_2` is known by its products with a few vectors, and :math:`M_3` only after it
was reduced to ``k`` dimensions. All are sums over documents: each pass is one ``map_reduce``, and no matrix
of words by words is made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning

from isogloss._estimator import warn_caller
from isogloss.engine import Engine, Source
from isogloss.linalg import decompose_tensor, frequency_scale, project_to_simplex, randomized_svd
from isogloss.threads import thread_bound
from isogloss.topics._parameters import TopicParameters

Array = NDArray[np.float64]

_WORDS = 3
"""Words that a document needs to have a third moment."""

_BLOCK = 1 << 24
"""Numbers in a block of outer products."""

_POWER_ITERATIONS = 4

START_SHARE = 0.02
"""How much of a start of learning is the mean of all topics, so that no word is impossible in any."""


class _Sums(NamedTuple):
    """Sums over documents, each divided by as many as there are of its kind in the document."""

    documents: float
    words: Array


@thread_bound
def spectral_start(
    source: Source[Any],
    engine: Engine,
    like: TopicParameters,
    tokens: Array,
    random_state: Any,
    share: float = START_SHARE,
) -> TopicParameters:
    """Estimate topics and how frequent they are from moments.

    Of several languages that with the most words is taken; the others begin with the same words in all
    topics, and the first step of learning tells them apart. Languages side by side would not do: a document
    that lacks one has other moments, and languages would become topics.

    Parameters
    ----------
    source : Source
        Counts of words, languages side by side.
    engine : Engine
        Where the sums run.
    like : TopicParameters
        Priors: the sum of ``doc_prior`` is taken as known.
    tokens : array (views,)
        How many words each language has.
    random_state : int, RandomState or None
        Seed of the decompositions.
    share : float
        Weight of the mean of all topics in each.
    """
    k, alpha0, largest = like.n_topics, float(like.doc_prior.sum()), int(np.argmax(tokens))
    columns = slice(*like.view_starts[largest : largest + 2].tolist())
    source = engine.persist(engine.map(partial(_columns, columns=columns), source))
    sums: _Sums = engine.map_reduce(_first_moments, _add, source)
    seen = int((sums.words > 0).sum())
    if not sums.documents or seen < k:
        raise ValueError(
            f"init='spectral' with {sums.documents:g} documents of at least {_WORDS} words and {seen} "
            f"different words; it needs such documents and at least n_components={k} words"
        )
    mean = sums.words / sums.documents
    scale = frequency_scale(mean)
    known = alpha0 / (alpha0 + 1.0)

    def products(block: Array) -> Array:
        """Products of the second moment of scaled words."""
        block = scale[:, None] * np.asarray(block).reshape(len(mean), -1)
        raw: Array = engine.map_reduce(_pair_products, np.add, source, block) / sums.documents
        return np.asarray(scale[:, None] * (raw - known * np.outer(mean, mean @ block)))

    basis = _whitening(products, len(mean), k, random_state)
    third = _reduced_third(engine, source, scale[:, None] * basis, mean, sums.documents, alpha0)
    weights, vectors = decompose_tensor(third, random_state=random_state)
    topics = np.repeat(1.0 / like.widths, like.widths)[:, None] * np.ones(k)
    topics[columns] = _topics(products(basis @ vectors) / scale[:, None], share)
    alpha = 4.0 * alpha0 * (alpha0 + 1.0) / ((alpha0 + 2.0) * np.maximum(weights, 1e-12)) ** 2
    frequency = np.clip(alpha / alpha.sum(), 1e-3 / k, None)
    counts = topics * (frequency / frequency.sum()) * np.repeat(tokens, like.widths)[:, None]
    return TopicParameters(np.ascontiguousarray(counts), like.doc_prior, like.word_prior, like.widths)


def _topics(raw: Array, share: float) -> Array:
    """Distributions of words, in columns, mixed with the mean of all topics."""
    sums = raw.sum(axis=0)
    topics = project_to_simplex((raw / np.where(sums == 0, 1.0, sums)).T).T
    return np.asarray((1 - share) * topics + share * topics.mean(axis=1, keepdims=True))


def _whitening(products: Callable[[Array], Array], n: int, k: int, random_state: Any) -> Array:
    """W with W' M W = 1 for the scaled second moment M, and a warning where its rank is too small."""
    operator = LinearOperator((n, n), matvec=products, matmat=products, rmatvec=products, rmatmat=products)
    U, _, _ = randomized_svd(operator, k, n_iter=_POWER_ITERATIONS, random_state=random_state)
    small = U.T @ products(U)
    values, vectors = linalg.eigh((small + small.T) / 2)
    floor = 1e-6 * max(float(values[-1]), 1e-12)
    if values[0] < floor:
        warn_caller(
            f"the moments of words tell {int((values >= floor).sum())} of {k} topics apart; use "
            "fewer topics, or more or longer documents",
            ConvergenceWarning,
        )
    return np.asarray(U @ (vectors / np.sqrt(np.maximum(values, floor))))


def _reduced_third(
    engine: Engine, source: Source[Any], W: Array, mean: Array, documents: float, alpha0: float
) -> Array:
    """The third moment of words, reduced by W."""
    k = W.shape[1]
    cubes, mixed, singles = engine.map_reduce(_third_moments, _add, source, W)
    squares = np.zeros((k * k, k))
    for rows in _blocks(len(W), k * k):
        squares += _outer(W[rows]).T @ (mixed[rows] - singles[rows, None] * W[rows] * 2.0 / 3.0)
    raw = (cubes - 3.0 * squares.reshape(k, k, k)) / documents
    pair = (W.T @ engine.map_reduce(_pair_products, np.add, source, W)) / documents
    m = W.T @ mean
    raw -= 3.0 * alpha0 / (alpha0 + 2.0) * np.einsum("ij,l->ijl", pair, m)
    raw += 2.0 * alpha0**2 / ((alpha0 + 1.0) * (alpha0 + 2.0)) * np.einsum("i,j,l->ijl", m, m, m)
    return np.asarray(raw)


def _columns(batch: Any, columns: slice) -> Any:
    """The words of one language."""
    return batch if columns == slice(0, batch.shape[1]) else batch[:, columns]


def _usable(counts: Any) -> tuple[Any, Array]:
    """Documents with enough words, and their lengths."""
    lengths = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    usable = lengths >= _WORDS
    return (counts, lengths) if usable.all() else (counts[usable], lengths[usable])


def _first_moments(batch: Any) -> _Sums:
    counts, lengths = _usable(batch)
    return _Sums(float(len(lengths)), np.asarray(counts.T @ (1.0 / lengths)))


def _pair_products(batch: Any, block: Array) -> Array:
    """The sum over documents of pairs of different words, times a block of vectors."""
    counts, lengths = _usable(batch)
    pairs = 1.0 / (lengths * (lengths - 1.0))
    return np.asarray(counts.T @ (pairs[:, None] * (counts @ block)) - (counts.T @ pairs)[:, None] * block)


def _third_moments(batch: Any, W: Array) -> tuple[Array, Array, Array]:
    """Sums from which the moment of three different words follows."""
    counts, lengths = _usable(batch)
    each = 1.0 / (lengths * (lengths - 1.0) * (lengths - 2.0))
    reduced, k = np.asarray(counts @ W), W.shape[1]
    cubes = np.zeros((k * k, k))
    for rows in _blocks(len(reduced), k * k):
        cubes += _outer(reduced[rows]).T @ (each[rows, None] * reduced[rows])
    return (
        cubes.reshape(k, k, k),
        np.asarray(counts.T @ (each[:, None] * reduced)),
        np.asarray(counts.T @ each),
    )


def _outer(rows: Array) -> Array:
    """Outer products of rows with themselves, flat."""
    return np.asarray(np.einsum("ni,nj->nij", rows, rows).reshape(len(rows), -1))


def _blocks(n: int, width: int) -> list[slice]:
    step = max(1, _BLOCK // width)
    return [slice(start, start + step) for start in range(0, n, step)]


def _add(left: Any, right: Any) -> Any:
    """Sums of tuples, entry by entry."""
    sums = [one + other for one, other in zip(left, right, strict=True)]
    return _Sums(*sums) if isinstance(left, _Sums) else tuple(sums)
