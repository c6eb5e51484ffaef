"""What the settings of an aligner may be."""

from __future__ import annotations

from typing import Any

from isogloss.alignment.models import AGREEMENTS, Stage, parse_schedule, split_schedule

__all__ = ["check_settings"]


def check_settings(aligner: Any) -> tuple[tuple[Stage, ...], tuple[Stage, ...]]:
    """Refuse settings that cannot be; the simple stages of the schedule, and those of fertility models."""
    if aligner.agreement not in AGREEMENTS:
        raise ValueError(f"agreement={aligner.agreement!r}; expected None, 'product' or 'mutual'")
    stages = parse_schedule(aligner.schedule)
    simple, fertile = split_schedule(stages)
    _check_numbers(aligner)
    if aligner.null is None and any(stage.model != "1" for stage in stages):
        raise ValueError(f"null=None is for Model 1 alone; {aligner.schedule!r} needs a probability")
    if aligner.bayes and aligner.pseudo_count <= 0:
        raise ValueError(
            f"bayes=True with pseudo_count={aligner.pseudo_count!r}; it needs a positive pseudo-count"
        )
    if aligner.bayes and aligner.interpolate:
        raise ValueError(
            f"bayes=True with interpolate={aligner.interpolate!r}; expected one of them: under Bayes there "
            "is no one lexicon to mix with"
        )
    if aligner.fertility is not None:
        aligner.fertility.check()
    if aligner.priors is not None and aligner.priors.fertility[0] and not fertile:
        raise ValueError(
            f"schedule={aligner.schedule!r} has no use for fertilities known beforehand; end it with models "
            "that have them, for example '1:5,hmm:5,3:3,4:3', or leave them out of the priors"
        )
    return simple, fertile


def _check_numbers(aligner: Any) -> None:
    for name in ("null", "uniform"):
        value = getattr(aligner, name)
        if value is not None and not 0 < value < 1:
            raise ValueError(f"{name}={value!r}; expected a probability between 0 and 1")
    for name in ("spelling", "jump_pseudo", "pseudo_count"):
        if getattr(aligner, name) < 0:
            raise ValueError(
                f"{name}={getattr(aligner, name)!r}; expected a number of pseudo-counts, 0 or more"
            )
    for name in ("threshold", "prune", "interpolate"):
        if not 0 <= getattr(aligner, name) < 1:
            raise ValueError(f"{name}={getattr(aligner, name)!r}; expected a probability below 1")
    if aligner.classes < 1:
        raise ValueError(f"classes={aligner.classes!r}; expected at least 1")
