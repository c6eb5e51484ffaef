"""Pages of search: the form with its filters, results with what they match, and saved searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup
from pydantic import ValidationError
from starlette.datastructures import QueryParams

from isogloss.service._state import AppState, AppStateDep
from isogloss.service.api.errors import ServiceError
from isogloss.service.api.routes import (
    find_search,
    resolve_search,
    save_search,
    search_error,
    visible_searches,
)
from isogloss.service.api.schemas import SearchParameters
from isogloss.service.search import (
    FoundEvent,
    SearchResult,
    clean_query,
    highlight,
    parse_saved,
    snippet,
)
from isogloss.service.web._downloads import Downloads, search_downloads
from isogloss.service.web._rendering import PageRoute, as_sentence, language_name, render
from isogloss.service.web._session import (
    CSRF_COOKIE,
    FormFields,
    PageReader,
    PageWriter,
    check_csrf,
    csrf_token,
    set_cookie,
)
from isogloss.service.web.pages._alerts import alert_form, shown_alerts
from isogloss.service.web.presentation import END_OF_DAY, Card, Filters, preferred_languages
from isogloss.store import EventQuery, Store

search_pages = APIRouter(route_class=PageRoute, include_in_schema=False)

MAX_QUERY_CHARS = 2000
MAX_RESULTS = 48
EXAMPLE_QUERIES = 6
SORTS = {"relevance": "best match", "last": "newest article", "size": "most articles"}
REASONS = {
    "text": "the words occur",
    "name": "a name sounds alike",
    "place": "it happens there",
    "concept": "words with this meaning occur",
    "meaning": "it is about something similar",
}
"""Explanations of the reasons of matches."""

_REPEATABLE = ("lang", "without", "place", "concept", "source")
_LABELS = {
    "q": "text",
    "lang": "language",
    "without": "not yet in",
    "place": "place",
    "concept": "concept",
    "source": "source",
    "since": "from",
    "until": "to",
    "min_languages": "minimum languages",
    "min_size": "minimum articles",
    "sort": "sorted by",
}


@dataclass(frozen=True)
class ResultView:
    """A result on the page: the card of an event, and what of it matches."""

    card: Card
    title: Markup
    text: Markup
    text_lang: str
    reasons: Sequence[str]


@search_pages.get("/search")
def search_page(request: Request, state: AppStateDep, principal: PageReader) -> Response:
    """Find events by free text and filters."""
    fields = _read_fields(request.query_params)
    weak = request.query_params.get("weak") == "1"
    notice, more, weaker, status = "", False, 0, 200
    results: list[ResultView] = []
    downloads: Downloads | None = None
    asked = any(value for name, value in fields.items() if name != "sort")
    if asked:
        try:
            parameters = _parameters(fields)
            query, ranked, result = resolve_search(state, parameters, weak=weak)
            results, more = _results(request, state, query, ranked, result)
            downloads = search_downloads(request, _api_parameters(parameters))
            weaker = 0 if weak else len(result.weak)
        except ServiceError as error:
            notice, status = as_sentence(error.message), error.status
    csrf = csrf_token(request)
    page = render(
        request,
        "search.html",
        status=status,
        fields=fields,
        asked=asked,
        notice=notice,
        results=results,
        more=more,
        downloads=downloads,
        weaker=weaker,
        weaker_url=search_url(fields | {"weak": "1"}),
        hidden=[pair for pair in _pairs(fields) if pair[1]],
        filters=Filters(),
        filtered=any(fields[name] for name in (*_REPEATABLE, "since", "until")),
        languages=sorted({*state.store.languages(), *fields["lang"]}, key=language_name),
        sources=state.store.sources(),
        sorts=SORTS,
        reasons=REASONS,
        examples=[] if asked else _example_queries(state.store),
        may_save=principal.has_scope("write") and asked and not notice,
        csrf_token=csrf,
    )
    set_cookie(request, page, CSRF_COOKIE, csrf)
    return page


@search_pages.get("/saved")
def saved_page(request: Request, state: AppStateDep, principal: PageReader) -> Response:
    """List saved searches and alerts."""
    csrf = csrf_token(request)
    saved = visible_searches(state, principal)
    searches = [
        {
            "id": each.id,
            "name": each.name,
            "shared": not each.owner,
            "url": search_url(_fields_of(each.query)),
            "summary": _summary(each.query),
            "error": (error := search_error(each)),
            "downloads": None
            if error
            else search_downloads(request, _api_parameters(parse_saved(each.query))),
        }
        for each in saved
    ]
    links = {each.id: (each.name, search_url(_fields_of(each.query))) for each in saved}
    page = render(
        request,
        "saved.html",
        searches=searches,
        may_write=principal.has_scope("write"),
        alerting=alert_form(state, principal),
        alerts=shown_alerts(state, principal, links),
        signed_in=bool(principal.id),
        csrf_token=csrf,
    )
    set_cookie(request, page, CSRF_COOKIE, csrf)
    return page


@search_pages.post("/saved")
def submit_search(
    request: Request, state: AppStateDep, principal: PageWriter, fields: FormFields
) -> Response:
    """Save a search; its parameters come as a query string."""
    check_csrf(request, fields)
    name = " ".join(clean_query(fields.get("name", "")).split())[:200]
    if not name:
        raise ServiceError(422, "The search has no name. Go back and enter one.")
    save_search(state, principal, name, _parameters(_read_fields(QueryParams(fields.get("query", "")))))
    return RedirectResponse("/saved", 303)


@search_pages.post("/saved/{id}/delete")
def delete_saved(
    request: Request, state: AppStateDep, principal: PageWriter, id: int, fields: FormFields
) -> Response:
    """Delete a saved search."""
    check_csrf(request, fields)
    if not 0 <= id < 1 << 63:
        raise ServiceError(404, f"There is no saved search {id}.")
    find_search(state, principal, id, change=True)
    state.store.delete_search(id)
    return RedirectResponse("/saved", 303)


def search_url(fields: Mapping[str, Any]) -> str:
    """Return the URL of the page with a search.

    Examples
    --------
    >>> search_url({"q": "storm", "lang": ["de", "fr"], "since": "", "sort": "last"})
    '/search?q=storm&lang=de&lang=fr&sort=last'
    """
    return f"/search?{urlencode([pair for pair in _pairs(fields) if pair[1]], quote_via=quote)}"


def _pairs(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        (name, str(each))
        for name, value in fields.items()
        for each in (value if isinstance(value, list | tuple) else [value])
    ]


def _read_fields(params: QueryParams) -> dict[str, Any]:
    """Return the fields of the form; those that are missing or empty are empty."""
    fields: dict[str, Any] = {"q": clean_query(params.get("q", "")).strip()[:MAX_QUERY_CHARS]}
    for name in _REPEATABLE:
        fields[name] = list(
            dict.fromkeys(clean_query(each).strip() for each in params.getlist(name) if each.strip())
        )
    for name in ("since", "until", "min_languages", "min_size", "sort"):
        fields[name] = clean_query(params.get(name, "")).strip()
    return fields


def _parameters(fields: Mapping[str, Any]) -> SearchParameters:
    """Return the parameters of a search for the fields of the form.

    Raises ServiceError if a field is invalid.
    """
    given = {name: value for name, value in fields.items() if value}
    if len(str(given.get("until", ""))) == len("2025-03-05"):
        given["until"] += END_OF_DAY
    try:
        return SearchParameters.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        label = _LABELS.get(str(first["loc"][0]), str(first["loc"][0]))
        message = first["msg"].removeprefix("Value error, ")
        raise ServiceError(422, f"{label}: {message}") from error


def _fields_of(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the form for the parameters of a saved search."""
    return {
        name: value[:10]
        if name in ("since", "until") and isinstance(value := query[name], str)
        else query[name]
        for name in _LABELS
        if name in query
    }


def _summary(query: Mapping[str, Any]) -> str:
    """Describe the parameters of a saved search."""
    parts = []
    for name, value in _fields_of(query).items():
        listed = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        parts.append(listed if name == "q" else f"{_LABELS[name]}: {listed}")
    return " · ".join(parts)


def _api_parameters(parameters: SearchParameters) -> list[tuple[str, str]]:
    """Return the parameters of a search as the API takes them, without the order."""
    given = parameters.model_dump(mode="json", exclude_defaults=True, exclude={"sort"})
    return [pair for pair in _pairs(given) if pair[1]]


def _results(
    request: Request, state: AppState, query: EventQuery, ranked: bool, result: SearchResult
) -> tuple[list[ResultView], bool]:
    """Return the first results with matches highlighted, and whether there are more."""
    found = {each.id: each for each in (*result.relevant, *result.weak)}
    page = state.store.events(query)
    events = page.events
    if ranked:
        rank = {name: at for at, name in enumerate(query.ids or ())}
        events.sort(key=lambda event: rank[event["id"]])
    more = len(events) > MAX_RESULTS or bool(page.cursor)
    events = events[:MAX_RESULTS]
    preferred = preferred_languages(request.headers.get("accept-language", ""))
    wanted = [each.article for event in events if (each := found.get(event["id"])) and each.article]
    articles = state.store.articles(wanted)
    views = []
    for event in events:
        card, match = Card.from_event(event, preferred), found.get(event["id"], FoundEvent(event["id"], 0.0))
        article = articles.get(match.article)
        text, lang = (article.body, article.lang) if article else (card.summary, card.lang)
        views.append(
            ResultView(
                card,
                _marked(highlight(card.title, card.lang, result.words)),
                _marked(snippet(text, lang, result.words)),
                lang,
                match.reasons,
            )
        )
    return views, more


def _marked(parts: Sequence[tuple[str, bool]]) -> Markup:
    """Return escaped HTML with matches in ``mark`` elements."""
    return Markup("").join(Markup("<mark>{}</mark>").format(text) if hit else text for text, hit in parts)


def _example_queries(store: Store) -> list[tuple[str, str]]:
    """Return titles of large events with their languages, all different."""
    examples: dict[str, str] = {}
    for event in store.events(EventQuery(sort="languages", limit=EXAMPLE_QUERIES)).events:
        titles = event.get("title") or {}
        lang = next((code for code in titles if code not in examples and titles[code]), None)
        if lang is not None:
            examples[lang] = titles[lang]
    return [(title, code) for code, title in examples.items()]
