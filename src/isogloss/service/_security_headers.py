"""What a browser may do with an answer of the service: nothing but show it."""

from __future__ import annotations

from starlette.types import Message, Send

__all__ = ["HEADERS", "with_headers"]

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_PAIRS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def with_headers(send: Send) -> Send:
    """Send every answer with these headers, unless it has its own."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name for name, _ in message["headers"]}
            message["headers"] = [*message["headers"], *(pair for pair in _PAIRS if pair[0] not in present)]
        await send(message)

    return guarded
