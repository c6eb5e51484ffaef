"""Tokens: creation, listing, revocation."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from isogloss.service._state import AppStateDep
from isogloss.service.api.errors import API_PREFIX, ServiceError
from isogloss.service.api.schemas import CreatedToken, TokenRequest, TokenResponse
from isogloss.service.auth import Admin, AuthenticatedRoute, list_tokens, make_token, revoke_token
from isogloss.store import from_micros

tokens_router = APIRouter(prefix=API_PREFIX, route_class=AuthenticatedRoute, tags=["tokens"])


@tokens_router.post("/tokens", response_model=CreatedToken, status_code=201, summary="Make a token")
def new_token(state: AppStateDep, _: Admin, body: TokenRequest) -> CreatedToken:
    """Make a token. Its value is in this response only and cannot be retrieved again.

    On a loopback address everything is allowed until the first token is made; from then on, writing needs
    one.
    """
    label = body.label.replace("\0", " ")
    token = make_token(state.store, body.scopes, label=label, days=body.days)
    return CreatedToken(token=token, id=token.split("_")[1])


@tokens_router.get("/tokens", response_model=list[TokenResponse], summary="List tokens")
def all_tokens(state: AppStateDep, _: Admin) -> list[TokenResponse]:
    """List all tokens without their secrets, newest first."""
    return [
        TokenResponse(
            id=str(row["id"]),
            scopes=str(row["scopes"]).split(),
            label=str(row["label"]),
            created=from_micros(row["created"]),  # type: ignore[arg-type]
            expires=from_micros(row["expires"]),  # type: ignore[arg-type]
            revoked=bool(row["revoked"]),
        )
        for row in list_tokens(state.store)
    ]


@tokens_router.delete("/tokens/{id}", status_code=204, response_class=Response, summary="Revoke a token")
def delete_token(
    state: AppStateDep,
    _: Admin,
    id: Annotated[str, Path(max_length=100, description="Id of the token, not its value.")],
) -> Response:
    """Revoke a token, effective immediately."""
    if not revoke_token(state.store, id.replace("\0", " ")):
        raise ServiceError(404, "there is no token with this id, or it was already revoked")
    return Response(status_code=204)
