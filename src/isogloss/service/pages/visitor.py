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
from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request, Response

from isogloss.service.access import Access
from isogloss.service.errors import ServiceError
from isogloss.service.tokens import Holder

__all__ = [
    "TOKEN",
    "FormFields",
    "Visitor",
    "check_form",
    "check_own_page",
    "form_key",
    "may_read",
    "need",
    "set_cookie",
]

TOKEN = "isogloss_token"
KEY = "isogloss_form"
_FIELDS = 20


def need(request: Request, scope: str) -> Holder:
    """Who asks, if he may: by a header as programs do, or by the cookie."""
    access: Access = request.app.state.access
    with _sign_in_first():
        return access.need(_with_token(request), scope)


@contextmanager
def _sign_in_first() -> Iterator[None]:
    """Tell whoever needs a token how people give one."""
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
    token = request.cookies.get(TOKEN, "")
    if not token or "authorization" in request.headers or not token.isascii():
        return request
    header = (b"authorization", f"Bearer {token}".encode())
    return Request({**request.scope, "headers": [*request.scope["headers"], header]})


def check_own_page(request: Request) -> None:
    """Refuse what a page of another site asks for; programs do not say what page they are."""
    if request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        raise ServiceError(403, "Only pages of this service are told of changes.")


async def _reader(request: Request) -> Holder:
    """Who asks, if he may read; without a thread where the store need not be asked."""
    access: Access = request.app.state.access
    with _sign_in_first():
        return await access.admit(_with_token(request), "read")


Visitor = Annotated[Holder, Depends(_reader)]


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
    known = request.cookies.get(KEY, "")
    return known if len(known) == 43 and known.isascii() else secrets.token_urlsafe(32)


def check_form(request: Request, fields: dict[str, str]) -> None:
    """Refuse a form that was not filled in on a page of ours."""
    cookie, given = request.cookies.get(KEY, ""), fields.get("key", "")
    if not cookie or not hmac.compare_digest(cookie.encode(), given.encode("utf-8", "replace")):
        raise ServiceError(403, "This form is not from this page or too old; load the page again and repeat.")


def set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    """Keep a value with the visitor, out of reach of scripts and other sites."""
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, httponly=True, samesite="strict", secure=secure, path="/")
