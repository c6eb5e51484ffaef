r"""A common space that is tuned by pairs of texts of which it is known whether they are linked.

.. math:: s(d, e) = a \cos(L z_d, L z_e), \qquad L = I + \operatorname{diag}(w) + P Q^\top

with :math:`z` the vectors of a fitted document model and :math:`P, Q` of low rank. A linked text has to be
nearer than all texts of its language that are not: with :math:`N_d` those among the pairs,

.. math:: \sum_{(d, e) \text{ linked}} \log\Bigl(1 + \sum_{f \in N_d} e^{s(d, f) - s(d, e)}\Bigr)

the same with d and e exchanged, and :math:`(\|w\|^2 + \|P\|^2 + \|Q\|^2) / 2C` are minimised from the space
of the model, :math:`w = 0, P = 0`, where the penalty is least: what the pairs do not ask for stays as it
is. A tuned text is :math:`L z`, so all that works with vectors of the model works with these. Cosines
become probabilities by logistic regression on pairs that were left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, logit
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import (
    NON_NEGATIVE_INT,
    POSITIVE,
    POSITIVE_INT,
    Constraints,
    Estimator,
    HasMethods,
)
from isogloss.corpora import Corpus
from isogloss.similarity.models._base import DocumentModel, TextModel, unit_rows
from isogloss.threads import thread_bound

Array = NDArray[np.float64]
Single = NDArray[np.float32]

STRENGTHS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
"""Values of C that are tried, from next to the plain model to far from it."""

_FOLDS = 3
_START = 0.1
"""Length of the columns of Q at the start; with both factors at zero there is no slope."""
_TINY = 1e-12
_SCALE = 10.0
"""The scale of cosines at the start."""


class TextPair(NamedTuple):
    """Two texts in their languages."""

    text_a: str
    lang_a: str
    text_b: str
    lang_b: str


class _Form(NamedTuple):
    """The parameters: scale of cosines, and the map."""

    scale: float
    diagonal: Array
    left: Array
    right: Array

    def apply(self, Z: Any) -> Array:
        """``L z`` for each row z."""
        return np.asarray(Z * (1.0 + self.diagonal) + (Z @ self.right) @ self.left.T)


class _Group(NamedTuple):
    """The texts of pairs of two languages, each once, and which of them are linked."""

    A: Array
    B: Array
    linked: NDArray[np.bool_]
    """Shape (texts of the first language, texts of the second)."""


class LinkedSimilarity(ClassifierMixin, TextModel, Estimator):
    """Whether two texts are linked, and a space in which linked texts are near.

    Parameters
    ----------
    model : TextModel
        The space to begin with, fitted: :class:`HubSimilarity`, for example, or an encoder.
    rank : int
        Rank of what is added to the diagonal; 0 for weights of components alone.
    C : float or None
        How far the pairs may move the space; by default the one of six values that is best for pairs that
        were left out. Linked texts are left out together.
    max_iter : int
        Most steps of L-BFGS.
    random_state : int, RandomState or None
        Seed of the start of the low-rank part.

    Attributes
    ----------
    tuning_ : array (components, components)
        :math:`L`.
    coef_, intercept_ : float
        Log odds that a pair is linked are ``coef_ * cosine + intercept_``; ``coef_`` is not negative.
    C_ : float
        The C in use.
    classes_ : array
        False and True: not linked, linked.

    Notes
    -----
    A pair is a :class:`TextPair`, or a tuple with a text, its language, the other text and its language.
    Texts of pairs that are not labelled as linked count as not linked. A step compares all texts of two
    languages, so it takes time and memory in proportion to the product of their numbers.

    Examples
    --------
    >>> from isogloss.corpora import InMemoryCorpus
    >>> from isogloss.similarity import HubSimilarity
    >>> from isogloss.text import Tokeniser
    >>> texts = {
    ...     "en": ["sun and sea", "sea and ship", "snow and sun", "ship and port"] * 3,
    ...     "de": ["sonne und meer", "meer und schiff", "schnee und sonne", "schiff und hafen"] * 3,
    ... }
    >>> corpus = InMemoryCorpus(texts, {lang: Tokeniser(lang) for lang in texts})
    >>> hub = HubSimilarity(2, random_state=0).fit(corpus)
    >>> pairs = [(en, "en", de, "de") for en in texts["en"][:4] for de in texts["de"][:4]]
    >>> linked = [a % 5 == 0 for a in range(16)]
    >>> tuned = LinkedSimilarity(hub, rank=1, C=1.0, random_state=0).fit(pairs, linked)
    >>> bool(tuned.predict_proba([pairs[0]])[0, 1] > tuned.predict_proba([pairs[3]])[0, 1])
    True
    >>> tuned.project(["sea and ship"], "en").shape
    (1, 2)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "model": [HasMethods("project")],
        "rank": [NON_NEGATIVE_INT],
        "C": [POSITIVE, None],
        "max_iter": [POSITIVE_INT],
        "random_state": ["random_state"],
    }

    tuning_: Array
    coef_: float
    intercept_: float
    C_: float
    classes_: NDArray[np.bool_]

    def __init__(
        self,
        model: TextModel,
        *,
        rank: int = 8,
        C: float | None = None,
        max_iter: int = 50,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.rank = rank
        self.C = C
        self.max_iter = max_iter
        self.random_state = random_state

    @thread_bound
    def fit(self, X: Iterable[Sequence[str]], y: ArrayLike) -> Self:
        """Learn from labelled pairs.

        Parameters
        ----------
        X : iterable of TextPair
            Pairs of texts.
        y : array (n_pairs,) of bool, or of 0 and 1
            Whether each pair is linked.
        """
        self._validate_params()
        pairs, labels = [_as_pair(pair) for pair in X], np.asarray(y)
        if labels.shape != (len(pairs),) or set(np.unique(labels)) != {0, 1}:
            raise ValueError(
                f"{len(pairs)} pairs and labels of shape {labels.shape} with the values "
                f"{np.unique(labels).tolist()[:5]}; expected one label for each pair, and both 0 and 1"
            )
        truth = labels.astype(bool)
        A, B = self._vectors(pairs)
        folds = _folds(pairs, truth)
        candidates = STRENGTHS if self.C is None else (float(self.C),)
        losses, cosines = np.zeros(len(candidates)), np.zeros((len(candidates), len(pairs)))
        for learned, left_out in folds:
            for place, C in enumerate(candidates):
                form = self._solve(_grouped(pairs, A, B, truth, learned), C)
                found = _loss(form, _grouped(pairs, A, B, truth, left_out))
                losses[place] += found[0]
                cosines[place, left_out] = _cosines(form, A[left_out], B[left_out])
        best = int(np.argmin(losses))
        self.C_ = candidates[best]
        odds = LogisticRegression(C=1e3).fit(cosines[best][:, None], truth)
        self.coef_, self.intercept_ = float(odds.coef_[0, 0]), float(odds.intercept_[0])
        if self.coef_ < 0:  # nearness never speaks against a link, though pairs may have been chosen so
            self.coef_, self.intercept_ = 0.0, float(logit(truth.mean()))
        form = self._solve(_grouped(pairs, A, B, truth, np.arange(len(pairs))), self.C_)
        self.tuning_, self.classes_ = form.apply(np.eye(A.shape[1])).T, np.array([False, True])
        return self

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages of the model."""
        return tuple(self.model.languages)

    @property
    def words(self) -> DocumentModel:
        """The document model behind it, before tuning."""
        return self.model.words

    def project(self, texts: Iterable[str], lang: str) -> Single:
        """Raw texts as points of the tuned space, of length one."""
        return self._tuned(self.model.project(texts, lang))

    def project_corpus(self, corpus: Corpus, lang: str) -> Single:
        """The documents that a corpus has in a language, one row for each line of its matrix."""
        return self._tuned(self.model.project_corpus(corpus, lang))

    def decision_function(self, X: Iterable[Sequence[str]]) -> Array:
        """Log odds that pairs are linked."""
        check_is_fitted(self)
        A, B = self._vectors([_as_pair(pair) for pair in X])
        U, V = A @ self.tuning_.T, B @ self.tuning_.T
        lengths = np.linalg.norm(U, axis=1) * np.linalg.norm(V, axis=1)
        cosines = np.einsum("nk,nk->n", U, V) / np.where(lengths > 0, lengths, 1.0)
        return np.asarray(self.coef_ * cosines + self.intercept_)

    def predict_proba(self, X: Iterable[Sequence[str]]) -> Array:
        """Probabilities that pairs are not linked, and that they are."""
        linked = expit(self.decision_function(X))
        return np.column_stack([1.0 - linked, linked])

    def predict(self, X: Iterable[Sequence[str]]) -> NDArray[np.bool_]:
        """Whether pairs are linked: more probably than not."""
        return self.decision_function(X) > 0

    def _tuned(self, points: Single) -> Single:
        check_is_fitted(self)
        return unit_rows((points @ self.tuning_.T).astype(np.float32))

    def _vectors(self, pairs: Sequence[TextPair]) -> tuple[Array, Array]:
        """The vectors of both sides, each language projected at once."""
        texts = [(p.text_a, p.lang_a) for p in pairs] + [(p.text_b, p.lang_b) for p in pairs]
        points: Array | None = None
        for lang in dict.fromkeys(lang for _, lang in texts):
            rows = [row for row, (_, of) in enumerate(texts) if of == lang]
            found = np.asarray(self.model.project([texts[row][0] for row in rows], lang), dtype=np.float64)
            points = np.zeros((len(texts), found.shape[1])) if points is None else points
            points[rows] = found
        if points is None:
            raise ValueError("no pairs; expected at least one")
        return points[: len(pairs)], points[len(pairs) :]

    def _solve(self, groups: list[_Group], C: float) -> _Form:
        k, r = groups[0].A.shape[1], self.rank
        right = check_random_state(self.random_state).normal(size=(k, r)) * _START / np.sqrt(k)
        start = np.concatenate([[_SCALE], np.zeros(k + k * r), right.ravel()])

        def penalised(vector: Array) -> tuple[float, Array]:
            value, slope = _loss(_unpack(vector, k, r), groups)
            slope[1:] += vector[1:] / C
            return value + float(vector[1:] @ vector[1:]) / (2.0 * C), slope

        bounds = [(_TINY, None), *[(None, None)] * (len(start) - 1)]
        found = minimize(
            penalised, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": self.max_iter}
        )
        return _unpack(found.x, k, r)


def _as_pair(pair: Sequence[str]) -> TextPair:
    if isinstance(pair, str) or len(pair) != 4 or not all(isinstance(part, str) for part in pair):
        raise TypeError(
            f"got {pair!r:.60} as a pair; expected a text, its language, the other text and its language"
        )
    return TextPair(*pair)


def _folds(
    pairs: Sequence[TextPair], truth: NDArray[np.bool_]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs to learn from and to leave out; linked texts stay together."""
    numbers: dict[tuple[str, str], int] = {}
    left = [numbers.setdefault((p.text_a, p.lang_a), len(numbers)) for p in pairs]
    right = [numbers.setdefault((p.text_b, p.lang_b), len(numbers)) for p in pairs]
    linked = coo_array((truth.astype(float), (left, right)), shape=(len(numbers),) * 2)
    linked.eliminate_zeros()
    labels = connected_components(linked, directed=False)[1]
    groups = labels[left]
    n = min(_FOLDS, len(np.unique(groups)))
    parts = list(GroupKFold(n).split(groups, groups=groups)) if n > 1 else []
    parts = [part for part in parts if all(len(np.unique(truth[side])) == 2 for side in part)]
    if len(parts) < n or not parts:
        raise ValueError(
            f"{len(pairs)} pairs of {len(np.unique(groups))} groups of linked texts are too few to leave "
            "some out; expected linked and other pairs in each third of the groups"
        )
    return parts


def _grouped(
    pairs: Sequence[TextPair], A: Array, B: Array, truth: NDArray[np.bool_], rows: NDArray[np.int64]
) -> list[_Group]:
    """Texts of some pairs by languages; a text that occurs in several pairs is there once."""
    members: dict[tuple[str, str], list[int]] = {}
    for row in rows.tolist():
        members.setdefault((pairs[row].lang_a, pairs[row].lang_b), []).append(row)
    out = []
    for own in members.values():
        first: dict[str, int] = {}
        second: dict[str, int] = {}
        for row in own:
            first.setdefault(pairs[row].text_a, row)
            second.setdefault(pairs[row].text_b, row)
        place_a, place_b = ({text: n for n, text in enumerate(side)} for side in (first, second))
        linked = np.zeros((len(first), len(second)), dtype=bool)
        for row in own:
            linked[place_a[pairs[row].text_a], place_b[pairs[row].text_b]] |= truth[row]
        out.append(_Group(A[list(first.values())], B[list(second.values())], linked))
    return out


def _unpack(vector: Array, k: int, r: int) -> _Form:
    diagonal, left, right = np.split(vector[1:], [k, k + k * r])
    return _Form(float(vector[0]), diagonal, left.reshape(k, r), right.reshape(k, r))


def _unit(X: Array) -> tuple[Array, Array]:
    """Rows of length one, and their lengths before."""
    lengths = np.maximum(np.linalg.norm(X, axis=1, keepdims=True), _TINY)
    return X / lengths, lengths


def _cosines(form: _Form, A: Array, B: Array) -> Array:
    return np.asarray(np.einsum("nk,nk->n", _unit(form.apply(A))[0], _unit(form.apply(B))[0]))


def _loss(form: _Form, groups: Sequence[_Group]) -> tuple[float, Array]:
    """The loss of all links, and its slope."""
    value, scale = 0.0, 0.0
    diagonal, left, right = (np.zeros_like(part) for part in form[1:])
    for A, B, linked in groups:
        U, a = _unit(form.apply(A))
        V, b = _unit(form.apply(B))
        cosines = U @ V.T
        forward, G = _contrast(form.scale * cosines, linked)
        backward, H = _contrast(form.scale * cosines.T, linked.T)
        G += H.T
        value += forward + backward
        scale += float((G * cosines).sum())
        G *= form.scale
        dU, dV = G @ V, G.T @ U
        dU = (dU - (dU * U).sum(axis=1, keepdims=True) * U) / a
        dV = (dV - (dV * V).sum(axis=1, keepdims=True) * V) / b
        diagonal += (dU * A).sum(axis=0) + (dV * B).sum(axis=0)
        left += dU.T @ (A @ form.right) + dV.T @ (B @ form.right)
        right += A.T @ (dU @ form.left) + B.T @ (dV @ form.left)
    return value, np.concatenate([[scale], diagonal, left.ravel(), right.ravel()])


def _contrast(scores: Array, linked: NDArray[np.bool_]) -> tuple[float, Array]:
    """The loss of links, in rows, against what is not linked in the same row; and its slope."""
    others = np.where(linked, -np.inf, scores)
    top = np.maximum(others.max(axis=1, initial=-np.inf), -1e300)[:, None]
    shares = np.exp(others - top)
    sums = shares.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        total = np.where(sums > 0, np.log(sums) + top, -np.inf)
    margins = np.where(linked, total - scores, -np.inf)
    pull = np.where(linked, expit(margins), 0.0)
    weights = pull.sum(axis=1, keepdims=True) * shares / np.where(sums > 0, sums, 1.0)
    return float(np.logaddexp(0.0, margins).sum()), weights - pull
