"""Exports: events and their articles as files."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import StreamingResponse

from isogloss.service._state import AppState, AppStateDep
from isogloss.service.api.errors import API_PREFIX, ServiceError
from isogloss.service.api.routes._events import resolve_search
from isogloss.service.api.schemas import ArticleExportParameters, EventExportParameters
from isogloss.service.auth import AuthenticatedRoute, Reader
from isogloss.service.exports import MEDIA_TYPES, ExportResponse, export
from isogloss.service.search import clean_query

exports_router = APIRouter(prefix=API_PREFIX, route_class=AuthenticatedRoute, tags=["exports"])

_FILE = {
    media_type.partition(";")[0]: {"schema": {"type": "string", **({"format": "binary"} if binary else {})}}
    for media_type, binary in ((each, each.endswith("parquet")) for each in MEDIA_TYPES.values())
}
_ROUTE: dict[str, Any] = {
    "response_class": StreamingResponse,
    "responses": {200: {"description": "A file in the wanted format.", "content": _FILE}},
}


@exports_router.get("/export/events", summary="Export events", **_ROUTE)
def export_events(
    state: AppStateDep, _: Reader, parameters: Annotated[EventExportParameters, Query()]
) -> ExportResponse:
    """Export all events that match, as a table with one row per event.

    The filters are those of `GET /events`, without pages. All rows are from one moment. Text that a
    spreadsheet could evaluate begins with an apostrophe in CSV.
    """
    return export_response(state, "events", parameters)


@exports_router.get("/export/articles", summary="Export articles of events", **_ROUTE)
def export_articles(
    state: AppStateDep, _: Reader, parameters: Annotated[ArticleExportParameters, Query()]
) -> ExportResponse:
    """Export all articles of the events that match, including reprints, as a table with one row per article.

    The filters are those of `GET /events`, without pages. All rows are from one moment. Text that a
    spreadsheet could evaluate begins with an apostrophe in CSV.
    """
    return export_response(state, "articles", parameters, bodies=parameters.bodies)


def export_response(
    state: AppState, table: str, parameters: EventExportParameters, *, bodies: bool = False
) -> ExportResponse:
    """Return the response with a table of the events that match and, if ids are given, have them."""
    query, ranked, _ = resolve_search(state, parameters)
    if parameters.event:
        ids = _current_ids(state, parameters.event)
        query = replace(query, ids=ids if query.ids is None else [id for id in query.ids if id in ids])
    rank = (query.ids or ()) if ranked else ()
    try:
        chunks = export(state.store, table, parameters.format, query, rank=rank, bodies=bodies)
    except ModuleNotFoundError as error:
        raise ServiceError(422, f"format is {parameters.format!r}, but {error}") from error
    seconds = state.settings.limits.export_seconds
    return ExportResponse(state.exports, chunks, name=table, format=parameters.format, seconds=seconds)


def _current_ids(state: AppState, given: list[str]) -> list[str]:
    """Return the current ids of events; an unknown id is an error."""
    found = {id: state.store.current_event_id(clean_query(id)) for id in given}
    for id, current in found.items():
        if current is None:
            raise ServiceError(404, f"there is no event {id!r}; see GET /events")
    return list(dict.fromkeys(id for id in found.values() if id is not None))
