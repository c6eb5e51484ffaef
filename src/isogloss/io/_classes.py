"""The classes that a model file may name, and which of their attributes it holds."""

from __future__ import annotations

import dataclasses
import re
import sys
from importlib import import_module
from typing import Any

from isogloss.exceptions import ModelFileError

_RENAMED = {
    "isogloss.alignment.checkpoint.Checkpoint": "isogloss.alignment.Checkpoint",
    "isogloss.alignment.fertility_steps.FertilitySettings": "isogloss.alignment.models.FertilitySettings",
    "isogloss.alignment.fertility_steps.WordClasses": "isogloss.alignment.models.WordClasses",
    "isogloss.alignment.lexical.LexicalPrior": "isogloss.alignment.models.LexicalPrior",
    "isogloss.alignment.schedule.FertilityProgress": "isogloss.alignment.models.FertilityProgress",
    "isogloss.alignment.steps.Settings": "isogloss.alignment.models.TrainingSettings",
    "isogloss.events.agglomeration.Rules": "isogloss.events.track.AgglomerationRules",
    "isogloss.events.linker.Linker": "isogloss.events.link.Linker",
    "isogloss.events.state.ClusterSettings": "isogloss.events.cluster.ClusterSettings",
    "isogloss.graphical.BackoffModel": "isogloss.sequences.BackoffModel",
    "isogloss.graphical.DiscreteHMM": "isogloss.sequences.DiscreteHMM",
    "isogloss.graphical.HMMParameters": "isogloss.sequences.HMMParameters",
    "isogloss.graphical.NgramModel": "isogloss.sequences.NgramModel",
    "isogloss.mixture.steps.MixtureParameters": "isogloss.mixture.MixtureParameters",
    "isogloss.multiview.kernel_map.KernelSpectrum": "isogloss.multiview.kernels.KernelSpectrum",
    "isogloss.multiview.kernel_map.ViewKernel": "isogloss.multiview.kernels.ViewKernel",
    "isogloss.multiview.solution.Solution": "isogloss.multiview.solvers.Solution",
    "isogloss.similarity.plan.FitPlan": "isogloss.similarity.fitting.FitPlan",
    "isogloss.similarity.star.Star": "isogloss.similarity.fitting.Star",
    "isogloss.stats.cross.CrossMoments": "isogloss.stats.CrossMoments",
}
"""Current names of classes by their names in files of version 0.1.0."""
_NAME = re.compile(r"isogloss(\.(?!__)[A-Za-z_][A-Za-z0-9_]*)+")


def kind_of(cls: type) -> str | None:
    """Return how objects of a class are saved: as estimator, statistic, dataclass or not at all."""
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
    """Return whether a class derives from BaseEstimator, without importing scikit-learn."""
    return any((base.__module__, base.__name__) == ("sklearn.base", "BaseEstimator") for base in cls.__mro__)


def is_state(cls: type, name: str) -> bool:
    """Return whether an attribute of an estimator is saved."""
    fitted = name.endswith("_") and not name.startswith("_")
    return fitted or name in getattr(cls, "_saved_state", ())


def public_name(cls: type) -> str | None:
    """Return the shortest dotted name that exports a class; it survives moves between modules."""
    parts = cls.__module__.split(".")
    for end in range(1, len(parts) + 1):
        module = ".".join(parts[:end])
        if _exported(sys.modules.get(module), cls.__name__) is cls:
            return f"{module}.{cls.__name__}"
    return None


def resolve_class(name: Any, kind: str) -> type:
    """Return the public class of isogloss with this name and kind."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ModelFileError(f"names the class {name!r:.80}; only public classes of isogloss may be loaded")
    module, _, attribute = _RENAMED.get(name, name).rpartition(".")
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
