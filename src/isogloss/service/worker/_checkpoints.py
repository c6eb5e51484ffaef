"""Checkpoints: save the state of a stream in the store while the stream goes on.

A state has hundreds of megabytes. It is saved in a copy of the process, and written in parts, one with each
update, so that neither the stream nor those who write to the store wait for it, and never held in memory. It
counts when its last part is there, which has its format, its line of the journal and a digest of all bytes;
then parts of older ones are taken out, again one with each update.
"""

from __future__ import annotations

import hashlib
import io
import time
from collections import deque
from itertools import count
from typing import Any, BinaryIO

from isogloss.events import EventStream
from isogloss.events.checkpoint import SavingApart, can_save_apart, save_stream
from isogloss.store import Store, Update
from isogloss.store.queries import CHECKPOINT_HEADER, checkpoint_header, stale_checkpoint_parts

__all__ = ["Keeping"]

PART = 4 << 20
"""Bytes that are written with one update."""


class Keeping:
    """Keeps states, one at a time.

    Parameters
    ----------
    store : Store
        Where they go.
    saved : int
        The line of the last state that is whole.
    generation : int, optional
        See :class:`~isogloss.store.Update`.

    Attributes
    ----------
    saved : int
        The line of the last state that is whole.
    seconds : float
        How long the last one took, from the beginning to its last part.
    """

    def __init__(self, store: Store, saved: int = 0, *, generation: int | None = None) -> None:
        self.store, self.saved, self.seconds = store, saved, 0.0
        self.generation = generation
        self._apart, self._line, self._began = SavingApart(), saved, 0.0
        self._lines: int | None = None
        self._digest, self._bytes = hashlib.blake2b(), 0
        self._file: BinaryIO | None = None
        self._numbers = count()
        self._old = deque(self._find_old())

    @property
    def busy(self) -> bool:
        """Whether a state is on its way."""
        return self._apart.busy or self._file is not None

    def begin(self, stream: EventStream, line: int, lines: int | None = None) -> None:
        """Save the state that a stream has now, at a line of the journal and after so many lines."""
        self._start(line, lines)
        if can_save_apart():
            self._apart.begin(stream)
        else:
            self._file = io.BytesIO(save_stream(stream))

    def begin_here(self, stream: EventStream, line: int, lines: int | None = None) -> None:
        """Do the same in this process, in the place of a state that is on its way."""
        self.close()
        self._start(line, lines)
        self._file = io.BytesIO(save_stream(stream))

    def step(self) -> dict[str, Any]:
        """What the next update writes of it; see :class:`~isogloss.store.Update`."""
        self._file = self._apart.take() or self._file
        if self._file is not None:
            return {"checkpoint_parts": [self._next_part(self._file)]}
        return {"stale_parts": [self._old.popleft()]} if self._old else {}

    def done(self, step: dict[str, Any]) -> None:
        """What :meth:`step` gave has been written."""
        if any(name == CHECKPOINT_HEADER for name, _, _ in step.get("checkpoint_parts", ())):
            self.saved, self.seconds = self._line, time.monotonic() - self._began
            self._old = deque(self._find_old())

    def keep_now(self, stream: EventStream, line: int, lines: int | None = None) -> None:
        """Save the state that a stream has now, all of it, in the place of one that is on its way."""
        self.begin_here(stream, line, lines)
        while step := self.step():
            self.store.apply(Update(line, line, generation=self.generation, **step))
            self.done(step)

    def close(self) -> None:
        """Give up what is not whole."""
        self._apart.close()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _start(self, line: int, lines: int | None) -> None:
        self._line, self._lines, self._began, self._numbers = line, lines, time.monotonic(), count()
        self._digest, self._bytes = hashlib.blake2b(), 0

    def _next_part(self, file: BinaryIO) -> tuple[str, int, bytes]:
        piece = file.read(PART)
        if piece:
            self._digest.update(piece)
            self._bytes += len(piece)
            return f"part {next(self._numbers):06}", self._line, piece
        file.close()
        self._file = None
        header = checkpoint_header(self._line, self._lines, self._bytes, self._digest.hexdigest())
        return CHECKPOINT_HEADER, self._line, header

    def _find_old(self) -> list[tuple[str, int]]:
        with self.store.database.read() as session:
            return stale_checkpoint_parts(session)
