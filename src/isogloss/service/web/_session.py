"""Browser sessions: the token in a cookie, CSRF protection of forms, the time of the last visit.

A browser cannot send a token in a header by itself, so pages keep it in a cookie that is HttpOnly and
SameSite=Strict. Forms are protected by a double-submit cookie: another site could make the browser send the
cookie, but cannot read it and so cannot fill in the form.

The cookie of visits has two journal lines with their times and nothing else: where the journal stood at the
last visit, and at the latest page of this one. A visit ends half an hour after its last page. Nothing is
stored on the server.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Self
from urllib.parse import parse_qsl

from fastapi import Depends, Request, Response

from isogloss.service.api.errors import ServiceError
from isogloss.service.auth import AUTHORIZATION, AccessControl, Principal, RequireScope

TOKEN_COOKIE = "isogloss_token"
CSRF_COOKIE = "isogloss_form"
"""Names of cookies; over HTTPS they begin with ``__Host-``, see :func:`get_cookie`."""

VISIT_COOKIE = "isogloss_visit"
VISIT_COOKIE_DAYS = 180
VISIT_GAP_S = 30 * 60
"""Seconds without a page after which a visit has ended."""

_VISITS = re.compile(r"([0-9]{1,18})\.([0-9]{1,12})\.([0-9]{1,18})\.([0-9]{1,12})", re.ASCII)

MAX_FORM_FIELDS = 20


@contextmanager
def _suggest_sign_in() -> Iterator[None]:
    """Add to 401 errors that one can sign in."""
    try:
        yield
    except ServiceError as error:
        if error.status == 401 and error.headers:
            raise ServiceError(401, f"{error.message}. Sign in with a token to continue.") from error
        raise


def may_read(request: Request) -> bool:
    """Return whether the token of a request still has the scope ``read``."""
    return may_read_api(_with_token(request))


def may_read_api(request: Request) -> bool:
    """Return whether a request may read the API, for which the cookie of pages does not count."""
    access: AccessControl = request.app.state.access
    try:
        return access.authenticate(request).has_scope("read")
    except ServiceError:
        return False


def _with_token(request: Request) -> Request:
    """Copy the token from the cookie to the Authorization header."""
    token = get_cookie(request, TOKEN_COOKIE)
    if not token or "authorization" in request.headers or not token.isascii():
        return request
    header = (b"authorization", f"Bearer {token}".encode())
    return Request({**request.scope, "headers": [*request.scope["headers"], header]})


def check_same_origin(request: Request) -> None:
    """Reject requests of other sites' pages; programs send no Sec-Fetch-Site."""
    if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise ServiceError(403, "Cross-site requests may not read changes.")


class _RequireScopeOfPages(RequireScope):
    """The same with the token in the header or in the cookie."""

    async def __call__(self, request: Request) -> Principal:
        with_token = _with_token(request)
        with _suggest_sign_in():
            principal = await super().__call__(with_token)
        request.scope[AUTHORIZATION] = with_token.scope[AUTHORIZATION]
        return principal


PageReader = Annotated[Principal, Depends(_RequireScopeOfPages("read"))]
PageWriter = Annotated[Principal, Depends(_RequireScopeOfPages("write"))]


async def read_form(request: Request) -> dict[str, str]:
    """Parse an URL-encoded form; the last value of a repeated field counts."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/x-www-form-urlencoded":
        raise ServiceError(415, "Expected a form of the type application/x-www-form-urlencoded.")
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS))
    except ValueError as error:
        raise ServiceError(400, "The form has too many fields.") from error


FormFields = Annotated[dict[str, str], Depends(read_form)]


def csrf_token(request: Request) -> str:
    """Return the CSRF token of the session, or a new one."""
    known = get_cookie(request, CSRF_COOKIE)
    return known if len(known) == 43 and known.isascii() else secrets.token_urlsafe(32)


def check_csrf(request: Request, fields: dict[str, str]) -> None:
    """Reject a form without the CSRF token of the session."""
    known, given = get_cookie(request, CSRF_COOKIE), fields.get("key", "")
    if not known or not hmac.compare_digest(known.encode(), given.encode("utf-8", "replace")):
        raise ServiceError(
            403, "This form has expired or is from another site. Reload the page and try again."
        )


def get_cookie(request: Request, name: str) -> str:
    """Return the value of a cookie of :func:`set_cookie`, or an empty string.

    Over HTTPS only the name with ``__Host-`` counts: browsers accept such a cookie only from this host, and
    only over HTTPS.
    """
    return request.cookies.get(_full_name(request, name), "")


def set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Set a cookie that scripts and other sites cannot read."""
    response.set_cookie(_full_name(request, name), value, **_attributes(request))


def set_lasting_cookie(request: Request, response: Response, name: str, value: str, *, days: int) -> None:
    """Set a cookie that outlasts the browser and is also sent when a link of another site is followed."""
    attributes = _attributes(request) | {"samesite": "lax", "max_age": days * 86_400}
    response.set_cookie(_full_name(request, name), value, **attributes)


def delete_cookie(request: Request, response: Response, name: str) -> None:
    """Delete a cookie."""
    response.delete_cookie(_full_name(request, name), **_attributes(request))


def _is_secure(request: Request) -> bool:
    """Return whether the browser uses HTTPS, according to this server or a trusted proxy."""
    return request.url.scheme == "https"


def _full_name(request: Request, name: str) -> str:
    return f"__Host-{name}" if _is_secure(request) else name


def _attributes(request: Request) -> dict[str, Any]:
    return {"httponly": True, "samesite": "strict", "secure": _is_secure(request), "path": "/"}


@dataclass(frozen=True)
class Visits:
    """The last visit of a reader and the present one, as the cookie of visits has them.

    Examples
    --------
    >>> first = Visits.parse("").at(line=7, now=1000)
    >>> str(first), first.is_first
    ('0.0.7.1000', True)
    >>> str(first.at(line=9, now=1600))
    '0.0.9.1600'
    >>> later = Visits.parse("0.0.9.1600").at(line=20, now=90_000)
    >>> str(later), later.is_first
    ('9.1600.20.90000', False)
    """

    last_line: int = 0
    last_time: int = 0
    """The journal line that the reader saw last before this visit, and when, in seconds since 1970. The
    time is 0 if there was no earlier visit.
    """
    line: int = 0
    time: int = 0
    """The same of the latest page."""

    @classmethod
    def parse(cls, cookie: str) -> Self:
        """Parse the value of the cookie; one that is invalid is as good as none."""
        found = _VISITS.fullmatch(cookie)
        return cls(*map(int, found.groups())) if found else cls()

    def __str__(self) -> str:
        return f"{self.last_line}.{self.last_time}.{self.line}.{self.time}"

    @property
    def is_first(self) -> bool:
        """Whether there was no earlier visit."""
        return self.last_time == 0

    def at(self, *, line: int, now: int) -> Visits:
        """Return the visits after a page that shows the journal up to a line.

        Lines beyond that are of another store, which this reader has not visited.
        """
        if max(self.last_line, self.line) > line or self.time > now:
            return Visits(line=line, time=now)
        if now - self.time > VISIT_GAP_S:
            return Visits(self.line, self.time, line, now)
        return Visits(self.last_line, self.last_time, line, now)
