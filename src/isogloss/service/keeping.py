"""Keeping the state of a stream in the store while the stream goes on.

A state has hundreds of megabytes. It is saved in a copy of the process, and written in parts, one with each
update, so that neither the stream nor those who write to the store wait for it. It counts when its last part
is there; then parts of older ones are taken out, again one with each update.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from isogloss.events.saving import save_stream
from isogloss.events.saving_apart import SavingApart, can_save_apart
from isogloss.events.stream import EventStream
from isogloss.store import Store, Update
from isogloss.store.projection import old_parts

__all__ = ["LAST", "Keeping"]

PART = 4 << 20
"""Bytes that are written with one update."""

LAST = "events"
"""The name of the part that comes last."""


Part = tuple[str, int, bytes]
"""A part of a state: its name, the line of the journal that the state is of, and bytes."""


class Keeping:
    """Keeps states, one at a time.

    Parameters
    ----------
    store : Store
        Where they go.

    Attributes
    ----------
    saved : int
        The line of the last state that is whole.
    seconds : float
        How long the last one took, from the beginning to its last part.
    """

    def __init__(self, store: Store, saved: int = 0) -> None:
        self.store, self.saved, self.seconds = store, saved, 0.0
        self._apart, self._line, self._began = SavingApart(), saved, 0.0
        self._parts: deque[Part] = deque()
        self._old: deque[tuple[str, int]] = deque(self._find_old())

    @property
    def busy(self) -> bool:
        """Whether a state is on its way."""
        return self._apart.busy or bool(self._parts)

    def begin(self, stream: EventStream, line: int) -> None:
        """Keep the state that a stream has now, at a line of the journal."""
        self._line, self._began = line, time.monotonic()
        if can_save_apart():
            self._apart.begin(stream)
        else:
            self._parts.extend(cut(save_stream(stream), line))

    def step(self) -> dict[str, Any]:
        """What the next update writes of it; see :class:`~isogloss.store.Update`."""
        data = self._apart.take()
        if data is not None:
            self._parts.extend(cut(data, self._line))
        if self._parts:
            return {"kept": [self._parts.popleft()]}
        return {"dropped": [self._old.popleft()]} if self._old else {}

    def done(self, step: dict[str, Any]) -> None:
        """What :meth:`step` gave has been written."""
        if any(name == LAST for name, _, _ in step.get("kept", ())):
            self.saved, self.seconds = self._line, time.monotonic() - self._began
            self._old.extend(self._find_old())

    def keep_now(self, stream: EventStream, line: int) -> None:
        """Keep the state that a stream has now, all of it, in the place of what is not whole yet."""
        self.close()
        began = time.monotonic()
        self.store.apply(Update(line, line, kept=cut(save_stream(stream), line)))
        self.saved, self.seconds = line, time.monotonic() - began
        self.store.apply(Update(line, line, dropped=self._find_old()))
        self._old.clear()

    def close(self) -> None:
        """Give up what is not whole."""
        self._apart.close()
        self._parts.clear()

    def _find_old(self) -> list[tuple[str, int]]:
        with self.store.database.read() as session:
            return old_parts(session)


def cut(data: bytes, line: int) -> list[Part]:
    """A state of a line of the journal, in parts that no statement is long with; the last one is empty."""
    pieces = (data[start : start + PART] for start in range(0, len(data), PART))
    return [*((f"part {n:06}", line, piece) for n, piece in enumerate(pieces)), (LAST, line, b"")]
