"""The pages about the service itself: its models, how it is, and who is signed in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from isogloss.service._state import AppStateDep
from isogloss.service.api import list_models
from isogloss.service.auth import NOBODY, Access, who_has
from isogloss.service.schemas import ModelAnswer
from isogloss.service.web._frame import PageRoute, render, static_file
from isogloss.service.web._reports import parts_of
from isogloss.service.web._session import (
    KEY,
    TOKEN,
    FormFields,
    Visitor,
    check_form,
    cookie,
    delete_cookie,
    form_key,
    set_cookie,
)
from isogloss.service.web.drawing import world_svg

__all__ = ["overview_router"]

overview_router = APIRouter(route_class=PageRoute, include_in_schema=False)

_DAY = "public, max-age=86400"
_REFUSED = 20

NAMES = {
    "article": "articles",
    "revision": "earlier texts of articles",
    "journal": "lines of the journal",
    "quarantine": "records in quarantine",
    "cluster": "clusters",
    "link": "links between clusters",
    "event": "events",
    "feed": "feeds",
    "model": "models kept in the store",
    "alive": "makes events",
    "position": "has read the journal to line",
    "error": "last error",
    "pruned": "articles pruned since the start",
    "keep_days": "days kept",
    "approved": "approved by isogloss prune --yes",
    "checked": "last run",
    "waiting": "waits for another process",
}
"""What tables and figures are called on pages."""

HEADS = {"similarity": "Similarity", "alignment": "Word alignment", "kept": "Kept"}
"""What stands above a model, by its use."""

ENDING = ".isogloss"


@overview_router.get("/models")
def models(request: Request, parts: AppStateDep, holder: Visitor) -> Response:
    """The models with their evaluations."""
    told = list_models(parts, holder)
    dictionaries = [
        (*model.languages[:2], model.details["pairs"]) for model in told if model.use == "dictionary"
    ]
    described = [_described(model) for model in told if model.use != "dictionary"]
    return render(request, "models.html", models=described, dictionaries=dictionaries)


@overview_router.get("/status")
def status(request: Request, parts: AppStateDep, holder: Visitor) -> Response:
    """How much there is, how far events are behind, what was refused."""
    store, waiting = parts.store, parts.backlog.waiting()
    limits = parts.settings.limits.model_dump()
    worker = parts.worker.status() if parts.worker else {}
    retention = parts.retention.status()
    refusal = retention.pop("refusal")
    return render(
        request,
        "status.html",
        waiting=waiting,
        trouble=f"The last attempt to make events failed: {worker['error']}" if worker.get("error") else "",
        refusal=f"Retention deletes nothing: {refusal}." if refusal else "",
        retention=_told(retention) if retention["keep_days"] else [("everything is kept", "")],
        said=f"{waiting:,} articles wait to be made into events." if waiting else "Events are up to date.",
        counts=_told(store.counts()),
        store=[(name, value) for name, value in store.database.describe().items() if name != "place"],
        running=[
            ("articles waiting", f"{waiting:,}"),
            ("articles found by meaning", f"{len(parts.neighbours):,}"),
            ("followers of changes", f"{parts.changes.listeners:,}"),
            *_told(worker),
        ],
        models=[(model.use, _called(model.name)) for model in list_models(parts, holder)] or [("none", "")],
        limits=[(name.replace("_", " "), f"{value:,}".removesuffix(".0")) for name, value in limits.items()],
        quarantine=store.quarantined(_REFUSED),
    )


@overview_router.get("/sign-in")
def sign_in(request: Request) -> Response:
    """The form that takes a token."""
    return _sign_in(request)


@overview_router.post("/sign-in")
def signed_in(request: Request, fields: FormFields) -> Response:
    """Keep a token that holds."""
    check_form(request, fields)
    access: Access = request.app.state.access
    access.pay(request, NOBODY, access.reads, 1.0)
    token = fields.get("token", "").strip()
    if who_has(access.store, token) is None:
        return _sign_in(request, "The token is unknown, expired or revoked.", 401)
    answer = RedirectResponse("/sign-in", 303)
    set_cookie(request, answer, TOKEN, token)
    return answer


@overview_router.post("/sign-out")
def sign_out(request: Request, fields: FormFields) -> Response:
    """Forget the token."""
    check_form(request, fields)
    answer = RedirectResponse("/sign-in", 303)
    delete_cookie(request, answer, TOKEN)
    return answer


@overview_router.get("/static/{name}")
def static(name: str) -> Response:
    """A file that pages need; its address changes with it, so that browsers may keep it."""
    content, kind, _ = static_file(name)
    return Response(content, media_type=kind, headers={"cache-control": _DAY})


@overview_router.get("/map.svg")
def background() -> Response:
    """The world, as the background of maps."""
    return Response(world_svg(), media_type="image/svg+xml", headers={"cache-control": _DAY})


def _sign_in(request: Request, notice: str = "", code: int = 200) -> Response:
    key, token = form_key(request), cookie(request, TOKEN)
    holder = who_has(request.app.state.access.store, token) if token else None
    page = render(request, "sign-in.html", status=code, notice=notice, key=key, holder=holder)
    set_cookie(request, page, KEY, key)
    return page


def _called(name: str) -> str:
    """What a model is called: that of a file is told without its folders and ending."""
    return PurePath(name).stem if name.endswith(ENDING) else name


def _headed(model: ModelAnswer) -> str:
    use, name = HEADS.get(model.use, model.use), _called(model.name)
    return use if name == model.use else f"{use}: {name}"


def _told(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Figures under their names on pages; what is empty is left out."""
    return [
        (NAMES.get(name, name), _written(value)) for name, value in figures.items() if value not in (None, "")
    ]


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _described(model: ModelAnswer) -> dict[str, Any]:
    """A model with its evaluation, curves of its learning and settings, in parts that can be drawn."""
    details = parts_of(model.details, "Settings")
    return model.model_dump() | {
        "called": _headed(model),
        "parts": [*parts_of(model.report), *(part for part in details if part.picture)],
        "settings": [part for part in details if not part.picture],
        "rated": bool(model.report),
    }
