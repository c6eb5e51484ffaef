"""What all pages share: templates, the files beside them, names of languages, errors that people can read."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Callable, Coroutine
from datetime import datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from isogloss.service.auth import AuthenticatedRoute
from isogloss.service.schemas import PAGE, ServiceError
from isogloss.store import from_micros
from isogloss.text import Language, language

__all__ = [
    "PageRoute",
    "cut",
    "direction",
    "error_page",
    "language_name",
    "moment",
    "page_of",
    "render",
    "sentence",
    "span",
    "static_file",
    "web_address",
    "written",
]

_FOLDER = Path(__file__).parent.parent

PAGES = (
    ("/", "Now"),
    ("/search", "Search"),
    ("/compare", "Compare"),
    ("/topics", "Topics"),
    ("/dictionary", "Dictionary"),
    ("/models", "Models"),
    ("/status", "Status"),
)
"""What stands in the head of every page."""

HEADERS = {"cache-control": "no-store", "referrer-policy": "same-origin"}
"""Without a referrer browsers send forms with no origin, as if another site had; others still get none."""


HEADINGS = {
    401: "Sign in first",
    404: "Not here",
    429: "Not so fast",
    500: "Not as it should be",
    503: "Not now",
    507: "No room left",
}
"""What stands above the sentence of an error."""


class PageRoute(AuthenticatedRoute):
    """A route whose errors are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of requests that are marked as such for pages."""
        handler = super().get_route_handler()

        async def marked(request: Request) -> Response:
            request.scope[PAGE] = True
            try:
                return await handler(request)
            except RequestValidationError as error:
                raise ServiceError(422, "a value in the address of this page cannot be read") from error

        return marked


def render(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """A page from its template.

    Parameters
    ----------
    request : Request
        What was asked for.
    template : str
        Name of a file in ``templates``.
    status : int
        Of the answer.
    **context
        What the template needs.
    """
    return page_of(written(request.url.path, template, **context), status)


def written(path: str, template: str, **context: Any) -> str:
    """The text of a page, see :func:`render`."""
    return templates().get_template(template).render(path=path, pages=PAGES, **context)


def page_of(text: str, status: int = 200) -> HTMLResponse:
    """A page as an answer, which nobody keeps."""
    return HTMLResponse(text, status, HEADERS)


def error_page(
    request: Request, status: int, message: str, headers: dict[str, str] | None = None
) -> HTMLResponse:
    """A page that says what went wrong and where to go from there."""
    page = render(
        request,
        "error.html",
        status=status,
        code=status,
        heading=HEADINGS.get(status, "Not like that"),
        message=sentence(_sound(message)),
    )
    page.headers.update(headers or {})
    return page


def _sound(text: str) -> str:
    """A text without characters that no page may have."""
    return text.encode("utf-8", "replace").decode()


def sentence(message: str) -> str:
    """What an error says, as a sentence of a page.

    Examples
    --------
    >>> sentence("this needs a token")
    'This needs a token.'
    """
    return f"{message[:1].upper()}{message[1:]}{'' if message.endswith('.') else '.'}"


@cache
def templates() -> Environment:
    """The environment of the templates: everything is escaped, a name that is not there is an error."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        minute=lambda value: f"{moment(value).day} {moment(value):%b %Y, %H:%M}",
        span=span,
        cut=cut,
        iso=lambda value: moment(value).isoformat(),
        language=language_name,
        direction=direction,
        web_address=web_address,
    )
    environment.globals["static"] = lambda name: f"/static/{name}?v={static_file(name)[2]}"
    return environment


@cache
def static_file(name: str) -> tuple[bytes, str, str]:
    """A file of ``static``: its bytes, its type, and a digest that names this version of it.

    Raises
    ------
    ServiceError
        There is no such file; names are compared with those that are there, so that none leads elsewhere.
    """
    known = {path.name: path for path in (_FOLDER / "static").iterdir() if path.is_file()}
    if name not in known:
        raise ServiceError(404, "There is no such file.")
    content = known[name].read_bytes()
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return content, kind, hashlib.blake2b(content, digest_size=6).hexdigest()


def moment(value: int | datetime) -> datetime:
    """A time, also of microseconds since 1970."""
    return from_micros(value) if isinstance(value, int) else value


def span(first: int | datetime, last: int | datetime) -> str:
    """When something began and ended, in few words.

    Examples
    --------
    >>> days = [datetime(2025, 2, 27, 9), datetime(2025, 3, 1, 12), datetime(2025, 3, 5, 14, 30)]
    >>> span(days[0], days[1]), span(days[1], days[2]), span(days[2], days[2])
    ('27 Feb to 1 Mar 2025', '1 to 5 Mar 2025', '5 Mar 2025, 14:30')
    """
    one, other = moment(first), moment(last)
    if one.date() == other.date():
        return f"{other.day} {other:%b %Y, %H:%M}"
    if one.year != other.year:
        return f"{one.day} {one:%b %Y} to {other.day} {other:%b %Y}"
    if one.month != other.month:
        return f"{one.day} {one:%b} to {other.day} {other:%b %Y}"
    return f"{one.day} to {other.day} {other:%b %Y}"


def cut(text: str, longest: int) -> tuple[str, str]:
    """The beginning of a text, up to the end of a word, and the rest of it.

    Examples
    --------
    >>> cut("Roofs flew over the town", 15), cut("Roofs flew", 15)
    (('Roofs flew over', ' the town'), ('Roofs flew', ''))
    """
    if len(text) <= longest:
        return text, ""
    end = text.rfind(" ", longest // 2, longest + 1)
    end = longest if end < 0 else end
    return text[:end], text[end:]


def language_name(code: str) -> str:
    """What a language is called; the code itself where nobody knows.

    Examples
    --------
    >>> language_name("sl"), language_name("x-y")
    ('Slovenian', 'x-y')
    """
    found = _language(code)
    return found.name if found else code


def direction(code: str) -> str:
    """In which direction a language is written; ``auto`` leaves it to the text.

    Examples
    --------
    >>> direction("ar"), direction("de"), direction("x-y")
    ('rtl', 'ltr', 'auto')
    """
    found = _language(code)
    return found.direction if found else "auto"


def web_address(url: str) -> str:
    """A URL that a link may lead to: http and https, and nothing that a browser would run.

    Examples
    --------
    >>> web_address("https://gull.example/7"), web_address("javascript:alert(1)"), web_address("//x")
    ('https://gull.example/7', '', '')
    """
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    clean = parts.scheme in ("http", "https") and bool(parts.netloc)
    return url.strip() if clean else ""


@lru_cache(maxsize=1000)
def _language(code: str) -> Language | None:
    try:
        return language(code)
    except (ValueError, TypeError):
        return None
