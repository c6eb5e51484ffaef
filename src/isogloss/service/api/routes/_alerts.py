"""Alerts: changes of events and saved searches, sent by webhook and e-mail."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from isogloss.exceptions import StoreError
from isogloss.service._state import AppState, AppStateDep
from isogloss.service.alerts import check_address, make_secret
from isogloss.service.api.errors import API_PREFIX, ServiceError
from isogloss.service.api.routes._searches import find_search, owner_of
from isogloss.service.api.schemas import AlertRequest, AlertResponse, CreatedAlert, Number
from isogloss.service.auth import AuthenticatedRoute, Principal, Writer
from isogloss.service.search import clean_query
from isogloss.store import (
    Alert,
    add_alert,
    delete_alert,
    from_micros,
    list_alerts,
    read_alert,
    to_micros,
)

alerts_router = APIRouter(prefix=API_PREFIX, route_class=AuthenticatedRoute, tags=["alerts"])

AlertId = Annotated[Number, Path(description="Id of an alert.")]


@alerts_router.get("/alerts", response_model=list[AlertResponse], summary="List alerts")
def all_alerts(state: AppStateDep, principal: Writer) -> list[AlertResponse]:
    """List the alerts of the token, in the order of their ids; an admin token lists all."""
    return [AlertResponse.model_validate(_fields(each)) for each in visible_alerts(state, principal)]


@alerts_router.post("/alerts", response_model=CreatedAlert, status_code=201, summary="Make an alert")
def make_alert(state: AppStateDep, principal: Writer, body: AlertRequest) -> CreatedAlert:
    """Be alerted of every change of an event, or of the events of a saved search.

    Webhooks are signed as in the Standard Webhooks specification, with the `secret` of the response.
    """
    if (body.event is None) == (body.search is None):
        raise ServiceError(422, "give either event or search, the id of what to be alerted of")
    event = None if body.event is None else state.store.current_event_id(clean_query(body.event))
    if body.event is not None and event is None:
        raise ServiceError(404, "there is no event with this id; see GET /events")
    if body.search is not None:
        find_search(state, principal, body.search)
    try:
        address = check_address(state.settings, body.channel, body.address)
    except ValueError as error:
        raise ServiceError(422, f"address: {error}") from error
    now = to_micros(datetime.now(UTC))
    alert = Alert(
        id=0,
        owner=owner_of(principal),
        event=event or "",
        search=body.search,
        channel=body.channel,
        address=address,
        secret=make_secret(),
        minutes=body.minutes,
        created=now,
        line=state.store.position(),
        next=now,
        delivered=0,
        dropped=0,
        error="",
    )
    try:
        with state.store.database.write() as session:
            made = add_alert(session, alert, max_alerts=state.settings.alerts.per_token)
    except StoreError as error:
        if error.__cause__ is not None:  # the database itself failed
            raise
        raise ServiceError(409, str(error)) from error
    return CreatedAlert.model_validate(_fields(made) | {"secret": made.secret})


@alerts_router.get("/alerts/{id}", response_model=AlertResponse, summary="Read an alert")
def read_one_alert(state: AppStateDep, principal: Writer, id: AlertId) -> AlertResponse:
    """Return an alert of the token, and why it could not be delivered; an admin token may read all."""
    return AlertResponse.model_validate(_fields(_find(state, principal, id)))


@alerts_router.delete("/alerts/{id}", status_code=204, response_class=Response, summary="Delete an alert")
def remove_alert(state: AppStateDep, principal: Writer, id: AlertId) -> Response:
    """Delete an alert of the token, and what waits for delivery; an admin token may delete all."""
    _find(state, principal, id)
    with state.store.database.write() as session:
        delete_alert(session, id)
    return Response(status_code=204)


def visible_alerts(state: AppState, principal: Principal) -> list[Alert]:
    """Return the alerts that a token may see: its own, or all for an admin token."""
    owner = None if principal.has_scope("admin") else owner_of(principal)
    with state.store.database.read() as session:
        return list_alerts(session, owner)


def _find(state: AppState, principal: Principal, number: int) -> Alert:
    with state.store.database.read() as session:
        found = read_alert(session, number)
    if found is None or not (found.owner == owner_of(principal) or principal.has_scope("admin")):
        raise ServiceError(404, f"there is no alert {number}; see GET /alerts")
    return found


def _fields(alert: Alert) -> dict[str, object]:
    names = ("id", "search", "channel", "address", "minutes", "delivered", "dropped", "error")
    created = from_micros(alert.created)
    return {name: getattr(alert, name) for name in names} | {"event": alert.event or None, "created": created}
