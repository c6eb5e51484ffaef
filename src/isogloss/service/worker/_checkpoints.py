"""Checkpoints of the stream, saved by a forked process while the stream continues.

A state has hundreds of megabytes. A forked process has the stream as it was at the fork, and the system
copies only memory pages that change meanwhile, so the stream pauses for some ten milliseconds instead of
seconds. The child writes a temporary file, which goes to the store in parts, one with each update, so that
no other writer waits for it. A checkpoint is complete when its header is written, which has the format, the
journal line and a digest of all bytes; then the parts of older checkpoints are deleted, one with each update.
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

logger = logging.getLogger(__name__)

PART_BYTES = 4 << 20
"""Bytes of a checkpoint that are written with one update."""

_NICENESS = 10
"""Priority of the child process."""


class CheckpointWriter:
    """Writes checkpoints to a store in parts, one checkpoint at a time.

    ``line`` is the journal line of the last complete checkpoint, and ``seconds`` how long that took, from its
    start to its last part. For ``generation`` see :class:`~isogloss.store.Update`.
    """

    def __init__(self, store: Store, line: int = 0, *, generation: int | None = None) -> None:
        self.store, self.line, self.seconds = store, line, 0.0
        self.generation = generation
        self._forked = ForkedSave()
        self._file: BinaryIO | None = None
        self._start(line, None)
        self._stale = deque(self._stale_parts())

    @property
    def busy(self) -> bool:
        """Return whether a checkpoint is being written."""
        return self._forked.busy or self._file is not None

    def start(self, stream: EventStream, line: int, lines_read: int | None = None) -> None:
        """Start a checkpoint of the stream's present state, in a forked process where that is safe."""
        self._start(line, lines_read)
        if can_fork():
            try:
                self._forked.start(stream)
                return
            except OSError as error:
                logger.warning("no process can save the checkpoint, the worker does it: %s", error)
        self._file = io.BytesIO(save_stream(stream))

    def start_inline(self, stream: EventStream, line: int, lines_read: int | None = None) -> None:
        """Start a checkpoint without a fork, and abandon one that is being written."""
        self.close()
        self._start(line, lines_read)
        self._file = io.BytesIO(save_stream(stream))

    def next_step(self) -> dict[str, Any]:
        """Return what the next update shall write or delete, as arguments of ``Update``; empty if nothing."""
        self._file = self._forked.take() or self._file
        if self._file is not None:
            return {"checkpoint_parts": [self._next_part(self._file)]}
        return {"stale_parts": [self._stale.popleft()]} if self._stale else {}

    def confirm(self, step: dict[str, Any]) -> None:
        """Record that a step was written."""
        if any(name == CHECKPOINT_HEADER for name, _, _ in step.get("checkpoint_parts", ())):
            self.line, self.seconds = self._next_line, time.monotonic() - self._started
            self._stale = deque(self._stale_parts())

    def write_now(self, stream: EventStream, line: int, lines_read: int | None = None) -> None:
        """Write a whole checkpoint, and abandon one that is being written."""
        self.start_inline(stream, line, lines_read)
        while step := self.next_step():
            self.store.apply(Update(line, line, generation=self.generation, **step))
            self.confirm(step)

    def close(self) -> None:
        """Abandon an incomplete checkpoint."""
        self._forked.close()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _start(self, line: int, lines_read: int | None) -> None:
        self._next_line, self._lines_read, self._started = line, lines_read, time.monotonic()
        self._part_numbers, self._digest, self._bytes = count(), hashlib.blake2b(), 0

    def _next_part(self, file: BinaryIO) -> tuple[str, int, bytes]:
        part = file.read(PART_BYTES)
        if part:
            self._digest.update(part)
            self._bytes += len(part)
            return f"part {next(self._part_numbers):06}", self._next_line, part
        file.close()
        self._file = None
        header = checkpoint_header(self._next_line, self._lines_read, self._bytes, self._digest.hexdigest())
        return CHECKPOINT_HEADER, self._next_line, header

    def _stale_parts(self) -> list[tuple[str, int]]:
        with self.store.database.read() as session:
            return stale_checkpoint_parts(session)


def can_fork() -> bool:
    """Return whether this platform forks processes with threads safely enough."""
    return sys.platform == "linux"


class ForkedSave:
    """Saves the state of a stream in a forked process, one state at a time.

    A child that takes longer than ``timeout_s`` is killed.

    Notes
    -----
    No other thread may change the stream during :meth:`start`. The child has one thread, writes an unnamed
    file and exits without cleaning up what it shares with its parent. Memory: the pages that change
    meanwhile, and what the child needs to serialise the stream.
    """

    def __init__(self, timeout_s: float = 600.0) -> None:
        self.timeout_s = timeout_s
        self._pid = 0
        self._file: BinaryIO | None = None
        self._started = 0.0

    @property
    def busy(self) -> bool:
        """Return whether a state is being saved, or is saved and has not been taken."""
        return self._file is not None

    def start(self, stream: EventStream) -> None:
        """Start to save the stream's present state; raise OSError if there is no room for file or process."""
        if self.busy:
            raise RuntimeError("a state is being saved; take it or close it before starting the next")
        self._started = time.monotonic()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 closed when the state is taken
        with warnings.catch_warnings():
            # Python warns that the child of a process with threads may deadlock: this one only computes and
            # writes to its own file, and is killed after the timeout.
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                self._pid = os.fork()
            except OSError:
                self._file.close()
                self._file = None
                raise
        if not self._pid:
            _save_and_exit(stream, self._file)

    def take(self) -> BinaryIO | None:
        """Return the saved state, once, as a file to read and close; None if it is not ready or failed."""
        if self._file is None:
            return None
        pid, status = os.waitpid(self._pid, os.WNOHANG)
        if not pid:
            if time.monotonic() - self._started > self.timeout_s:
                logger.warning("the checkpoint process exceeded %.0f seconds; killing it", self.timeout_s)
                self.close()
            return None
        file, self._file = self._file, None
        if status:
            logger.warning("the checkpoint process ended with status %d; no checkpoint is written", status)
            file.close()
            return None
        file.seek(0)
        return file

    def close(self) -> None:
        """Kill the child, if there is one."""
        if self._file is not None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._file.close()
            self._file = None


def _save_and_exit(stream: EventStream, file: BinaryIO) -> NoReturn:
    """Run in the child: save the stream and exit."""
    code = 1
    try:
        gc.disable()
        lower_priority(_NICENESS)
        file.write(save_stream(stream))
        file.flush()
        code = 0
    except Exception:
        logger.exception("cannot save the state of the stream")
    finally:
        os._exit(code)
