"""Naive Bayes over discrete features, also where values are missing or classes are not known."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import Constraints, StrOptions
from isogloss.engine import Engine
from isogloss.graphical._sequences import symbols_of
from isogloss.graphical.learning._latent_class import LatentClassModel
from isogloss.graphical.network import BayesianNetwork
from isogloss.linalg import check_vector

Array = NDArray[np.float64]


class NaiveBayes(ClassifierMixin, LatentClassModel):
    """A class, and features that are independent given it.

    Parameters
    ----------
    smoothing : float
        Pseudo-counts of every class, and of every state of a feature in every class.
    classes : sequence, optional
        The classes; those of ``y`` by default.
    unseen : {'raise', 'missing'}
        What a state means that was not seen in ``fit``: an error, or nothing.
    tol, max_iter : float, int
        EM, for when some classes are not known, stops when a pass gains less per row, or after so many.
    n_init : int
        Starts, where some classes are not known.
    random_state : int, RandomState or None
        Seed of the starts.
    n_jobs : int or None
        Threads over batches of rows.
    engine : Engine, optional
        Where the sums run; threads by default.

    Attributes
    ----------
    classes_ : array
        The classes.
    categories_ : list of tuple
        The states of each feature.
    parameters_ : LatentClassParameters
        Shares of the classes and tables of the features.
    lower_bound_, trace_, converged_, n_iter_
        As in :class:`~isogloss.sequences.DiscreteHMM`.

    Notes
    -----
    Rows are lists of states, which are texts or integers; None and -1 are missing. A ``y`` of None is a row
    whose class is not known: it then counts for each class as much as the posterior says (EM).

    Examples
    --------
    >>> X = [["rain", "cold"], ["rain", "warm"], ["sun", "warm"], ["sun", None]]
    >>> model = NaiveBayes(smoothing=1).fit(X, ["in", "in", "out", "out"])
    >>> model.predict([["rain", "cold"], ["sun", None]])
    array(['in', 'out'], dtype='<U3')
    >>> model.network().factorisation()
    'P(class, X1, X2) = P(class) P(X1 | class) P(X2 | class)'
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **LatentClassModel._parameter_constraints,
        "classes": [Collection, None],
        "unseen": [StrOptions({"raise", "missing"})],
    }

    classes_: NDArray[Any]
    categories_: list[tuple[Hashable, ...]]

    def __init__(
        self,
        *,
        smoothing: float = 0.0,
        classes: Sequence[Hashable] | None = None,
        unseen: str = "raise",
        tol: float = 1e-5,
        max_iter: int = 200,
        n_init: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.smoothing = smoothing
        self.classes = classes
        self.unseen = unseen
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.engine = engine

    def fit(self, X: Any, y: Sequence[Any], sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows and their classes, None where a class is not known."""
        self._validate_params()
        rows, labels = _rows(X), list(y)
        classes = symbols_of([labels]) if self.classes is None else tuple(self.classes)
        if len(classes) < 1 or len(labels) != len(rows):
            raise ValueError(
                f"{len(labels)} classes of {len(classes)} kinds for {len(rows)} rows; expected one for each, "
                "None where it is not known"
            )
        self.classes_ = np.array(classes)
        self.categories_ = [symbols_of([column]) for column in zip(*rows, strict=True)]
        for number, states in enumerate(self.categories_):
            if not states:
                raise ValueError(f"feature {number} is missing in every row; leave it out")
        self.cards_ = tuple(len(states) for states in self.categories_)
        weights = (
            np.ones(len(rows)) if sample_weight is None else check_vector(sample_weight, len(rows), "weights")
        )
        codes = _column(labels, classes, "class", "raise")
        return self._climb(self._codes(rows), codes, weights, len(classes))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        best = self._asked(X)[0].argmax(axis=1)
        return np.asarray(self.classes_[best])

    def network(self, features: Sequence[str] | None = None) -> BayesianNetwork:
        """The graph: a class and an arrow from it to every feature, X1, X2, ... unless named."""
        states = [[str(state) for state in column] for column in getattr(self, "categories_", ())]
        names = [f"X{i + 1}" for i in range(len(states))] if features is None else list(features)
        return self._star("class", [str(c) for c in getattr(self, "classes_", ())], names, states)

    def _asked(self, X: Any) -> tuple[Array, Array]:
        check_is_fitted(self, "parameters_")
        posterior, logs = self._posterior(self._codes(_rows(X)))
        impossible = np.flatnonzero(np.isneginf(logs))
        if len(impossible):
            raise ValueError(f"row {impossible[0]} has probability 0 in every class; train with smoothing")
        return posterior, logs

    def _codes(self, rows: list[tuple[Any, ...]]) -> NDArray[np.int32]:
        if len(rows[0]) != len(self.categories_):
            raise ValueError(f"rows of {len(rows[0])} features; expected {len(self.categories_)}")
        columns = enumerate(zip(*rows, strict=True))
        coded = [_column(c, self.categories_[i], f"feature {i}", self.unseen) for i, c in columns]
        return np.ascontiguousarray(np.stack(coded, axis=1))


def _column(column: Sequence[Any], states: Sequence[Hashable], name: str, unseen: str) -> NDArray[np.int32]:
    """The codes of one feature; None and -1 are missing."""
    codes = {state: code for code, state in enumerate(states)} | {None: -1, -1: -1}
    if unseen == "raise":
        for row, cell in enumerate(column):
            if cell not in codes:
                known = ", ".join(map(repr, states[:8])) + (", ..." if len(states) > 8 else "")
                raise ValueError(
                    f"row {row} has {cell!r:.40} as its {name}; expected one of {known}, or None"
                )
    return np.array([codes.get(cell, -1) for cell in column], dtype=np.int32)


def _rows(X: Any) -> list[tuple[Any, ...]]:
    table = X.tolist() if isinstance(X, np.ndarray) else [list(row) for row in X]
    if not table or not isinstance(table[0], list) or not table[0]:
        raise ValueError("no rows, or rows without features; expected a table of states")
    if len({len(row) for row in table}) > 1:
        raise ValueError("rows of different lengths; expected one state, or None, for every feature")
    return [tuple(row) for row in table]
