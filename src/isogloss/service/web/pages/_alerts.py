"""The form on pages that makes an alert of an event or a saved search."""

from __future__ import annotations

from typing import NamedTuple

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from isogloss.service._state import AppState, AppStateDep
from isogloss.service.api.errors import ServiceError
from isogloss.service.api.routes import make_alert
from isogloss.service.api.schemas import AlertRequest
from isogloss.service.auth import Principal
from isogloss.service.web._rendering import PageRoute, render
from isogloss.service.web._session import FormFields, PageWriter, check_csrf

alert_pages = APIRouter(route_class=PageRoute, include_in_schema=False)


class AlertForm(NamedTuple):
    """What the form offers: whether alerts can also be sent by e-mail."""

    mail: bool


def alert_form(state: AppState, principal: Principal) -> AlertForm | None:
    """Return the form for a principal; None if it may make no alert."""
    if not principal.has_scope("write") or not state.settings.alerts.per_token:
        return None
    return AlertForm(mail=bool(state.settings.mail.host and state.settings.mail.sender))


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
