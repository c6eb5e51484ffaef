"""The models behind the answers, and how good they are."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from isogloss.service._state import AppStateDep
from isogloss.service.api._prefix import PREFIX
from isogloss.service.auth import AuthenticatedRoute, Reader
from isogloss.service.models import STORE_PREFIX, Models
from isogloss.service.schemas import ModelAnswer, moment

__all__ = ["models_router"]

models_router = APIRouter(prefix=PREFIX, route_class=AuthenticatedRoute, tags=["models"])


@models_router.get("/models", response_model=list[ModelAnswer], summary="Models")
def list_models(parts: AppStateDep, _: Reader) -> list[ModelAnswer]:
    """Models in use, with their settings and evaluation, and those that are kept in the store."""
    models = parts.models
    in_use = [*_similarity(models), *_aligners(models), *_dictionaries(models)]
    kept = [
        ModelAnswer(
            name=f"{STORE_PREFIX}{each['name']}",
            kind="file",
            use="kept",
            languages=[],
            details={"created": moment(each["created"]).isoformat()},
            report=each["report"],
        )
        for each in parts.store.models()
    ]
    return [*in_use, *kept]


def _similarity(models: Models) -> list[ModelAnswer]:
    model = models.similarity
    if model is None:
        return []
    plain: dict[str, Any] = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if isinstance(value, bool | int | float | str)
    }
    return [
        ModelAnswer(
            name=models.name,
            kind=type(model).__name__,
            use="similarity",
            languages=list(model.languages),
            details=plain | {"words": {lang: len(p) for lang, p in model.projectors_.items()}},
            report=dict(models.report),
        )
    ]


def _aligners(models: Models) -> list[ModelAnswer]:
    return [
        ModelAnswer(
            name=f"{a}-{b}",
            kind=type(aligner).__name__,
            use="alignment",
            languages=[a, b],
            details={"schedule": aligner.schedule, "bits_per_word": list(aligner.bits_per_word_)},
        )
        for (a, b), aligner in models.aligners.items()
    ]


def _dictionaries(models: Models) -> list[ModelAnswer]:
    return [
        ModelAnswer(
            name=pair, kind="dictionary", use="dictionary", languages=pair.split("-"), details={"pairs": size}
        )
        for pair, size in models.lexicon.sizes.items()
    ]
