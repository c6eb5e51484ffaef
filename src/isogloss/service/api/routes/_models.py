"""Models in use, and their evaluations."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from isogloss.events.link import Linker
from isogloss.exceptions import ModelFileError
from isogloss.service._state import AppState, AppStateDep
from isogloss.service.api.errors import API_PREFIX
from isogloss.service.api.schemas import ModelResponse
from isogloss.service.auth import AuthenticatedRoute, Reader
from isogloss.service.models import STORE_PREFIX, Models, linker_in_use
from isogloss.store import from_micros

models_router = APIRouter(prefix=API_PREFIX, route_class=AuthenticatedRoute, tags=["models"])


@models_router.get("/models", response_model=list[ModelResponse], summary="List models")
def list_models(state: AppStateDep, _: Reader) -> list[ModelResponse]:
    """List the models in use with their settings and evaluations, and those saved in the store."""
    models = state.models
    in_use = [*_similarity(models), *_aligners(models), *_dictionaries(models)]
    stored = [
        ModelResponse(
            name=f"{STORE_PREFIX}{each['name']}",
            kind="file",
            use="kept",
            languages=[],
            details={"created": from_micros(each["created"]).isoformat()},
            report=each["report"],
        )
        for each in state.store.models()
    ]
    return [*in_use, _linker(state), *stored]


def _linker(state: AppState) -> ModelResponse:
    """Return the linker that events are made with, what it was trained on, and what that changed."""
    try:
        name, linker = linker_in_use(state.store, state.settings.models)
    except (OSError, ModelFileError) as error:
        return ModelResponse(
            name=state.settings.models.linker,
            kind=Linker.__name__,
            use="linker",
            languages=[],
            details={"problem": f"cannot be read: {error}"},
            report={},
        )
    training = dict(getattr(linker, "training_", {}))
    trained = bool(training.pop("weights_before", None))
    weights: dict[str, Any] = linker.weight_changes()
    if not trained:
        weights = {
            name: {"with an encoder": row["encoder: after"], "without": row["after"]}
            for name, row in weights.items()
        }
    return ModelResponse(
        name=name,
        kind=type(linker).__name__,
        use="linker",
        languages=[],
        details={} if trained else {"weights": weights},
        report=training | {"weights": weights} if trained else {},
    )


def _similarity(models: Models) -> list[ModelResponse]:
    model = models.similarity
    if model is None:
        return []
    plain: dict[str, Any] = {
        name: value
        for name, value in model.words.get_params(deep=False).items()
        if isinstance(value, bool | int | float | str)
    }
    return [
        ModelResponse(
            name=models.name,
            kind=type(model).__name__,
            use="similarity",
            languages=list(model.languages),
            details=plain | {"words": {lang: len(p) for lang, p in model.words.projectors_.items()}},
            report=dict(models.report),
        )
    ]


def _aligners(models: Models) -> list[ModelResponse]:
    return [
        ModelResponse(
            name=f"{a}-{b}",
            kind=type(aligner).__name__,
            use="alignment",
            languages=[a, b],
            details={"schedule": aligner.schedule, "bits_per_word": list(aligner.bits_per_word_)},
        )
        for (a, b), aligner in models.aligners.items()
    ]


def _dictionaries(models: Models) -> list[ModelResponse]:
    return [
        ModelResponse(
            name=pair, kind="dictionary", use="dictionary", languages=pair.split("-"), details={"pairs": size}
        )
        for pair, size in models.lexicon.sizes.items()
    ]
