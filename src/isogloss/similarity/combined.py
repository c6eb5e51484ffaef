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

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from isogloss.similarity.base import DocumentModel
from isogloss.similarity.names import NameChannel

__all__ = ["ChannelScores", "CombinedSimilarity"]

Array = NDArray[np.float64]

# Pull of the weights towards zero, which ends the climb where all mates can be told apart.
_SHRINK = 1e-3


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


class CombinedSimilarity(BaseEstimator):
    """Similarity by meaning and by names, with learned weights, each of them reported.

    Parameters
    ----------
    model : DocumentModel
        The latent channel, fitted.
    names : NameChannel or None
        The other one; a new :class:`NameChannel`, fitted on the texts given to :meth:`fit`, by default.

    Attributes
    ----------
    weights_ : array (2,)
        Weights of the latent channel and of names, in standard deviations.
    names_ : NameChannel
        The channel of names in use.
    """

    weights_: Array
    names_: NameChannel

    def __init__(self, model: DocumentModel, names: NameChannel | None = None) -> None:
        self.model = model
        self.names = names

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
        self.names_ = NameChannel() if self.names is None else self.names
        if self.names is None:
            self.names_.fit([text for column in texts.values() for text in column if text is not None])
        cases = [self._features(*mates) for mates in _mates(texts)]
        if not cases:
            raise ValueError("no two languages share two rows; expected texts and translations to learn from")
        self.weights_ = _most_likely(cases)
        return self

    def scores(
        self, queries: Sequence[str], lang_a: str, targets: Sequence[str], lang_b: str
    ) -> ChannelScores:
        """Similarities of all queries and targets, by channel and combined."""
        check_is_fitted(self)
        latent, names = self._cosines(queries, lang_a, targets, lang_b)
        features = np.stack([_standardised(latent), _standardised(names)])
        return ChannelScores(latent, names, np.tensordot(self.weights_, features, axes=1))

    def _cosines(
        self, queries: Sequence[str], lang_a: str, targets: Sequence[str], lang_b: str
    ) -> tuple[Array, Array]:
        latent = self.model.project(queries, lang_a) @ self.model.project(targets, lang_b).T
        names = self.names_.transform(queries) @ self.names_.transform(targets).T
        return latent.astype(np.float64), np.asarray(names.toarray(), dtype=np.float64)

    def _features(self, *mates: Any) -> Array:
        return np.stack([_standardised(cosines) for cosines in self._cosines(*mates)])


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
