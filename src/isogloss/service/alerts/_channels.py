"""Webhooks and e-mail: checking addresses, and sending."""

from __future__ import annotations

import re
import smtplib
import ssl
from email.message import EmailMessage

from isogloss.exceptions import FeedError
from isogloss.feeds import CheckedUrl, Fetcher, FetchLimits, is_public
from isogloss.service.settings import AlertSettings, MailSettings, Settings

_MAX_ADDRESS_CHARS = 254
_ADDRESS = re.compile(r"[A-Za-z0-9._%+\-]{1,64}@[A-Za-z0-9.\-]{1,190}")


class DeliveryError(Exception):
    """An attempt to deliver failed.

    ``wait`` is the seconds that the receiver asked to wait.
    """

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


def check_address(settings: Settings, channel: str, address: str) -> str:
    """Return the URL of a webhook or the address of an e-mail; raise ValueError if it is not allowed."""
    if channel == "webhook":
        try:
            return CheckedUrl.parse(
                address, frozenset(settings.alerts.ports), setting="alerts.ports in the settings"
            ).url
        except FeedError as error:
            raise ValueError(str(error)) from error
    if not (settings.mail.host and settings.mail.sender):
        raise ValueError("the service sends no e-mail; set mail.host and mail.sender")
    if len(address) > _MAX_ADDRESS_CHARS or not _ADDRESS.fullmatch(address):
        raise ValueError(f"{address[:60]!r} is not an e-mail address; expected one such as desk@gull.example")
    return address


def make_fetcher(settings: AlertSettings) -> Fetcher:
    """Return the guarded client that sends webhooks."""
    limits = FetchLimits(deadline=settings.timeout_seconds, ports=frozenset(settings.ports))
    return Fetcher(limits, allow=(lambda _: True) if settings.private_addresses else is_public)


def send_webhook(fetcher: Fetcher, url: str, body: bytes, headers: dict[str, str]) -> None:
    """Send a webhook; any status but 2xx is an error."""
    try:
        answer = fetcher.post(url, body, headers)
    except FeedError as error:
        raise DeliveryError(str(error)) from error
    if not 200 <= answer.status < 300:
        wait = answer.headers.get("retry-after", "")
        seconds = float(wait) if wait.isascii() and wait.isdigit() and len(wait) < 10 else 0.0
        raise DeliveryError(f"{url}: the server answered {answer.status}; expected 2xx", seconds)


def send_mail(settings: MailSettings, message: EmailMessage, timeout: float) -> None:
    """Send an e-mail through the configured server."""
    tls = ssl.create_default_context()
    try:
        with (
            smtplib.SMTP_SSL(settings.host, settings.port, timeout=timeout, context=tls)
            if settings.security == "tls"
            else smtplib.SMTP(settings.host, settings.port, timeout=timeout)
        ) as server:
            if settings.security == "starttls":
                server.starttls(context=tls)
            if settings.user:
                server.login(settings.user, settings.password)
            server.send_message(message)
    except UnicodeEncodeError as error:
        raise DeliveryError("mail.user and mail.password must be ASCII to be sent to the server") from error
    except (OSError, smtplib.SMTPException) as error:
        raise DeliveryError(f"{settings.host}: the e-mail was not sent ({error})") from error
