r"""A latent model and the channel of names together.

For a query and candidates, each channel gives cosines. They are standardised over the candidates, because a
model far from the domain it was fitted on has cosines of another scale, and added with weights:

.. math::

    s(d, e) = w_1 \frac{c_1(d, e) - \bar c_1(d)}{\sigma_1(d)}
            + w_2 \frac{c_2(d, e) - \bar c_2(d)}{\sigma_2(d)}

The weights are those under which :math:`\exp s / \sum \exp s` gives the mates of some known pairs the highest
likelihood, none of them negative. A channel that says nothing about such documents gets no weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import Constraints, Estimator, HasMethods
from isogloss.linalg import check_count
from isogloss.similarity.models._names import NameChannel

Array = NDArray[np.float64]

# Penalty on the weights, so that the ascent ends even where all mates can be distinguished.
_SHRINK = 1e-3
# Queries that are compared with all candidates at a time.
_BLOCK_QUERIES = 512


class ChannelScores(NamedTuple):
    """Similarities of queries (rows) and candidates (columns).

    Attributes
    ----------
    latent, names : array
        Cosines of the two channels.
    combined : array
        Their weighted sum, standardised over the candidates of each query.
    """

    latent: Array
    names: Array
    combined: Array


class Nearest(NamedTuple):
    """The best candidates of each query, the best one first.

    Attributes
    ----------
    indices : array (queries x k)
        Which candidates; equal scores in the order of the candidates.
    latent, names, combined : array (queries x k)
        Their similarities, by channel and together.
    """

    indices: NDArray[np.int64]
    latent: Array
    names: Array
    combined: Array


class CombinedSimilarity(Estimator):
    """Similarity by meaning and by names, with learned weights, each of them reported.

    Parameters
    ----------
    model : DocumentModel
        The latent channel, fitted; or an :class:`~isogloss.similarity.EncoderSimilarity`.
    names : NameChannel or None
        The other one; a new :class:`NameChannel`, fitted on the texts given to :meth:`fit`, by default.
    places : bool
        Whether that new channel looks for places too, which needs the extra ``isogloss[places]``.

    Attributes
    ----------
    weights_ : array (2,)
        Weights of the latent channel and of names, in standard deviations.
    names_ : NameChannel
        The channel of names in use.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "model": [HasMethods("project")],
        "names": [NameChannel, None],
        "places": ["boolean"],
    }

    weights_: Array
    names_: NameChannel

    def __init__(self, model: Any, names: NameChannel | None = None, *, places: bool = False) -> None:
        self.model = model
        self.names = names
        self.places = places

    def fit(self, texts: Mapping[str, Sequence[str | None]], y: object = None) -> Self:
        """Learn the weights from rows of texts and their translations.

        Parameters
        ----------
        texts : mapping of str to sequence of str or None
            For each language one text per row, None where a row lacks it; of the kind that will be
            compared, and not what the latent model was fitted on. A hundred rows are enough.
        y : None
            Not used.
        """
        self._validate_params()
        self.names_ = NameChannel(places=self.places) if self.names is None else self.names
        if self.names is None:
            known = [(t, lang) for lang, column in texts.items() for t in column if t is not None]
            self.names_.fit([text for text, _ in known], lang=[lang for _, lang in known])
        cases = [self._features(*mates) for mates in _mates(texts)]
        if not cases:
            raise ValueError("no two languages share two rows; expected texts and translations to learn from")
        self.weights_ = _most_likely(cases)
        return self

    def scores(
        self, queries: Sequence[str], lang_a: str, targets: Sequence[str], lang_b: str
    ) -> ChannelScores:
        """Similarities of all queries and targets, by channel and combined: three tables of that size."""
        parts = list(self.blocks(queries, lang_a, targets, lang_b))
        return ChannelScores(*(np.concatenate(tables) for tables in zip(*parts, strict=True)))

    def blocks(
        self,
        queries: Sequence[str],
        lang_a: str,
        targets: Sequence[str],
        lang_b: str,
        *,
        block: int = _BLOCK_QUERIES,
    ) -> Iterator[ChannelScores]:
        """The same for some queries at a time, in order, so that no table of all of them is formed."""
        check_is_fitted(self)
        check_count(block, "block", 1, 2**31, "queries at a time")
        latent, names = self._project(targets, lang_b)
        for start in range(0, max(len(queries), 1), block):
            some_latent, some_names = self._project(queries[start : start + block], lang_a)
            yield self.combine(*_cosines(some_latent, some_names, latent, names))

    def nearest(
        self, queries: Sequence[str], lang_a: str, targets: Sequence[str], lang_b: str, k: int = 10
    ) -> Nearest:
        """The targets that are most similar to each query, with the memory of some queries at a time."""
        k = check_count(k, "k", 1, max(len(targets), 1), f"of {len(targets)} targets")
        found = [_best(scores, k) for scores in self.blocks(queries, lang_a, targets, lang_b)]
        return Nearest(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))

    def _project(self, texts: Sequence[str], lang: str) -> tuple[Any, Any]:
        return self.model.project(texts, lang), self.names_.project(texts, lang)

    def combine(self, latent: Array, names: Array) -> ChannelScores:
        """The channels and their weighted sum, from tables of cosines that were computed before.

        Parameters
        ----------
        latent, names : array (queries x candidates)
            Cosines of each channel, with all candidates of a query.
        """
        check_is_fitted(self)
        w = self.weights_
        return ChannelScores(latent, names, w[0] * _standardised(latent) + w[1] * _standardised(names))

    def _features(self, left: list[str], lang_a: str, right: list[str], lang_b: str) -> Array:
        cosines = _cosines(*self._project(left, lang_a), *self._project(right, lang_b))
        return np.stack([_standardised(table) for table in cosines])


def _cosines(latent_a: Any, names_a: Any, latent_b: Any, names_b: Any) -> tuple[Array, Array]:
    """Cosines by the latent channel and by names, of rows and rows."""
    latent = np.asarray(latent_a @ latent_b.T, dtype=np.float64)
    return latent, np.asarray((names_a @ names_b.T).toarray(), dtype=np.float64)


def _best(scores: ChannelScores, k: int) -> Nearest:
    order = np.argsort(-scores.combined, axis=1, kind="stable")[:, :k]
    return Nearest(order, *(np.take_along_axis(table, order, axis=1) for table in scores))


def _mates(texts: Mapping[str, Sequence[str | None]]) -> list[tuple[list[str], str, list[str], str]]:
    """Texts of every ordered pair of languages, in rows that have both."""
    out = []
    for a, b in permutations(texts, 2):
        both = [(x, y) for x, y in zip(texts[a], texts[b], strict=True) if x is not None and y is not None]
        if len(both) > 1:
            out.append(([x for x, _ in both], a, [y for _, y in both], b))
    return out


def _standardised(cosines: Array) -> Array:
    """Rows with mean zero and deviation one; a row that does not vary is zero."""
    centred = cosines - cosines.mean(axis=1, keepdims=True)
    deviations = centred.std(axis=1, keepdims=True)
    return np.asarray(centred / np.where(deviations > 0, deviations, 1.0))


def _most_likely(cases: list[Array]) -> Array:
    """Weights that make the mates, on the diagonals, most likely among all candidates."""
    pairs = sum(features.shape[1] for features in cases)

    def loss(weights: Array) -> tuple[float, Array]:
        value, slope = _SHRINK * weights @ weights, 2 * _SHRINK * weights
        for features in cases:
            scores = np.tensordot(weights, features, axes=1)
            total = logsumexp(scores, axis=1)
            value += (total - np.diag(scores)).sum() / pairs
            chance = np.exp(scores - total[:, None])
            mates = np.diagonal(features, axis1=1, axis2=2)
            slope = slope + ((features * chance).sum(axis=2) - mates).sum(axis=1) / pairs
        return float(value), slope

    found = minimize(
        loss, np.ones(len(cases[0])), jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(cases[0])
    )
    return np.asarray(found.x)
