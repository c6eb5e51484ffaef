"""Pages about the service itself: models, status, the API, sign-in, static files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from isogloss.service._state import AppStateDep
from isogloss.service.api.routes import list_models
from isogloss.service.api.schemas import ModelResponse
from isogloss.service.auth import ANONYMOUS, AccessControl, verify_token
from isogloss.service.http import SECURITY_HEADERS
from isogloss.service.web._rendering import PageRoute, render, static_file
from isogloss.service.web._session import (
    CSRF_COOKIE,
    TOKEN_COOKIE,
    FormFields,
    PageReader,
    check_csrf,
    csrf_token,
    delete_cookie,
    get_cookie,
    set_cookie,
)
from isogloss.service.web.drawing import world_map_svg
from isogloss.service.web.presentation import report_sections

system_pages = APIRouter(route_class=PageRoute, include_in_schema=False)

API_PAGE_POLICY = SECURITY_HEADERS["content-security-policy"].replace(
    "img-src 'self'", "img-src 'self' data:"
)
"""Content security policy of the page of the API: the style sheet of Swagger UI contains its icons."""

CACHE_ONE_DAY = "public, max-age=86400"
MAX_QUARANTINED = 20
"""Number of quarantined records on the status page."""

NAMES = {
    "article": "articles",
    "revision": "revisions",
    "journal": "journal lines",
    "quarantine": "records in quarantine",
    "cluster": "clusters",
    "link": "links between clusters",
    "event": "events",
    "feed": "feeds",
    "model": "models in the store",
    "alive": "worker running",
    "position": "journal read up to line",
    "error": "last error",
    "pruned": "articles pruned since start",
    "keep_days": "days kept",
    "approved": "approved with isogloss prune --yes",
    "checked": "last run",
    "waiting": "waiting for another process",
}
"""Labels of tables and figures."""

MODEL_USES = {
    "similarity": "Similarity",
    "alignment": "Word alignment",
    "kept": "Saved in the store",
    "linker": "Links between clusters",
}
"""Headings of models by use."""


@system_pages.get("/models")
def models(request: Request, state: AppStateDep, principal: PageReader) -> Response:
    """Show the models with their evaluations."""
    listed = list_models(state, principal)
    dictionaries = [
        (*model.languages[:2], model.details["pairs"]) for model in listed if model.use == "dictionary"
    ]
    views = [_model_view(model) for model in listed if model.use != "dictionary"]
    return render(request, "models.html", models=views, dictionaries=dictionaries)


@system_pages.get("/status")
def status(request: Request, state: AppStateDep, principal: PageReader) -> Response:
    """Show table sizes, the backlog, the worker, retention, limits and the quarantine."""
    store, waiting = state.store, state.backlog.waiting()
    limits = state.settings.limits.model_dump()
    worker = state.worker.status() if state.worker else {}
    retention = state.retention.status()
    refusal = retention.pop("refusal")
    return render(
        request,
        "status.html",
        waiting=waiting,
        error=f"The worker failed: {worker['error']}" if worker.get("error") else "",
        refusal=f"Retention deletes nothing: {refusal}." if refusal else "",
        retention=_labelled(retention) if retention["keep_days"] else [("everything is kept", "")],
        summary=f"{waiting:,} articles are waiting for the worker." if waiting else "Events are up to date.",
        counts=_labelled(store.counts()),
        store=[(name, value) for name, value in store.database.describe().items() if name != "place"],
        running=[
            ("articles waiting", f"{waiting:,}"),
            ("articles in the neighbour index", f"{len(state.neighbours):,}"),
            ("clients of the change feed", f"{state.changes.listeners:,}"),
            *_labelled(worker),
        ],
        models=[(model.use, _short_name(model)) for model in list_models(state, principal)] or [("none", "")],
        limits=[(name.replace("_", " "), f"{value:,}".removesuffix(".0")) for name, value in limits.items()],
        quarantine=store.quarantined(MAX_QUARANTINED),
    )


@system_pages.get("/docs")
def api_page(request: Request) -> Response:
    """Show the routes of the API, and send requests to them, with Swagger UI."""
    page = render(request, "api.html", openapi_url=request.app.openapi_url)
    page.headers["content-security-policy"] = API_PAGE_POLICY
    return page


@system_pages.get("/sign-in")
def sign_in(request: Request) -> Response:
    """Show the sign-in form."""
    return _sign_in_page(request)


@system_pages.post("/sign-in")
def submit_sign_in(request: Request, fields: FormFields) -> Response:
    """Store a valid token in a cookie."""
    check_csrf(request, fields)
    access: AccessControl = request.app.state.access
    access.charge(request, ANONYMOUS, access.reads, 1.0)
    token = fields.get("token", "").strip()
    if verify_token(access.store, token) is None:
        return _sign_in_page(request, "The token is unknown, expired or revoked.", 401)
    response = RedirectResponse("/sign-in", 303)
    set_cookie(request, response, TOKEN_COOKIE, token)
    return response


@system_pages.post("/sign-out")
def sign_out(request: Request, fields: FormFields) -> Response:
    """Delete the token cookie."""
    check_csrf(request, fields)
    response = RedirectResponse("/sign-in", 303)
    delete_cookie(request, response, TOKEN_COOKIE)
    return response


@system_pages.get("/static/{name}")
def static(name: str) -> Response:
    """Return a static file; its URL changes with its content, so that browsers may cache it."""
    content, media_type, _ = static_file(name)
    return Response(content, media_type=media_type, headers={"cache-control": CACHE_ONE_DAY})


@system_pages.get("/map.svg")
def background() -> Response:
    """Return the world map, the background of maps."""
    return Response(world_map_svg(), media_type="image/svg+xml", headers={"cache-control": CACHE_ONE_DAY})


def _sign_in_page(request: Request, notice: str = "", status: int = 200) -> Response:
    csrf, token = csrf_token(request), get_cookie(request, TOKEN_COOKIE)
    principal = verify_token(request.app.state.access.store, token) if token else None
    page = render(request, "sign-in.html", status=status, notice=notice, csrf_token=csrf, principal=principal)
    set_cookie(request, page, CSRF_COOKIE, csrf)
    return page


def _short_name(model: ModelResponse) -> str:
    """Return the name of a model; that of a file without folder and suffix."""
    return PurePath(model.name).stem if model.name.endswith(".isogloss") else model.name


def _labelled(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return non-empty figures with their labels."""
    return [
        (NAMES.get(name, name), _format(value)) for name, value in figures.items() if value not in (None, "")
    ]


def _format(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _model_view(model: ModelResponse) -> dict[str, Any]:
    """Return a model with sections of its evaluation, training curves and settings."""
    use, name = MODEL_USES.get(model.use, model.use), _short_name(model)
    details = report_sections(model.details, "Settings")
    return model.model_dump() | {
        "heading": use if name == model.use else f"{use}: {name}",
        "sections": [*report_sections(model.report), *(each for each in details if each.plot)],
        "settings": [each for each in details if not each.plot],
        "evaluated": bool(model.report),
    }
