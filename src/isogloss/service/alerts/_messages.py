"""The contents of alerts: the signed JSON of a webhook, and an e-mail."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import uuid
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from email.utils import formatdate
from typing import Any

from isogloss.io import strip_controls
from isogloss.service._event_feeds import event_url
from isogloss.store import Delivery, event_title, from_micros

SECRET_PREFIX = "whsec_"
MAX_TITLES = 20
MAX_SUBJECT_CHARS = 300

Event = Mapping[str, Any]


def make_secret() -> str:
    """Return a new key to sign webhooks with."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def sign(secret: str, id: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a webhook as in the Standard Webhooks specification.

    Examples
    --------
    >>> sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
    ...      b'{"test": 2432232314}')
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
    """
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = hmac.new(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def delivery_id(instance: uuid.UUID, delivery: Delivery) -> str:
    """Return the idempotency key of a delivery: the same for every attempt, and for no other delivery."""
    first, last = delivery.changes[0][0], delivery.changes[-1][0]
    return f"msg_{uuid.uuid5(instance, f'alert:{delivery.alert.id}:{first}:{last}').hex}"


def webhook_body(delivery: Delivery, event: Event, base_url: str, max_bytes: int) -> bytes:
    """Return the JSON of a webhook, without titles if it would be too large."""
    _, id, line = delivery.changes[0]
    summary = {
        "id": event["id"],
        "title": _shortened(event_title(event)[0]),
        "titles": {lang: _shortened(title) for lang, title in [*event.get("title", {}).items()][:MAX_TITLES]},
        "first": from_micros(event["first"]).isoformat(),
        "last": from_micros(event["last"]).isoformat(),
        "size": event["size"],
        "languages": [*event.get("languages", {})][:MAX_TITLES],
        "url": event_url(base_url, event["id"]),
    }
    content = {"type": "event.changed", "alert": delivery.alert.id, "changed": line, "event": summary}
    body = json.dumps(content, ensure_ascii=False).encode()
    if len(body) > max_bytes:
        body = json.dumps(content | {"event": {"id": id}}, ensure_ascii=False).encode()
    return body


def mail_message(
    delivery: Delivery, events: Sequence[Event], *, id: str, sender: str, base_url: str, max_bytes: int
) -> EmailMessage:
    """Return an e-mail about events that changed.

    Titles come from strangers: they are put into the subject on one line, and the email package refuses
    headers with line breaks.
    """
    titles = [_shortened(event_title(event)[0]) for event in events]
    more = f" and {len(events) - 1} more" if len(events) > 1 else ""
    lines: list[str] = []
    size = 0
    for event, title in zip(events, titles, strict=True):
        languages = ", ".join([*event.get("languages", {})][:MAX_TITLES])
        text = f"{title}\n{event['size']:,} articles: {languages}\n{event_url(base_url, event['id'])}\n"
        size += len(text.encode())
        if size > max_bytes:
            lines.append("Further events are left out.\n")
            break
        lines.append(text)
    message = EmailMessage()
    message["From"], message["To"] = sender, delivery.alert.address
    message["Subject"] = f"isogloss: {titles[0][:100]}{more}"
    message["Date"] = formatdate()
    message["Message-ID"] = f"<{id}@{sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n".join(lines))
    return message


def _shortened(title: str) -> str:
    return " ".join(strip_controls(title).split())[:MAX_SUBJECT_CHARS]
