"""Alerts on pages: the form that makes one of an event or a saved search, their list, and their deletion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import ValidationError

from isogloss.service._state import AppState, AppStateDep
from isogloss.service.api.errors import ServiceError
from isogloss.service.api.routes import make_alert, remove_alert, visible_alerts
from isogloss.service.api.schemas import AlertRequest
from isogloss.service.auth import Principal
from isogloss.service.web._rendering import PageRoute, render
from isogloss.service.web._session import FormFields, PageWriter, check_csrf
from isogloss.store import Alert, EventQuery, event_title, waiting_by_alert

MAX_ALERTS = 200
"""Alerts of a list, the newest ones."""

alert_pages = APIRouter(route_class=PageRoute, include_in_schema=False)


class AlertForm(NamedTuple):
    """Options of the form: whether alerts can also be sent by e-mail."""

    mail: bool


def alert_form(state: AppState, principal: Principal) -> AlertForm | None:
    """Return the form for a principal; None if it may make no alert."""
    if not principal.has_scope("write") or not state.settings.alerts.per_token:
        return None
    return AlertForm(mail=bool(state.settings.mail.host and state.settings.mail.sender))


class ShownAlert(NamedTuple):
    """An alert in a list: what it is about, with the URL of its page, and how its delivery goes."""

    id: int
    about: str
    url: str
    address: str
    minutes: int
    delivered: int
    waiting: int
    dropped: int
    error: str


def shown_alerts(
    state: AppState, principal: Principal, searches: Mapping[int, tuple[str, str]]
) -> list[ShownAlert]:
    """Return the alerts that a principal may see and delete, the newest first.

    ``searches`` are the names and URLs of saved searches by their ids.
    """
    if not principal.has_scope("write"):
        return []
    alerts = visible_alerts(state, principal)[::-1][:MAX_ALERTS]
    with state.store.database.read() as session:
        waiting = waiting_by_alert(session, [each.id for each in alerts])
    query = EventQuery(ids=sorted({each.event for each in alerts if each.event}), limit=MAX_ALERTS)
    titles = {event["id"]: event_title(event)[0] for event in state.store.events(query).events}

    def about(alert: Alert) -> tuple[str, str]:
        if alert.search is not None:
            return searches.get(alert.search, (f"saved search {alert.search}", ""))
        title = titles.get(alert.event)
        return (title, f"/event/{quote(alert.event, safe='')}") if title else (f"event {alert.event}", "")

    return [
        ShownAlert(
            each.id,
            *about(each),
            each.address,
            each.minutes,
            each.delivered,
            waiting.get(each.id, 0),
            each.dropped,
            each.error,
        )
        for each in alerts
    ]


@alert_pages.post("/alerts/{id}/delete")
def delete_shown_alert(
    request: Request, state: AppStateDep, principal: PageWriter, id: int, fields: FormFields
) -> Response:
    """Delete an alert, and what waits for delivery."""
    check_csrf(request, fields)
    if not 0 <= id < 1 << 63:
        raise ServiceError(404, f"There is no alert {id}.")
    remove_alert(state, principal, id)
    return RedirectResponse("/saved#alerts", 303)


@alert_pages.post("/alerts")
def submit_alert(request: Request, state: AppStateDep, principal: PageWriter, fields: FormFields) -> Response:
    """Make an alert; the response shows the secret of a webhook, which cannot be retrieved again."""
    check_csrf(request, fields)
    address = fields.get("address", "").strip()
    given = {
        "event": fields.get("event"),
        "search": int(number[:20]) if (number := fields.get("search", "")).isdecimal() else None,
        "channel": "mail" if "@" in address and "://" not in address else "webhook",
        "address": address,
    }
    try:
        wanted = AlertRequest.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise ServiceError(422, f"{first['loc'][0]}: {first['msg']}") from error
    made = make_alert(state, principal, wanted)
    return render(request, "alert.html", status=201, alert=made)
