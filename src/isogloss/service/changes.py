"""New and changed events as they come, as server-sent events.

The id of a message is a line of the journal. It is given with the last of the events that changed at that
line, so that whoever comes back with it has missed nothing, and at most sees some events of one line again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import groupby
from time import monotonic
from typing import Any

from starlette.concurrency import run_in_threadpool

from isogloss.service.errors import ServiceError
from isogloss.service.records import EventSummary, moment
from isogloss.store import Store

__all__ = ["Changes", "changed_groups", "event_summary"]

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

    def check_room(self) -> None:
        """Refuse one client too many."""
        if self.listeners >= self.most:
            said = f"{self.most} clients follow changes already; try again later or ask GET /events"
            raise ServiceError(503, said, {"Retry-After": "30"})

    async def follow(self, line: int | None, seconds: float | None) -> AsyncIterator[str]:
        """Messages about events that changed after a line of the journal; from now on without one.

        *Now* is when this returns, before anything is sent: who has an answer misses nothing after it.
        """
        at = await run_in_threadpool(self.store.position) if line is None else line
        return self._told(at, seconds)

    async def _told(self, at: int, seconds: float | None) -> AsyncIterator[str]:
        self.listeners += 1
        try:
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
        finally:
            self.listeners -= 1

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


def changed_groups(store: Store, line: int) -> list[list[dict[str, Any]]]:
    """Events that changed after a line, those of one line together and whole."""
    limit = _LIMIT
    while len(found := store.changed(line, limit)) == limit:
        whole = [event for event in found if event["changed"] != found[-1]["changed"]]
        if whole:
            found = whole
            break
        limit *= 2
    return [list(group) for _, group in groupby(found, key=lambda event: event["changed"])]


def event_summary(event: dict[str, Any]) -> EventSummary:
    """An event of the store as it is shown."""
    return EventSummary.model_validate(
        event | {"first": moment(event["first"]), "last": moment(event["last"])}
    )


def _messages(group: list[dict[str, Any]]) -> list[str]:
    lines = [f"event: event\ndata: {event_summary(event).model_dump_json()}\n" for event in group]
    return [*(f"{each}\n" for each in lines[:-1]), f"id: {group[-1]['changed']}\n{lines[-1]}\n"]
