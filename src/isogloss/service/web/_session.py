"""People at a browser: the token they signed in with, and proof that a form came from a page of ours.

A browser cannot send a token in a header by itself, so that the pages keep it in a cookie that no script can
read and no other site can have sent. Forms that write hold a random value that a cookie holds too; another
site can send the cookie along but not see it, and so cannot fill in the form.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Depends, Request, Response

from isogloss.service.auth import PRINCIPAL, Access, Holder, RequireScope
from isogloss.service.schemas import ServiceError

__all__ = [
    "KEY",
    "TOKEN",
    "Editor",
    "FormFields",
    "Visitor",
    "check_form",
    "check_own_page",
    "cookie",
    "delete_cookie",
    "form_key",
    "may_read",
    "set_cookie",
]

TOKEN = "isogloss_token"
KEY = "isogloss_form"
"""Names of cookies; over HTTPS they begin with ``__Host-``, see :func:`cookie`."""

_FIELDS = 20


@contextmanager
def _sign_in_first() -> Iterator[None]:
    """Say how people give the token that a request lacks."""
    try:
        yield
    except ServiceError as error:
        if error.status == 401 and error.headers:
            raise ServiceError(401, f"{error.message}. Sign in with a token to go on.") from error
        raise


def may_read(request: Request) -> bool:
    """Whether whoever asked may still read: tokens end, and are taken back."""
    access: Access = request.app.state.access
    try:
        return access.holder(_with_token(request)).may("read")
    except ServiceError:
        return False


def _with_token(request: Request) -> Request:
    """The request, with the token of the cookie in the header that programs use."""
    token = cookie(request, TOKEN)
    if not token or "authorization" in request.headers or not token.isascii():
        return request
    header = (b"authorization", f"Bearer {token}".encode())
    return Request({**request.scope, "headers": [*request.scope["headers"], header]})


def check_own_page(request: Request) -> None:
    """Refuse what a page of another site asks for; programs do not say what page they are."""
    if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise ServiceError(403, "Only pages of this service are told of changes.")


class _RequireScopeOfPages(RequireScope):
    """The same with a token in a header, as programs have it, or in the cookie."""

    async def __call__(self, request: Request) -> Holder:
        asked = _with_token(request)
        with _sign_in_first():
            holder = await super().__call__(asked)
        request.scope[PRINCIPAL] = asked.scope[PRINCIPAL]
        return holder


Visitor = Annotated[Holder, Depends(_RequireScopeOfPages("read"))]
Editor = Annotated[Holder, Depends(_RequireScopeOfPages("write"))]


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form; of a name that comes twice, the last."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise ServiceError(415, "The form did not come in the shape that this page sends it in.")
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_FIELDS))
    except ValueError as error:
        raise ServiceError(400, "The form has more fields than this page sends.") from error


FormFields = Annotated[dict[str, str], Depends(read_form)]


def form_key(request: Request) -> str:
    """What a form of this visitor must hold: the value of the cookie, or a new one."""
    known = cookie(request, KEY)
    return known if len(known) == 43 and known.isascii() else secrets.token_urlsafe(32)


def check_form(request: Request, fields: dict[str, str]) -> None:
    """Refuse a form that was not filled in on a page of ours."""
    known, given = cookie(request, KEY), fields.get("key", "")
    if not known or not hmac.compare_digest(known.encode(), given.encode("utf-8", "replace")):
        raise ServiceError(403, "This form is not from this page or too old; load the page again and repeat.")


def cookie(request: Request, name: str) -> str:
    """Return the value of a cookie that :func:`set_cookie` set, or an empty text.

    Over HTTPS only the name with ``__Host-`` counts: browsers take a cookie of that name from nobody but this
    host, and from it only over HTTPS.
    """
    return request.cookies.get(_full_name(request, name), "")


def set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Keep a value with the visitor, out of reach of scripts and of other sites."""
    response.set_cookie(_full_name(request, name), value, **_attributes(request))


def delete_cookie(request: Request, response: Response, name: str) -> None:
    """Have the visitor's browser forget a value."""
    response.delete_cookie(_full_name(request, name), **_attributes(request))


def _is_secure(request: Request) -> bool:
    """Whether the browser speaks HTTPS, as far as this server or a trusted proxy can tell."""
    return request.url.scheme == "https"


def _full_name(request: Request, name: str) -> str:
    return f"__Host-{name}" if _is_secure(request) else name


def _attributes(request: Request) -> dict[str, Any]:
    return {"httponly": True, "samesite": "strict", "secure": _is_secure(request), "path": "/"}
