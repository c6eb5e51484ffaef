"""Saved searches: those of the token of a request, and of the installation."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import Response

from isogloss.exceptions import StoreError
from isogloss.service._state import AppState, AppStateDep
from isogloss.service.api.errors import API_PREFIX, ServiceError
from isogloss.service.api.schemas import Number, SavedSearchRequest, SavedSearchResponse, SearchParameters
from isogloss.service.auth import AuthenticatedRoute, Principal, Reader, Writer
from isogloss.service.search import clean_query, parse_saved
from isogloss.store import SavedSearch, from_micros

searches_router = APIRouter(prefix=API_PREFIX, route_class=AuthenticatedRoute, tags=["saved searches"])

INSTALLATION = ""
"""The owner of searches that were saved without a token, when the store had none."""

SearchId = Annotated[Number, Path(description="Id of a saved search.")]


@searches_router.get("/searches", response_model=list[SavedSearchResponse], summary="List saved searches")
def all_searches(state: AppStateDep, principal: Reader) -> list[SavedSearchResponse]:
    """List the saved searches of the token, and those of the installation, in the order of their ids.

    Searches saved while the store has no token belong to the installation: every token may list them.
    Requests without a token get an empty list once there are tokens.
    """
    return [_response(each) for each in visible_searches(state, principal)]


@searches_router.post(
    "/searches", response_model=SavedSearchResponse, status_code=201, summary="Save a search"
)
def new_search(state: AppStateDep, principal: Writer, body: SavedSearchRequest) -> SavedSearchResponse:
    """Save a search for the token, under a name that none of its searches has."""
    return _response(save_search(state, principal, body.name, body.query))


@searches_router.get("/searches/{id}", response_model=SavedSearchResponse, summary="Read a saved search")
def read_search(state: AppStateDep, principal: Reader, id: SearchId) -> SavedSearchResponse:
    """Return a saved search of the token or of the installation."""
    return _response(find_search(state, principal, id))


@searches_router.put("/searches/{id}", response_model=SavedSearchResponse, summary="Change a saved search")
def change_search(
    state: AppStateDep, principal: Writer, id: SearchId, body: SavedSearchRequest
) -> SavedSearchResponse:
    """Replace the name and the query of a saved search. Those of the installation need an admin token."""
    find_search(state, principal, id, change=True)
    name, query = _checked(body.name, body.query)
    try:
        changed = state.store.change_search(id, name, query)
    except StoreError as error:
        raise _conflict(error) from error
    if changed is None:
        raise ServiceError(404, f"there is no saved search {id}; see GET /searches")
    return _response(changed)


@searches_router.delete(
    "/searches/{id}", status_code=204, response_class=Response, summary="Delete a saved search"
)
def delete_search(state: AppStateDep, principal: Writer, id: SearchId) -> Response:
    """Delete a saved search. Those of the installation need an admin token."""
    find_search(state, principal, id, change=True)
    state.store.delete_search(id)
    return Response(status_code=204)


def visible_searches(state: AppState, principal: Principal) -> list[SavedSearch]:
    """Return the saved searches that a principal may see."""
    return state.store.saved_searches(_visible_owners(principal))


def find_search(state: AppState, principal: Principal, number: int, *, change: bool = False) -> SavedSearch:
    """Return a saved search that a principal may see or, with ``change``, change.

    Raises ServiceError if there is none, it belongs to another token, or only an admin may change it.
    """
    found = state.store.saved_search(number)
    if found is None or found.owner not in _visible_owners(principal):
        raise ServiceError(404, f"there is no saved search {number}; see GET /searches")
    if change and found.owner != owner_of(principal) and not principal.has_scope("admin"):
        raise ServiceError(403, "this search belongs to the installation; changing it needs an admin token")
    return found


def save_search(state: AppState, principal: Principal, name: str, query: SearchParameters) -> SavedSearch:
    """Save a search for a principal.

    Raises ServiceError if the search is invalid, its name is taken, or there are too many.
    """
    name, checked = _checked(name, query)
    limit = state.settings.limits.saved_searches
    try:
        return state.store.save_search(owner_of(principal), name, checked, max_searches=limit)
    except StoreError as error:
        raise _conflict(error) from error


def owner_of(principal: Principal) -> str:
    """Return the owner of the searches that a principal saves."""
    return INSTALLATION if principal.id == "local" else principal.id


def search_error(saved: SavedSearch) -> str:
    """Return why a saved search can no longer be run; an empty string if it can."""
    try:
        parse_saved(saved.query)
    except ValueError as error:
        return str(error)
    return ""


def _visible_owners(principal: Principal) -> list[str]:
    """Return the owners whose searches a principal may see; none for visitors without a token."""
    return sorted({owner_of(principal), INSTALLATION}) if principal.id else []


def _checked(name: str, query: SearchParameters) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters as they are stored; raise an error if they cannot be run."""
    dumped = query.model_dump(mode="json", exclude_defaults=True)
    stored = {key: _storable(value) for key, value in dumped.items()}
    try:
        parse_saved(stored)
    except ValueError as error:
        raise ServiceError(422, str(error)) from error
    return " ".join(clean_query(name).split()), stored


def _storable(value: Any) -> Any:
    """Replace what a database cannot store in texts and lists of texts."""
    if isinstance(value, list):
        return [clean_query(each) for each in value]
    return clean_query(value) if isinstance(value, str) else value


def _conflict(error: StoreError) -> ServiceError | StoreError:
    """Return the error for the client, unless the database itself failed."""
    return error if error.__cause__ is not None else ServiceError(409, str(error))


def _response(saved: SavedSearch) -> SavedSearchResponse:
    return SavedSearchResponse(
        id=saved.id,
        name=saved.name,
        query=saved.query,
        shared=saved.owner == INSTALLATION,
        created=from_micros(saved.created),
        changed=from_micros(saved.changed),
        error=search_error(saved),
    )
