"""Which classes a model file may name, and what of them it holds."""

from __future__ import annotations

import dataclasses
import re
import sys
from importlib import import_module
from typing import Any

from isogloss.exceptions import ModelFileError

__all__ = ["is_estimator", "is_state", "kind_of", "public_name", "resolve"]

_NAME = re.compile(r"isogloss(\.(?!__)[A-Za-z_][A-Za-z0-9_]*)+")


def kind_of(cls: type) -> str | None:
    """``estimator``, ``statistic`` or ``dataclass``: how objects of a class are saved, if at all."""
    if not cls.__module__.startswith("isogloss."):
        return None
    if is_estimator(cls):
        return "estimator"
    if callable(getattr(cls, "arrays", None)) and callable(getattr(cls, "from_arrays", None)):
        return "statistic"
    if dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return "dataclass"
    return None


def is_estimator(cls: type) -> bool:
    """Whether a class is an estimator of scikit-learn's kind; asks without importing scikit-learn."""
    return any((base.__module__, base.__name__) == ("sklearn.base", "BaseEstimator") for base in cls.__mro__)


def is_state(cls: type, name: str) -> bool:
    """Whether an attribute of an estimator belongs into its file."""
    fitted = name.endswith("_") and not name.startswith("_")
    return fitted or name in getattr(cls, "_saved_state", ())


def public_name(cls: type) -> str | None:
    """The shortest dotted name under which isogloss exports a class; it outlives moves between modules."""
    parts = cls.__module__.split(".")
    for end in range(1, len(parts) + 1):
        module = ".".join(parts[:end])
        if _exported(sys.modules.get(module), cls.__name__) is cls:
            return f"{module}.{cls.__name__}"
    return None


def resolve(name: Any, kind: str) -> type:
    """The class of that name, if it is a public class of isogloss and of that kind."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ModelFileError(f"names the class {name!r:.80}; only public classes of isogloss may be loaded")
    module, _, attribute = name.rpartition(".")
    try:
        found = _exported(import_module(module), attribute)
    except ImportError as error:
        raise ModelFileError(f"needs the module {module}, which cannot be imported ({error})") from error
    if not isinstance(found, type) or kind_of(found) != kind:
        raise ModelFileError(
            f"names {name} as its {kind}, and this isogloss has none of that name; install the version "
            "that wrote the file, which isogloss.io.describe tells"
        )
    return found


def _exported(module: Any, attribute: str) -> Any:
    return getattr(module, attribute, None) if attribute in getattr(module, "__all__", ()) else None
