"""Checkpoints: save the state of a stream in the store, from a forked process, while the stream goes on.

A state has hundreds of megabytes. It is saved by a forked copy of the process, which has the stream as it is
at that moment: the system copies only pages of memory that change meanwhile, so the stream stops for a few
hundredths of a second instead of seconds. The copy writes a file, which goes to the store in parts, one with
each update, so that neither the stream nor those who write to the store wait for it. A state counts when its
last part is there, which has its format, its line of the journal and a digest of all bytes; then parts of
older ones are taken out, again one with each update.
"""

from __future__ import annotations

import gc
import hashlib
import io
import logging
import os
import signal
import sys
import tempfile
import time
import warnings
from collections import deque
from itertools import count
from typing import Any, BinaryIO, NoReturn

from isogloss.events import EventStream
from isogloss.events.checkpoint import save_stream
from isogloss.store import Store, Update
from isogloss.store.queries import CHECKPOINT_HEADER, checkpoint_header, stale_checkpoint_parts
from isogloss.threads import lower_priority

__all__ = ["Keeping", "SavingApart", "can_save_apart"]

logger = logging.getLogger(__name__)

PART = 4 << 20
"""Bytes that are written with one update."""

_NICE = 10
"""How much the copy stands back behind everything else."""

_POLL = 0.01
"""Seconds between two looks at a copy that is waited for."""


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


def can_save_apart() -> bool:
    """Whether this system copies processes safely."""
    return sys.platform == "linux"


class SavingApart:
    """Saves the state of a stream in a copy of the process; one state at a time.

    Parameters
    ----------
    longest : float
        Seconds after which a copy that is not done is given up.

    Attributes
    ----------
    seconds : float
        How long saving took the last time; the stream went on meanwhile.

    Notes
    -----
    The copy has one thread. It reads the stream, which therefore must not be changed by another thread at the
    moment of :meth:`begin`, writes a file that has no name, and ends without a farewell to anything that it
    has in common with this process. Memory: the pages that change meanwhile, and what the copy takes to save.

    Examples
    --------
    >>> from isogloss.events.checkpoint import restore_stream
    >>> stream, saving = EventStream(), SavingApart()
    >>> saving.begin(stream)
    >>> with saving.wait() as saved:
    ...     print(restore_stream(saved.read()).count, saving.busy)
    0 False
    """

    def __init__(self, longest: float = 600.0) -> None:
        self.longest = longest
        self.seconds = 0.0
        self._pid = 0
        self._file: BinaryIO | None = None
        self._began = 0.0

    @property
    def busy(self) -> bool:
        """Whether a state is being saved, or was and has not been taken."""
        return self._file is not None

    def begin(self, stream: EventStream) -> None:
        """Save the state that the stream has now."""
        if self.busy:
            raise RuntimeError("a state is being saved; take it, or close, before the next one")
        self._began = time.monotonic()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 closed when the state is taken
        with warnings.catch_warnings():
            # Python warns of copies of processes with threads, which may wait for locks for ever: the copy
            # only computes and writes to its own file, and is given up if it does not end.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if not self._pid:
            _save(stream, self._file)

    def take(self) -> BinaryIO | None:
        """The saved state, once, when it is there, as a file to be read and closed.

        None before, and if it could not be saved.
        """
        if self._file is None:
            return None
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if not pid:
            if time.monotonic() - self._began > self.longest:
                logger.warning("the state was not saved within %.0f seconds; it is given up", self.longest)
                self.close()
            return None
        self.seconds = time.monotonic() - self._began
        return self._result(status)

    def wait(self) -> BinaryIO | None:
        """The saved state, as soon as it is there; None if it could not be saved, or none was begun."""
        while self.busy:
            saved = self.take()
            if saved is not None:
                return saved
            time.sleep(_POLL)
        return None

    def close(self) -> None:
        """Give up what is being saved."""
        if self._file is not None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._file.close()
            self._file = None

    def _result(self, status: int) -> BinaryIO | None:
        assert self._file is not None
        file, self._file = self._file, None
        if status:
            logger.warning("the copy of the process that saves the state ended with status %d", status)
            file.close()
            return None
        file.seek(0)
        return file


def _save(stream: EventStream, file: BinaryIO) -> NoReturn:
    """What the copy does."""
    code = 1
    try:
        gc.disable()
        lower_priority(_NICE)
        file.write(save_stream(stream))
        file.flush()
        code = 0
    except Exception:
        logger.exception("the state cannot be saved")
    finally:
        os._exit(code)
