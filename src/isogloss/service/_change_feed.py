"""New and changed events as they come, as server-sent events.

The id of a message is a line of the journal. It is given with the last of the events that changed at that
line, so that whoever comes back with it has missed nothing, and at most sees some events of one line again.
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

__all__ = ["Changes", "EventStream", "changed_groups", "event_summary"]

POLL = 0.5
HEARTBEAT = 15.0
_LIMIT = 100


class Changes:
    """Clients that follow the events of a store.

    Parameters
    ----------
    store : Store
        Where events are.
    most : int
        Clients at the same time; more are sent away.
    poll, heartbeat : float
        Seconds between two looks at the store, and between two signs of life.
    """

    def __init__(self, store: Store, most: int, *, poll: float = POLL, heartbeat: float = HEARTBEAT) -> None:
        self.store, self.most = store, most
        self.poll, self.heartbeat = poll, heartbeat
        self.listeners = 0
        self._stopped = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Belong to the running loop."""
        self._loop = asyncio.get_running_loop()

    def stop(self) -> None:
        """Send everybody home; may be called from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopped.set)

    @contextmanager
    def place(self) -> Iterator[None]:
        """Count a listener for as long as the block takes; raise an error where there are too many."""
        if self.listeners >= self.most:
            said = f"{self.most} clients follow changes already; try again later or ask GET /events"
            raise ServiceError(503, said, {"Retry-After": "30"})
        self.listeners += 1
        try:
            yield
        finally:
            self.listeners -= 1

    async def follow(self, line: int | None, seconds: float | None) -> AsyncIterator[str]:
        """Messages about events that changed after a line of the journal; from now on without one.

        *Now* is when this returns, before anything is sent: who has an answer misses nothing after it.
        """
        at = await run_in_threadpool(self.store.position) if line is None else line
        return self._told(at, seconds)

    async def _told(self, at: int, seconds: float | None) -> AsyncIterator[str]:
        yield "retry: 3000\n\n"
        ends = None if seconds is None else monotonic() + seconds
        spoken = monotonic()
        while True:
            for group in await run_in_threadpool(changed_groups, self.store, at):
                at, spoken = group[-1]["changed"], monotonic()
                yield "".join(_messages(group))
            if await self._over(ends):
                return
            if monotonic() - spoken >= self.heartbeat:
                spoken = monotonic()
                yield ": here\n\n"

    async def _over(self, ends: float | None) -> bool:
        """Wait a little; whether it is time to go."""
        left = self.poll if ends is None else min(self.poll, ends - monotonic())
        if left <= 0:
            return True
        try:
            await asyncio.wait_for(self._stopped.wait(), left)
        except TimeoutError:
            return False
        return True


Messages = AsyncIterator[str]


class EventStream(StreamingResponse):
    """The answer that follows changes: it holds a place of a listener from before its first byte to its end.

    Parameters
    ----------
    changes : Changes
        What is followed.
    line : int or None
        Line of the journal to begin after; None begins now.
    seconds : float, optional
        Time after which it ends.
    check : callable, optional
        Passes messages on for as long as they may be seen.
    """

    def __init__(
        self,
        changes: Changes,
        line: int | None,
        seconds: float | None = None,
        *,
        check: Callable[[Messages], Messages] = lambda messages: messages,
    ) -> None:
        self.changes, self.line, self.seconds, self.check = changes, line, seconds, check
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__((), media_type="text/event-stream", headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send messages for as long as somebody listens."""
        with self.changes.place():
            self.body_iterator = self.check(await self.changes.follow(self.line, self.seconds))
            await super().__call__(scope, receive, send)


def changed_groups(store: Store, line: int) -> list[list[dict[str, Any]]]:
    """Events that changed after a line, those of one line together and whole."""
    limit = _LIMIT
    while len(found := store.changed_events(line, limit)) == limit:
        whole = [event for event in found if event["changed"] != found[-1]["changed"]]
        if whole:
            found = whole
            break
        limit *= 2
    return [list(group) for _, group in groupby(found, key=lambda event: event["changed"])]


def event_summary(event: dict[str, Any]) -> EventSummary:
    """An event of the store as it is shown."""
    return EventSummary.model_validate(
        event | {"first": from_micros(event["first"]), "last": from_micros(event["last"])}
    )


def _messages(group: list[dict[str, Any]]) -> list[str]:
    lines = [f"event: event\ndata: {event_summary(event).model_dump_json()}\n" for event in group]
    return [*(f"{each}\n" for each in lines[:-1]), f"id: {group[-1]['changed']}\n{lines[-1]}\n"]
