"""Tokens: made, listed and taken back by whoever runs the service."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from isogloss.service._state import AppStateDep
from isogloss.service.api._prefix import PREFIX
from isogloss.service.auth import Admin, AuthenticatedRoute, list_tokens, make_token, revoke_token
from isogloss.service.schemas import MadeToken, NewToken, ServiceError, TokenAnswer, moment

__all__ = ["tokens_router"]

tokens_router = APIRouter(prefix=PREFIX, route_class=AuthenticatedRoute, tags=["tokens"])


@tokens_router.post("/tokens", response_model=MadeToken, status_code=201, summary="Make a token")
def new_token(parts: AppStateDep, _: Admin, asked: NewToken) -> MadeToken:
    """Make a token. It is shown in this answer and never again.

    On an address of this machine everything is allowed as long as there is no token; from the first one
    on, writing needs one.
    """
    label = asked.label.replace("\0", " ")
    token = make_token(parts.store, asked.scopes, label=label, days=asked.days)
    return MadeToken(token=token, id=token.split("_")[1])


@tokens_router.get("/tokens", response_model=list[TokenAnswer], summary="Tokens")
def all_tokens(parts: AppStateDep, _: Admin) -> list[TokenAnswer]:
    """Tokens without their secrets, the newest first."""
    return [
        TokenAnswer(
            id=str(row["id"]),
            scopes=str(row["scopes"]).split(),
            label=str(row["label"]),
            created=moment(row["created"]),  # type: ignore[arg-type]
            expires=moment(row["expires"]),  # type: ignore[arg-type]
            revoked=bool(row["revoked"]),
        )
        for row in list_tokens(parts.store)
    ]


@tokens_router.delete("/tokens/{id}", status_code=204, response_class=Response, summary="Take a token back")
def end_token(
    parts: AppStateDep,
    _: Admin,
    id: Annotated[str, Path(max_length=100, description="Its id, not the token.")],
) -> Response:
    """From now on it opens nothing."""
    if not revoke_token(parts.store, id.replace("\0", " ")):
        raise ServiceError(404, "there is no token of this id, or it was taken back before")
    return Response(status_code=204)
