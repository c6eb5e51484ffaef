"""Certificates of SUMCOR models: ``certificate_`` and ``certify``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import POSITIVE_INT, Constraints, StrOptions
from isogloss.multiview._base import Multiview
from isogloss.multiview.certificates import Certificate, certify
from isogloss.multiview.solvers import Solution
from isogloss.views import Views

__all__ = ["ASCENT_CONSTRAINTS", "CertifiedMultiview", "gain_of_last_start"]

Array = NDArray[np.float64]

# Ascents that end in the same place are apart by some multiple of their tolerance, seldom by this one.
_OPEN = 10


ASCENT_CONSTRAINTS: Constraints = {
    "algorithm": [StrOptions({"block", "horst"})],
    "n_init": [POSITIVE_INT, StrOptions({"auto"})],
    "sdp_start": ["boolean"],
}


class CertifiedMultiview(Multiview):
    """A model whose first component can be judged.

    Subclasses implement ``_judge_on``, and keep a reference to the rows of the fit where they keep no sums.
    """

    sdp_gain_: float | None
    """By how much the start from the relaxation ended above the best of the others, 0 if it did not; None
    without ``sdp_start``.
    """
    _fitted_views: Views | None = None

    @property
    def certificate_(self) -> Certificate:
        """Bound how far the first component is from the global optimum; computed at every call.

        It bounds the sum of correlations of *one* component, which is what chapter 5 of the thesis is about.
        With ``algorithm='horst'`` the first component is sought for itself. With 'block' and several
        components their total is maximised: the first need not be the best single one, and a gap is no
        fault. :func:`~isogloss.multiview.certify` judges later ones, given those before (``previous``).
        """
        check_is_fitted(self)
        return self._judge_fit()

    def certify(self, views: Any) -> Certificate:
        """Judge the first component on given rows: those of the fit, or others.

        Up to 15,000 features or, if there are fewer of them, rows in all views together, the bound is proven;
        above, it is numerical, and the report says so.

        Parameters
        ----------
        views : Views, list or dict of arrays
            Rows of the views of the fit.
        """
        check_is_fitted(self)
        return self._judge_on(self._check_seen(views))

    def __dir__(self) -> Iterable[str]:
        """Names of attributes; scikit-learn would read each of them, and a certificate takes long."""
        return object.__dir__(self)

    def _judge_fit(self) -> Certificate:
        if self._fitted_views is None:
            raise AttributeError(
                "the rows of the fit are gone: they are not saved, copied or pickled with a model; "
                "use certify(views) with the views that it was fitted on"
            )
        return self.certify(self._fitted_views)

    @abstractmethod
    def _judge_on(self, views: Views) -> Certificate:
        """The certificate on checked views."""

    def _judge(self, A: Any, sizes: Sequence[int], x: Array, whitened: bool | None = None) -> Certificate:
        """The certificate of a point, and what is known of its start."""
        given = certify(A, sizes, x, whitened=whitened, random_state=0)
        return replace(given, start_gain=self.sdp_gain_)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_fitted_views"}


def gain_of_last_start(solution: Solution, tol: float) -> float:
    """Return how far the last start of the first ascent ended above the others; 0 within ``tol``."""
    assert solution.ends is not None
    last, best = float(solution.ends[0, -1]), float(solution.ends[0, :-1].max())
    return last - best if last - best > _OPEN * tol * abs(last) else 0.0
