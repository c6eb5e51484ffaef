"""The pages about the service itself: its models, how it is, and who is signed in."""

from __future__ import annotations

import dataclasses
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from isogloss.service.drawing import world_svg
from isogloss.service.pages.frame import PageRoute, render, static_file
from isogloss.service.pages.reports import parts_of
from isogloss.service.pages.visitor import KEY, TOKEN, FormFields, Visitor, check_form, form_key, set_cookie
from isogloss.service.parts import Here, Parts
from isogloss.service.routes.models import list_models
from isogloss.service.tokens import Holder, who_has

__all__ = ["overview_router"]

overview_router = APIRouter(route_class=PageRoute, include_in_schema=False)

_DAY = "public, max-age=86400"
_REFUSED = 20


@overview_router.get("/models")
def models(request: Request, parts: Here, holder: Visitor) -> Response:
    """The models with their evaluations."""
    return render(request, "models.html", models=_described(parts, holder))


@overview_router.get("/status")
def status(request: Request, parts: Here, holder: Visitor) -> Response:
    """How much there is, how far events are behind, what was refused."""
    store, waiting = parts.store, parts.backlog.waiting()
    limits = dataclasses.asdict(parts.settings.limits)
    return render(
        request,
        "status.html",
        said=f"{waiting:,} articles wait to be made into events." if waiting else "Events are up to date.",
        counts=[(name, f"{count:,}") for name, count in store.counts().items()],
        store=[(name, value) for name, value in store.database.describe().items() if name != "place"],
        running=[
            ("articles waiting", f"{waiting:,}"),
            ("articles found by meaning", f"{len(parts.neighbours):,}"),
            ("followers of changes", f"{parts.changes.listeners:,}"),
            *(parts.worker.status().items() if parts.worker else ()),
        ],
        models=[(model.use, model.name) for model in list_models(parts, holder)] or [("none", "")],
        limits=[(name, f"{value:,}") for name, value in limits.items()],
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
    token = fields.get("token", "").strip()
    if who_has(request.app.state.access.store, token) is None:
        return _sign_in(request, "The token is unknown, expired or revoked.", 401)
    answer = RedirectResponse("/sign-in", 303)
    set_cookie(request, answer, TOKEN, token)
    return answer


@overview_router.post("/sign-out")
def sign_out(request: Request, fields: FormFields) -> Response:
    """Forget the token."""
    check_form(request, fields)
    answer = RedirectResponse("/sign-in", 303)
    answer.delete_cookie(TOKEN, path="/")
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
    key, token = form_key(request), request.cookies.get(TOKEN, "")
    holder = who_has(request.app.state.access.store, token) if token else None
    page = render(request, "sign-in.html", status=code, notice=notice, key=key, holder=holder)
    set_cookie(request, page, KEY, key)
    return page


def _described(parts: Parts, holder: Holder) -> list[dict[str, Any]]:
    """The models with their evaluations and settings, in parts that can be drawn."""
    return [
        model.model_dump()
        | {
            "parts": [*parts_of(model.report), *parts_of(model.details, "Settings")],
            "rated": bool(model.report),
        }
        for model in list_models(parts, holder)
    ]
