r"""A latent model and the channel of names together.

For a query and candidates, each channel gives cosines. They are standardised over the candidates, because a
model far from the domain it was fitted on has cosines of another scale, and added with weights:

.. math::

    s(d, e) = w_1 \frac{c_1(d, e) - \bar c_1(d)}{\sigma_1(d)}
            + w_2 \frac{c_2(d, e) - \bar c_2(d)}{\sigma_2(d)}

The weights are those under which :math:`\exp s / \sum \exp s` gives the mates of some known pairs the
highest likelihood, none of them negative. A channel that says nothing about such documents gets no weight.
What is best among a hundred candidates is not best among thousands, so mates should be found among as many as
a search will have. Then weights are learned on four fifths of the rows and tried on the others; if the better
channel alone finds mates of these at least as well, it gets all the weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
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
# Parts of the rows that are held out in turn, to see whether the combination is better than its channels.
_FOLDS = 5


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


@dataclass(frozen=True)
class ChannelQuality:
    """Mean reciprocal ranks of mates by each channel, and by weights that were learned on other rows."""

    latent: float
    names: float
    combined: float


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
    quality_ : ChannelQuality
        What the channels and the combination reached on held-out rows.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "model": [HasMethods("project")],
        "names": [NameChannel, None],
        "places": ["boolean"],
    }

    weights_: Array
    names_: NameChannel
    quality_: ChannelQuality

    def __init__(self, model: Any, names: NameChannel | None = None, *, places: bool = False) -> None:
        self.model = model
        self.names = names
        self.places = places

    def fit(
        self,
        texts: Mapping[str, Sequence[str | None]],
        y: object = None,
        *,
        pool: Mapping[str, Sequence[str]] | None = None,
    ) -> Self:
        """Learn the weights from rows of texts and their translations.

        Parameters
        ----------
        texts : mapping of str to sequence of str or None
            For each language one text per row, None where a row lacks it; of the kind that will be
            compared, and not what the latent model was fitted on. A hundred rows are enough.
        y : None
            Not used.
        pool : mapping of str to sequence of str, optional
            More texts of each language, none a translation of another, among which the translations have to
            be found. Without as many candidates as a search will have, names get too much weight.

        Notes
        -----
        Memory: 16 bytes for each query and candidate of every ordered pair of languages.
        """
        self._validate_params()
        more = {} if pool is None else pool
        self.names_ = NameChannel(places=self.places) if self.names is None else self.names
        if self.names is None:
            known = [(t, lang) for lang, column in texts.items() for t in column if t is not None]
            known += [(t, lang) for lang, column in more.items() for t in column]
            self.names_.fit([text for text, _ in known], lang=[lang for _, lang in known])
        cases = self._cases(texts, more)
        if not cases:
            raise ValueError("no two languages share two rows; expected texts and translations to learn from")
        self.quality_ = _quality(cases)
        self.weights_ = _most_likely(cases)
        better = int(self.quality_.names > self.quality_.latent)
        if max(self.quality_.latent, self.quality_.names) >= self.quality_.combined:
            self.weights_ = np.eye(2)[better]
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

    def _cases(
        self, texts: Mapping[str, Sequence[str | None]], pool: Mapping[str, Sequence[str]]
    ) -> list[_Case]:
        """Standardised cosines of mates and other candidates, of every ordered pair of languages."""
        projected = {
            lang: self._project([t for t in column if t is not None], lang) for lang, column in texts.items()
        }
        others = {lang: self._project(pool[lang], lang) for lang in texts if len(pool.get(lang, ()))}
        has = {lang: np.array([t is not None for t in column]) for lang, column in texts.items()}
        cases = []
        for a, b in permutations(texts, 2):
            rows = np.flatnonzero(has[a] & has[b])
            if len(rows) < 2:
                continue
            lines = [np.cumsum(has[lang])[rows] - 1 for lang in (a, b)]
            latent, names = (
                [part[0][lines[0]], part[1][lines[1]]]
                for part in zip(projected[a], projected[b], strict=True)
            )
            if b in others:
                latent[1] = np.concatenate([latent[1], others[b][0]])
                names[1] = sparse.vstack([names[1], others[b][1]])
            tables = _cosines(latent[0], names[0], latent[1], names[1])
            cases.append(
                _Case(np.stack([_standardised(table) for table in tables]), np.arange(len(rows)), rows)
            )
        return cases


class _Case(NamedTuple):
    """Standardised cosines of the queries of a pair of languages."""

    features: Array
    """Shape (channels, queries, candidates)."""
    mates: NDArray[np.int64]
    """The candidate that is the mate of each query."""
    rows: NDArray[np.int64]
    """The row of each query."""

    def only(self, chosen: NDArray[np.bool_]) -> _Case:
        """Return some of the queries, with all candidates."""
        return _Case(self.features[:, chosen], self.mates[chosen], self.rows[chosen])

    def ranks(self, weights: Array) -> Array:
        """Return the rank of each mate by a weighted sum; ties count half."""
        scores = np.tensordot(weights, self.features, axes=1)
        mates = scores[np.arange(len(scores)), self.mates][:, None]
        above, level = (scores > mates).sum(axis=1), (scores == mates).sum(axis=1)
        return np.asarray(above + (level + 1) / 2)


def _cosines(latent_a: Any, names_a: Any, latent_b: Any, names_b: Any) -> tuple[Array, Array]:
    """Cosines by the latent channel and by names, of rows and rows."""
    latent = np.asarray(latent_a @ latent_b.T, dtype=np.float64)
    return latent, np.asarray((names_a @ names_b.T).toarray(), dtype=np.float64)


def _best(scores: ChannelScores, k: int) -> Nearest:
    order = np.argsort(-scores.combined, axis=1, kind="stable")[:, :k]
    return Nearest(order, *(np.take_along_axis(table, order, axis=1) for table in scores))


def _quality(cases: list[_Case]) -> ChannelQuality:
    """Mean reciprocal ranks on rows that weights were not learned from, averaged over pairs of languages."""
    latent, names = (float(np.mean([np.mean(1 / case.ranks(w)) for case in cases])) for w in np.eye(2))
    found: list[list[Array]] = [[] for _ in cases]
    for fold in range(_FOLDS):
        learned = [case.only(case.rows % _FOLDS != fold) for case in cases]
        weights = _most_likely([case for case in learned if len(case.rows)])
        for ranks, case in zip(found, cases, strict=True):
            ranks.append(1 / case.only(case.rows % _FOLDS == fold).ranks(weights))
    return ChannelQuality(latent, names, float(np.mean([np.concatenate(ranks).mean() for ranks in found])))


def _standardised(cosines: Array) -> Array:
    """Rows with mean zero and deviation one; a row that does not vary is zero."""
    centred = cosines - cosines.mean(axis=1, keepdims=True)
    deviations = centred.std(axis=1, keepdims=True)
    return np.asarray(centred / np.where(deviations > 0, deviations, 1.0))


def _most_likely(cases: Sequence[_Case]) -> Array:
    """Weights that make the mates most likely among all candidates."""
    pairs = sum(len(case.rows) for case in cases)

    def loss(weights: Array) -> tuple[float, Array]:
        value, slope = _SHRINK * weights @ weights, 2 * _SHRINK * weights
        for case in cases:
            scores, queries = np.tensordot(weights, case.features, axes=1), np.arange(len(case.rows))
            total = logsumexp(scores, axis=1)
            value += (total - scores[queries, case.mates]).sum() / pairs
            chance = np.exp(scores - total[:, None])
            mates = case.features[:, queries, case.mates]
            slope = slope + (np.einsum("cqt,qt->cq", case.features, chance) - mates).sum(axis=1) / pairs
        return float(value), slope

    channels = len(cases[0].features)
    found = minimize(loss, np.ones(channels), jac=True, method="L-BFGS-B", bounds=[(0, None)] * channels)
    return np.asarray(found.x)
