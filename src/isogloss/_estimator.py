"""The base of every estimator: parameters that are checked against constraints, calls with bounded threads.

Constraints are those of scikit-learn, which keeps them in a private module; this is the only module of
isogloss that imports it.
"""

from __future__ import annotations

import dataclasses
import sys
import warnings
from abc import ABC
from collections.abc import Mapping
from functools import wraps
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeAlias

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

from isogloss.threads import ThreadBoundMixin

__all__ = [
    "NON_NEGATIVE",
    "NON_NEGATIVE_INT",
    "N_JOBS",
    "OPEN_SHARE",
    "POSITIVE",
    "POSITIVE_INT",
    "POSITIVE_SHARE",
    "SHARE",
    "Constraints",
    "Estimator",
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_fields",
    "warn_caller",
]

Constraints: TypeAlias = dict[str, Any]
"""For each parameter a list of constraints, one of which its value has to satisfy."""

POSITIVE_INT = Interval(Integral, 1, None, closed="left")
NON_NEGATIVE_INT = Interval(Integral, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NON_NEGATIVE = Interval(Real, 0, None, closed="left")
SHARE = Interval(Real, 0, 1, closed="both")
POSITIVE_SHARE = Interval(Real, 0, 1, closed="right")
OPEN_SHARE = Interval(Real, 0, 1, closed="neither")
N_JOBS = [Integral, None]


class Estimator(ThreadBoundMixin, BaseEstimator, ABC):
    """An estimator that says which values its parameters may have.

    ``_parameter_constraints`` has a list for every parameter, and ``fit`` begins with
    ``self._validate_params()``. A subclass extends that method where parameters have to go together.

    ``_parameter_groups`` names parameters that are a frozen dataclass of settings. Their fields are accepted
    as parameters of the estimator too, with a ``FutureWarning``: that is what they were in 0.1.
    """

    _parameter_constraints: ClassVar[Constraints] = {}
    _parameter_groups: ClassVar[Mapping[str, type]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_parameter_groups" in vars(cls):
            cls.__init__ = _with_old_names(cls.__init__)  # type: ignore[method-assign]

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; see :meth:`sklearn.base.BaseEstimator.set_params`."""
        self._warn_of_old_names(params)
        current = {name: getattr(self, name) for name in self._parameter_groups}
        return super().set_params(**self._grouped(current | params, unless=current))  # type: ignore[no-any-return]

    @classmethod
    def _grouped(cls, params: Mapping[str, Any], unless: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Parameters with fields of groups put into their groups; groups as in ``unless`` are left out."""
        out = dict(params)
        for name, group in cls._parameter_groups.items():
            moved = {field: out.pop(field) for field in _field_names(group) if field in out}
            if moved:
                out[name] = dataclasses.replace(out.get(name) or group(), **moved)
            elif unless is not None and name in out and out[name] is unless[name]:
                del out[name]
        return out

    @classmethod
    def _warn_of_old_names(cls, params: Mapping[str, Any]) -> None:
        for name, group in cls._parameter_groups.items():
            old = [field for field in _field_names(group) if field in params]
            if old:
                warn_caller(
                    f"{cls.__name__}: {', '.join(old)} as parameters will be refused from version 0.3 on; "
                    f"use {name}={group.__name__}({', '.join(f'{field}=...' for field in old)})",
                    FutureWarning,
                )


def check_fields(settings: Any, constraints: Constraints) -> None:
    """Check the fields of a dataclass of settings as parameters of an estimator are checked."""
    validate_parameter_constraints(constraints, vars(settings), caller_name=type(settings).__name__)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn with the line outside of isogloss that led here, however deep inside of it we are."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("isogloss."):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)


def _field_names(group: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(group)]


def _with_old_names(init: Any) -> Any:
    @wraps(init)
    def accepting(self: Estimator, *args: Any, **params: Any) -> None:
        self._warn_of_old_names(params)
        init(self, *args, **self._grouped(params))

    return accepting
