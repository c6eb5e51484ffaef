"""The parameters of an aligner, what they may be, and the names of what it learns.

A base class apart from :class:`~isogloss.alignment.Aligner`, because the modules that train and read for it
need its parameters.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from isogloss._estimator import (
    N_JOBS,
    NON_NEGATIVE,
    OPEN_SHARE,
    POSITIVE_INT,
    Constraints,
    Estimator,
    Interval,
    StrOptions,
)
from isogloss.alignment._bitext import WordForms
from isogloss.alignment._fertility_state import FertilityState
from isogloss.alignment.decoding import MEANS
from isogloss.alignment.models import (
    AGREEMENTS,
    AlignmentParameters,
    FertilityOptions,
    PairTable,
    Priors,
    Stage,
    parse_schedule,
    split_schedule,
)
from isogloss.engine import Engine, EngineMixin
from isogloss.text import StemModel

__all__ = ["PRESETS", "AlignerBase", "check_settings"]

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "quick": {"schedule": "1:1,hmm:1", "agreement": "product", "ensemble": (), "threshold": 0.5},
    "default": {},
    "thorough": {"schedule": "1:4,hmm:3,4:3"},
}
"""Settings for a result in about a quarter of the time of the default, or in 3 to 11 times its time."""

BELOW_ONE = Interval(Real, 0, 1, closed="left")


class AlignerBase(EngineMixin, Estimator):
    """Parameters and fitted attributes of :class:`~isogloss.alignment.Aligner`."""

    _parameter_constraints: ClassVar[Constraints] = {
        "schedule": [str],
        "agreement": [StrOptions({name for name in AGREEMENTS if name}), None],
        "null": [OPEN_SHARE, None],
        "spelling": [NON_NEGATIVE],
        "classes": [POSITIVE_INT],
        "uniform": [OPEN_SHARE],
        "jump_pseudo": [NON_NEGATIVE],
        "pseudo_count": [NON_NEGATIVE],
        "bayes": ["boolean"],
        "interpolate": [BELOW_ONE],
        "prune": [BELOW_ONE],
        "priors": [Priors, None],
        "fertility": [FertilityOptions, None],
        "lower": ["boolean"],
        "prefix": [POSITIVE_INT, None],
        "stems": ["boolean"],
        "ensemble": [tuple, list],
        "mean": [StrOptions(set(MEANS)), None],
        "threshold": [BELOW_ONE, None],
        "batch_pairs": [POSITIVE_INT, None],
        "keep_index": ["boolean", None],
        "n_jobs": N_JOBS,
        "engine": [Engine, None],
    }
    _jobs_over_batches = False

    ensemble_: list[Self]
    source_words_: list[str]
    target_words_: list[str]
    table_: PairTable
    counts_: NDArray[np.float32]
    parameters_: AlignmentParameters
    fertility_: FertilityState | None
    jump_totals_: tuple[NDArray[np.float64], NDArray[np.float64]]
    bits_per_word_: list[float]
    source_classes_: NDArray[np.int32]
    target_classes_: NDArray[np.int32]
    stems_: tuple[StemModel, StemModel] | None
    threshold_: float

    def __init__(
        self,
        schedule: str = "1:4,hmm:3",
        *,
        agreement: str | None = "mutual",
        null: float | None = 0.1,
        spelling: float = 1.0,
        classes: int = 100,
        uniform: float = 0.1,
        jump_pseudo: float = 1.0,
        pseudo_count: float = 0.0,
        bayes: bool = False,
        interpolate: float = 0.0,
        prune: float = 0.0,
        priors: Priors | None = None,
        fertility: FertilityOptions | None = None,
        lower: bool = True,
        prefix: int | None = None,
        stems: bool = False,
        ensemble: Sequence[int | str] = (4, 3, "stems"),
        mean: str | None = None,
        threshold: float | None = None,
        batch_pairs: int | None = None,
        keep_index: bool | None = None,
        n_jobs: int | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.schedule = schedule
        self.agreement = agreement
        self.null = null
        self.spelling = spelling
        self.classes = classes
        self.uniform = uniform
        self.jump_pseudo = jump_pseudo
        self.pseudo_count = pseudo_count
        self.bayes = bayes
        self.interpolate = interpolate
        self.prune = prune
        self.priors = priors
        self.fertility = fertility
        self.lower = lower
        self.prefix = prefix
        self.stems = stems
        self.ensemble = ensemble
        self.mean = mean
        self.threshold = threshold
        self.batch_pairs = batch_pairs
        self.keep_index = keep_index
        self.n_jobs = n_jobs
        self.engine = engine

    @abstractmethod
    def fit(self, pairs: Any, y: None = None) -> Self:
        """Learn from sentence pairs."""

    @property
    def forms(self) -> tuple[WordForms, WordForms]:
        """Which words count as the same, of the source and of the target."""
        found = getattr(self, "stems_", None) or (None, None)
        source, target = (WordForms(self.lower, self.prefix, stems) for stems in found)
        return source, target

    @classmethod
    def _grouped(cls, params: Mapping[str, Any], unless: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Parameters of a model file; those of version 0.1.0 have no ensemble."""
        old = unless is None and "schedule" in params and "ensemble" not in params
        return super()._grouped({**params, "ensemble": ()} if old else params, unless)

    def _validate_params(self) -> None:
        super()._validate_params()
        stages = parse_schedule(self.schedule)
        _, fertile = split_schedule(stages)
        if self.null is None and any(stage.model != "1" for stage in stages):
            raise ValueError(f"null=None is for Model 1 alone; {self.schedule!r} needs a probability")
        if self.bayes and self.pseudo_count <= 0:
            raise ValueError(
                f"bayes=True with pseudo_count={self.pseudo_count!r}; it needs a positive pseudo-count"
            )
        if self.bayes and self.interpolate:
            raise ValueError(
                f"bayes=True with interpolate={self.interpolate!r}; expected one of them: under Bayes there "
                "is no one lexicon to mix with"
            )
        if self.stems and self.prefix is not None:
            raise ValueError(f"stems=True with prefix={self.prefix}; expected one of them")
        for member in self.ensemble:
            is_number = isinstance(member, Integral) and not isinstance(member, bool)
            if not (member == "stems" or (is_number and int(member) >= 1)):
                raise ValueError(
                    f"ensemble={self.ensemble!r}: got {member!r}; expected 'stems' or numbers of letters "
                    "from 1 on, for example (4, 3, 'stems'), or () for one model"
                )
        if self.fertility is not None:
            self.fertility.check()
        if self.priors is not None and self.priors.fertility[0] and not fertile:
            raise ValueError(
                f"schedule={self.schedule!r} has no use for fertilities known beforehand; end it with models "
                "that have them, for example '1:5,hmm:5,3:3,4:3', or leave them out of the priors"
            )


def check_settings(aligner: AlignerBase) -> tuple[tuple[Stage, ...], tuple[Stage, ...]]:
    """Refuse settings that cannot be; the simple stages of the schedule, and those of fertility models."""
    aligner._validate_params()
    return split_schedule(parse_schedule(aligner.schedule))
