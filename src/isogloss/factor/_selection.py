"""Selection of the number of factors by held-out likelihood or BIC.

Folds are summed once. What a fold leaves for training is a merge of the other folds' sums, so every
candidate is fitted and judged without another look at the rows.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv

from isogloss.factor._battery import MultiBatteryFA
from isogloss.factor._steps import log_likelihood_of
from isogloss.stats import PatternMoments
from isogloss.threads import thread_bound
from isogloss.views import check_views

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ComponentChoice:
    """Scores of the candidates.

    Attributes
    ----------
    candidates : array (n,)
        Numbers of factors.
    held_out : array (n, folds)
        Log-likelihood per row of each held-out fold.
    bic : array (n,)
        Bayesian information criterion of all rows.
    """

    candidates: NDArray[np.int64]
    held_out: Array
    bic: Array

    @property
    def best(self) -> int:
        """The candidate with the highest mean held-out likelihood."""
        return int(self.candidates[self.held_out.mean(axis=1).argmax()])

    @property
    def best_bic(self) -> int:
        """The candidate with the lowest BIC."""
        return int(self.candidates[self.bic.argmin()])

    @property
    def standard_errors(self) -> Array:
        """Standard errors over folds of the differences to the best candidate."""
        differences = self.held_out - self.held_out[self.held_out.mean(axis=1).argmax()]
        return np.asarray(differences.std(axis=1, ddof=1) / np.sqrt(self.held_out.shape[1]))


@thread_bound
def choose_components(
    model: MultiBatteryFA, views: Any, candidates: Iterable[int], *, cv: Any = 5
) -> ComponentChoice:
    """Fit every candidate number of factors, and judge it on rows that were held out.

    Parameters
    ----------
    model : MultiBatteryFA or InterBatteryFA
        Its other parameters are kept.
    views : Views, list or dict of arrays
        The rows.
    candidates : iterable of int
        Numbers of factors to try.
    cv : int or splitter
        Folds, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(400, 2))
    >>> views = [z @ rng.normal(size=(2, d)) + rng.normal(size=(400, d)) for d in (4, 5, 6)]
    >>> choice = choose_components(MultiBatteryFA(), views, [1, 2, 3])
    >>> choice.best, choice.best_bic
    (2, 2)
    """
    views, tried = check_views(views), np.array(list(candidates), dtype=np.int64)
    if not len(tried):
        raise ValueError("no candidates given; expected numbers of factors to try")
    splits = check_cv(cv).split(np.empty((len(views), 0)))
    folds = [PatternMoments(views.dims).update(views[held_out]) for _, held_out in splits]
    models = [clone(model).set_params(n_components=int(k), keep_moments=False) for k in tried]
    held_out = [[_held_out(m, folds, f, views.names) for f in range(len(folds))] for m in models]
    bic = [m.fit_moments(_total(folds), views.names).bic() for m in models]
    return ComponentChoice(tried, np.array(held_out), np.array(bic))


def _held_out(model: MultiBatteryFA, folds: list[PatternMoments], fold: int, names: Iterable[str]) -> float:
    model.fit_moments(_total(folds[:fold] + folds[fold + 1 :]), names)
    return log_likelihood_of(model.parameters_, folds[fold]) / folds[fold].n_rows


def _total(folds: list[PatternMoments]) -> PatternMoments:
    total = copy.deepcopy(folds[0])
    for fold in folds[1:]:
        total.merge(fold)
    return total
