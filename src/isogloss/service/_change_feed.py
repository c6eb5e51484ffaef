"""The change feed: new and changed events as server-sent events.

The id of a message is a journal line. Only the last of the events that changed at a line has it, so a client
that reconnects with the id misses nothing, and receives at most the events of one line again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from time import monotonic
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from isogloss.service.api.errors import ServiceError
from isogloss.service.api.schemas import EventSummary
from isogloss.store import Store, from_micros

POLL_INTERVAL_S = 0.5
HEARTBEAT_INTERVAL_S = 15.0
_MIN_QUERY_EVENTS = 100


class ChangeFeed:
    """Sends changed events to a limited number of clients.

    Further clients than ``max_clients`` are refused; an idle client gets a comment line as heartbeat.
    """

    def __init__(
        self,
        store: Store,
        max_clients: int,
        *,
        poll_seconds: float = POLL_INTERVAL_S,
        heartbeat_seconds: float = HEARTBEAT_INTERVAL_S,
    ) -> None:
        self.store, self.max_clients = store, max_clients
        self.poll_seconds, self.heartbeat_seconds = poll_seconds, heartbeat_seconds
        self.listeners = 0
        self._stopped = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Bind the feed to the running event loop."""
        self._loop = asyncio.get_running_loop()

    def stop(self) -> None:
        """End the responses of all clients; this may be called from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopped.set)

    @contextmanager
    def subscription(self) -> Iterator[None]:
        """Count a client during the block; raise an error if there are too many."""
        if self.listeners >= self.max_clients:
            message = (
                f"{self.max_clients} clients follow changes already; try again later or poll GET /events"
            )
            raise ServiceError(503, message, {"Retry-After": "30"})
        self.listeners += 1
        try:
            yield
        finally:
            self.listeners -= 1

    async def follow(self, line: int | None, seconds: float | None) -> AsyncIterator[str]:
        """Return the messages about events that changed after a journal line, by default the present one.

        The present line is read before this returns: a client that has a response misses no later change.
        """
        at = await run_in_threadpool(self.store.position) if line is None else line
        return self._messages(at, seconds)

    async def _messages(self, at: int, seconds: float | None) -> AsyncIterator[str]:
        yield "retry: 3000\n\n"
        end = None if seconds is None else monotonic() + seconds
        last_sent = monotonic()
        while True:
            for group in await run_in_threadpool(changed_events_by_line, self.store, at):
                at, last_sent = group[-1]["changed"], monotonic()
                yield _format_events(group)
            if await self._ended(end):
                return
            if monotonic() - last_sent >= self.heartbeat_seconds:
                last_sent = monotonic()
                yield ": here\n\n"

    async def _ended(self, end: float | None) -> bool:
        """Wait for the next poll; return whether the feed has ended."""
        left = self.poll_seconds if end is None else min(self.poll_seconds, end - monotonic())
        if left <= 0:
            return True
        try:
            await asyncio.wait_for(self._stopped.wait(), left)
        except TimeoutError:
            return False
        return True


Messages = AsyncIterator[str]


class ChangeFeedResponse(StreamingResponse):
    """A streaming response with the messages of the change feed.

    It starts after a journal line, by default the present one, and ends after some seconds. ``check`` wraps
    the messages, and ends them when the client loses its access.
    """

    def __init__(
        self,
        feed: ChangeFeed,
        line: int | None,
        seconds: float | None = None,
        *,
        check: Callable[[Messages], Messages] = lambda messages: messages,
    ) -> None:
        self.feed, self.line, self.seconds, self.check = feed, line, seconds, check
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__((), media_type="text/event-stream", headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send messages until the client disconnects."""
        with self.feed.subscription():
            self.body_iterator = self.check(await self.feed.follow(self.line, self.seconds))
            await super().__call__(scope, receive, send)


def changed_events_by_line(store: Store, line: int) -> list[list[dict[str, Any]]]:
    """Return events that changed after a line, grouped by line; every group is complete."""
    limit = _MIN_QUERY_EVENTS
    while len(found := store.changed_events(line, limit)) == limit:
        complete = [event for event in found if event["changed"] != found[-1]["changed"]]
        if complete:
            found = complete
            break
        limit *= 2
    return [list(group) for _, group in groupby(found, key=lambda event: event["changed"])]


def event_summary(event: dict[str, Any]) -> EventSummary:
    """Return an event of the store as an API object."""
    return EventSummary.model_validate(
        event | {"first": from_micros(event["first"]), "last": from_micros(event["last"])}
    )


def _format_events(group: list[dict[str, Any]]) -> str:
    """Format the events of one line as server-sent events; the last one has the id."""
    messages = [f"event: event\ndata: {event_summary(event).model_dump_json()}\n\n" for event in group]
    messages[-1] = f"id: {group[-1]['changed']}\n{messages[-1]}"
    return "".join(messages)
