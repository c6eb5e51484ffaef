r"""A hidden or partly known class and discrete features that are independent given it.

.. math:: p(x, c) = \pi_c \prod_j \theta_j(x_j \mid c)

With known classes this is naive Bayes, with hidden ones a mixture; the steps of EM are the same. As a graph
it is a star. A feature that is missing from a row is left out of its product, and a row whose class is known
has no other.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import xlogy
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import N_JOBS, NON_NEGATIVE, POSITIVE_INT, Constraints, Estimator
from isogloss.em import EMMixin, EMModel, FullExpectation, best_of
from isogloss.engine import Engine, Rows
from isogloss.graphical._cpd import CPD
from isogloss.graphical._variables import Variable
from isogloss.graphical.network import BayesianNetwork
from isogloss.kernels import normalise_log_joint
from isogloss.stats import ExpectedCounts

__all__ = ["LatentClassModel", "LatentClassParameters", "latent_class_model"]

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class LatentClassParameters:
    """Shares of the classes, and below one another the tables of the features: states x classes."""

    weights: Array
    tables: Array


class LatentClassModel(EMMixin, Estimator):
    """The base of naive Bayes and mixtures of discrete features; ``cards_`` are numbers of states."""

    _parameter_constraints: ClassVar[Constraints] = {
        "smoothing": [NON_NEGATIVE],
        "tol": [NON_NEGATIVE],
        "max_iter": [POSITIVE_INT],
        "n_init": [POSITIVE_INT],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
        "engine": [Engine, None],
    }

    parameters_: LatentClassParameters
    cards_: tuple[int, ...]
    lower_bound_: float

    smoothing: float
    n_init: int
    random_state: Any

    def predict_proba(self, X: Any) -> Array:
        """Posteriors of the classes, or of the components."""
        return self._asked(X)[0]

    def score_samples(self, X: Any) -> Array:
        """Log probability of the features of each row."""
        return self._asked(X)[1]

    @abc.abstractmethod
    def _asked(self, X: Any) -> tuple[Array, Array]:
        """Posteriors, and the log probability of every row."""

    def _climb(
        self, codes: NDArray[np.int32], labels: NDArray[np.int32], weights: Array, classes: int
    ) -> Self:
        """EM from ``n_init`` starts around what the labels say."""
        model = latent_class_model(self.cards_, self.smoothing)
        expectation = FullExpectation(model, Rows(codes, labels, weights), self._engine())
        rng = check_random_state(self.random_state)
        known = _count_labelled(self.cards_, codes, labels, weights, classes)
        starts: Iterable[LatentClassParameters] = (_draw(self.cards_, known, rng) for _ in range(self.n_init))
        result = best_of(self._run_em(model, expectation, start) for start in starts)
        self.parameters_ = result.parameters
        self.lower_bound_ = result.bound / result.statistic.rows
        self._keep_trace(result)
        return self

    def _posterior(self, codes: NDArray[np.int32]) -> tuple[Array, Array]:
        """Posteriors of the classes, and the log probability of every row."""
        check_is_fitted(self, "parameters_")
        joint = _log_joint(_one_hot(codes, self.cards_), np.full(len(codes), -1), self.parameters_)
        log_norm = np.empty(len(codes))
        normalise_log_joint(joint, np.ones(len(codes)), 0.0, log_norm)
        return joint, log_norm

    def _star(
        self,
        class_name: str,
        classes: Sequence[str],
        features: Sequence[str],
        states: Sequence[Sequence[str]],
    ) -> BayesianNetwork:
        check_is_fitted(self, "parameters_")
        top = Variable(class_name, classes)
        blocks = np.split(self.parameters_.tables, np.cumsum(self.cards_)[:-1])
        leaves = zip(features, states, blocks, strict=True)
        return BayesianNetwork(
            [
                CPD(top, [], self.parameters_.weights),
                *(CPD(Variable(name, names), [top], block.T) for name, names, block in leaves),
            ],
            name="naive Bayes",
        )


class _Batch(NamedTuple):
    codes: NDArray[np.int32]
    labels: NDArray[np.int32]
    weights: Array


def latent_class_model(cards: Sequence[int], smoothing: float) -> EMModel[LatentClassParameters]:
    """The steps; ``smoothing`` is the pseudo-count of every class and of every state in every class."""
    cards = tuple(cards)
    return EMModel(
        expect=partial(_expect, cards),
        solve=partial(_solve, cards, smoothing),
        expected_log_joint=_expected_log_joint,
        log_prior=partial(_log_prior, smoothing) if smoothing else None,
    )


def _expect(cards: tuple[int, ...], batch: tuple[Any, ...], p: LatentClassParameters) -> ExpectedCounts:
    rows = _Batch(*batch)
    seen = _one_hot(rows.codes, cards)
    posterior, log_norm = _log_joint(seen, rows.labels, p), np.empty(len(rows.codes))
    entropy, _ = normalise_log_joint(posterior, rows.weights, 0.0, log_norm)
    impossible = np.flatnonzero(np.isneginf(log_norm) & (rows.weights > 0))
    if len(impossible):
        raise ValueError(
            f"row {impossible[0]} of a batch ({len(impossible)} in all) has probability 0 in every class; "
            "use smoothing"
        )
    used = rows.weights > 0
    weighted = np.where(used[:, None], rows.weights[:, None] * posterior, 0.0)
    tables = {"weights": weighted.sum(axis=0), "tables": np.asarray(seen.T @ weighted)}
    likelihood = float(rows.weights[used] @ log_norm[used])
    return ExpectedCounts(tables, rows=float(rows.weights.sum()), entropy=entropy, log_likelihood=likelihood)


def _solve(
    cards: tuple[int, ...], smoothing: float, found: ExpectedCounts, p: LatentClassParameters
) -> LatentClassParameters:
    """The M-step; a class that has no rows keeps its tables."""
    weights = found["weights"] + smoothing
    counts = found["tables"] + smoothing
    totals = _block_sums(cards, counts)
    tables = np.where(totals > 0, counts / np.where(totals > 0, totals, 1.0), p.tables)
    return LatentClassParameters(weights / weights.sum(), tables)


def _expected_log_joint(found: ExpectedCounts, p: LatentClassParameters) -> float:
    return float(xlogy(found["weights"], p.weights).sum() + xlogy(found["tables"], p.tables).sum())


def _log_prior(smoothing: float, p: LatentClassParameters) -> float:
    return smoothing * float(np.log(p.weights).sum() + np.log(p.tables).sum())


def _one_hot(codes: NDArray[np.int32], cards: tuple[int, ...]) -> Any:
    """A row of zeros and ones for each row of codes; nothing where a code is missing."""
    n, _ = codes.shape
    first = np.concatenate([[0], np.cumsum(cards)[:-1]]).astype(np.int64)
    seen = codes >= 0
    columns = (codes + first)[seen]
    ends = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    return sparse.csr_array((np.ones(len(columns)), columns, ends), shape=(n, sum(cards)))


def _log_joint(seen: Any, labels: NDArray[Any], p: LatentClassParameters) -> Array:
    with np.errstate(divide="ignore"):
        joint = np.ascontiguousarray(seen @ np.log(p.tables) + np.log(p.weights))
    others = (labels[:, None] >= 0) & (labels[:, None] != np.arange(len(p.weights)))
    joint[others] = -np.inf
    return joint


def _block_sums(cards: tuple[int, ...], tables: Array) -> Array:
    """The sums over the states of each feature, once per state."""
    first = np.concatenate([[0], np.cumsum(cards)[:-1]]).astype(np.int64)
    return np.asarray(np.repeat(np.add.reduceat(tables, first, axis=0), cards, axis=0))


def _count_labelled(
    cards: tuple[int, ...], codes: NDArray[np.int32], labels: NDArray[np.int32], weights: Array, classes: int
) -> ExpectedCounts:
    member = (labels[:, None] == np.arange(classes)) * weights[:, None]
    seen = _one_hot(codes, cards)
    tables = {"weights": member.sum(axis=0), "tables": seen.T @ member, "states": seen.T @ weights[:, None]}
    return ExpectedCounts(tables, rows=float(weights.sum()), entropy=0.0)


def _draw(cards: tuple[int, ...], known: ExpectedCounts, rng: np.random.RandomState) -> LatentClassParameters:
    """Around what the labels say, and otherwise around the shares of the states, at random."""
    counts, classes = known["states"] + 1.0, len(known["weights"])
    shares = counts / _block_sums(cards, counts)
    noise = shares * rng.uniform(0.5, 1.5, (len(shares), classes))
    tables = known["tables"] + noise / _block_sums(cards, noise)
    weights = known["weights"] + rng.dirichlet(np.full(classes, 10.0))
    return LatentClassParameters(weights / weights.sum(), tables / _block_sums(cards, tables))
