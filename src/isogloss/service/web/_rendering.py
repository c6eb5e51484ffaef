"""Rendering of pages: templates and their filters, static files, error pages."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from isogloss.service._event_feeds import safe_url
from isogloss.service.api.errors import API_PREFIX, ErrorResponse, ServiceError
from isogloss.service.auth import AuthenticatedRoute
from isogloss.service.web._navigation import Navigation, shown_navigation
from isogloss.store import from_micros
from isogloss.text import Language, language

_FOLDER = Path(__file__).parent

HEADERS = {"cache-control": "no-store", "referrer-policy": "same-origin"}
"""Headers of pages. With ``no-referrer``, browsers would send forms with the origin ``null``."""

SWAGGER_FILES = frozenset({"swagger-ui.css", "swagger-ui-bundle.js"})
"""Static files that come from the package fastapi-offline, which carries Swagger UI."""

HEADINGS = {
    401: "Sign in required",
    403: "Not allowed",
    404: "Not found",
    429: "Too many requests",
    500: "Internal error",
    503: "Temporarily unavailable",
    507: "Disk full",
}
"""Headings of error pages by status."""

IS_PAGE = "isogloss.is_page"
"""Key of the ASGI scope that marks requests of pages."""


class PageRoute(AuthenticatedRoute):
    """Route whose errors are pages, unless the client prefers JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that marks requests with :data:`IS_PAGE`."""
        handler = super().get_route_handler()

        async def handle_page(request: Request) -> Response:
            request.scope[IS_PAGE] = True
            try:
                return await handler(request)
            except RequestValidationError as error:
                raise ServiceError(422, "the address of this page has an invalid value") from error

        return handle_page


def render(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """Render a template as a response."""
    navigation = shown_navigation(request.app)
    return html_response(render_html(request.url.path, navigation, template, **context), status)


def render_html(path: str, navigation: Navigation, template: str, **context: Any) -> str:
    """Render a template for the page at a path."""
    return templates().get_template(template).render(path=path, navigation=navigation, **context)


def html_response(html: str, status: int = 200) -> HTMLResponse:
    """Return a response that is not cached."""
    return HTMLResponse(html, status, HEADERS)


def render_error(request: Request, error: ErrorResponse) -> Response | None:
    """Render an error as a page if it is not one of the API and the client prefers HTML."""
    if request.url.path.startswith(f"{API_PREFIX.rpartition('/')[0]}/"):
        return None
    error.headers["vary"] = "Accept"
    if not _prefers_html(request.headers.get("accept", ""), request.scope.get(IS_PAGE, False)):
        return None
    page = render(
        request,
        "error.html",
        status=error.status_code,
        code=error.status_code,
        heading=HEADINGS.get(error.status_code, "Bad request"),
        message=as_sentence(error.message.encode("utf-8", "replace").decode()),
    )
    page.headers.update(error.extra_headers | {"vary": "Accept"})
    return page


def _prefers_html(accept: str, default: bool) -> bool:
    """Return whether an Accept header prefers HTML to JSON; ``default`` if it names neither.

    Examples
    --------
    >>> _prefers_html("text/html,application/xml;q=0.9,*/*;q=0.8", False)
    True
    >>> _prefers_html("application/json", True), _prefers_html("*/*", True), _prefers_html("*/*", False)
    (False, True, False)
    """
    html, data = (_quality(accept, media) for media in ("text/html", "application/json"))
    return html >= data if html or data else default


def _quality(accept: str, media: str) -> float:
    """Return the quality value of a media type in an Accept header; 0 if it is missing."""
    for each in accept.lower().split(","):
        name, *parameters = (part.strip() for part in each.split(";"))
        if name == media:
            qualities = [part[2:] for part in parameters if part.startswith("q=")]
            try:
                return float(qualities[0]) if qualities else 1.0
            except ValueError:
                return 0.0
    return 0.0


def as_sentence(message: str) -> str:
    """Capitalise an error message and end it with a full stop.

    Examples
    --------
    >>> as_sentence("this needs a token")
    'This needs a token.'
    """
    return f"{message[:1].upper()}{message[1:]}{'' if message.endswith('.') else '.'}"


@cache
def templates() -> Environment:
    """Return the Jinja environment: everything is escaped, undefined variables are errors."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        minute=day_and_time,
        date_range=date_range,
        split_text=split_text,
        iso=lambda value: _as_datetime(value).isoformat(),
        language=language_name,
        page_of=page_of,
        direction=direction,
        safe_url=safe_url,
    )
    environment.globals["static"] = lambda name: f"/static/{name}?v={static_file(name)[2]}"
    return environment


@cache
def static_file(name: str) -> tuple[bytes, str, str]:
    """Return a file of ``static`` or Swagger UI: its content, its media type, and a digest for cache busting.

    Raises ServiceError if there is no such file. Names are looked up in a listing, so that none can leave the
    folder.
    """
    known: dict[str, Traversable] = {
        path.name: path for path in (_FOLDER / "static").iterdir() if path.is_file()
    }
    if name in SWAGGER_FILES:
        known[name] = files("fastapi_offline") / "static" / name
    if name not in known:
        raise ServiceError(404, "There is no such file.")
    content = known[name].read_bytes()
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return content, kind, hashlib.blake2b(content, digest_size=6).hexdigest()


def _as_datetime(value: int | datetime) -> datetime:
    return from_micros(value) if isinstance(value, int) else value


def day_and_time(value: int | datetime) -> str:
    """Format a time; one at midnight to the microsecond is that of a source that knows only the day.

    Examples
    --------
    >>> day_and_time(datetime(2025, 3, 5, 14, 30)), day_and_time(datetime(2025, 3, 5))
    ('5 Mar 2025, 14:30', '5 Mar 2025')
    """
    time = _as_datetime(value)
    day = f"{time.day} {time:%b %Y}"
    return f"{day}, {time:%H:%M}" if time.hour or time.minute or time.second or time.microsecond else day


def date_range(first: int | datetime, last: int | datetime) -> str:
    """Format two times as a short range.

    Examples
    --------
    >>> days = [datetime(2025, 2, 27, 9), datetime(2025, 3, 1, 12), datetime(2025, 3, 5, 14, 30)]
    >>> date_range(*days[:2]), date_range(*days[1:]), date_range(days[2], days[2])
    ('27 Feb to 1 Mar 2025', '1 to 5 Mar 2025', '5 Mar 2025, 14:30')
    """
    start, end = _as_datetime(first), _as_datetime(last)
    if start.date() == end.date():
        return day_and_time(end)
    month = "" if (start.year, start.month) == (end.year, end.month) else f" {start:%b}"
    year = "" if start.year == end.year else f" {start.year}"
    return f"{start.day}{month}{year} to {end.day} {end:%b %Y}"


def split_text(text: str, max_chars: int) -> tuple[str, str]:
    """Split a text after a word into its beginning and the rest.

    Examples
    --------
    >>> split_text("Roofs flew over the town", 15), split_text("Roofs flew", 15)
    (('Roofs flew over', ' the town'), ('Roofs flew', ''))
    """
    if len(text) <= max_chars:
        return text, ""
    end = text.rfind(" ", max_chars // 2, max_chars + 1)
    end = max_chars if end < 0 else end
    return text[:end], text[end:]


def language_name(code: str) -> str:
    """Return the English name of a language, or its code if it is unknown.

    Examples
    --------
    >>> language_name("sl"), language_name("x-y")
    ('Slovenian', 'x-y')
    """
    found = _language(code)
    return found.name if found else code


def direction(code: str) -> str:
    """Return the writing direction of a language; ``auto`` if it is unknown.

    Examples
    --------
    >>> direction("ar"), direction("de"), direction("x-y")
    ('rtl', 'ltr', 'auto')
    """
    found = _language(code)
    return found.direction if found else "auto"


def page_of(kind: str, id: object) -> str:
    """Return the address of the page of a place, a concept or a source.

    Examples
    --------
    >>> page_of("source", "Die Möwe/Nord")
    '/source/Die%20M%C3%B6we%2FNord'
    """
    return f"/{kind}/{quote(str(id), safe='')}"


@lru_cache(maxsize=1000)
def _language(code: str) -> Language | None:
    try:
        return language(code)
    except (ValueError, TypeError):
        return None
