"""Lines of a log to somebody who may have stopped reading: they are let go rather than waited for."""

from __future__ import annotations

import io
import logging
import os
import select
from typing import TextIO

__all__ = ["PatientHandler"]

logger = logging.getLogger(__name__)

PIECE = 4096
"""Bytes that a pipe takes at once when it has room at all."""

PATIENCE = 0.2
"""Seconds in which a reader may make room; after that it is not waited for until there is some."""


class PatientHandler(logging.Handler):
    """Writes lines to a stream, unless that would mean to wait for a reader who has stopped.

    A service whose log nobody reads goes on answering, and can be stopped. How many lines were let go is said
    when there is room again.

    Parameters
    ----------
    stream : file-like, optional
        Where to; nothing is written where there is none, as in a process whose standard error is closed.
    """

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__()
        self.stream, self._lost = stream, 0
        self._descriptor = _descriptor(stream)
        self._room = select.poll()
        if self._descriptor is not None:
            self._room.register(self._descriptor, select.POLLOUT)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or count it as let go."""
        try:
            if not self._has_room():
                self._lost += 1
                return
            if self._lost:
                lost, self._lost = self._lost, 0
                logger.warning("%d lines of the log were let go, because nobody read them", lost)
            self._write(self.format(record) + "\n")
        except OSError:
            pass
        except Exception:
            self.handleError(record)

    def _write(self, text: str) -> None:
        if self._descriptor is None:
            if self.stream is not None:
                self.stream.write(text)
            return
        told = text.encode("utf-8", "backslashreplace")
        while told and self._has_room():
            told = told[os.write(self._descriptor, told[:PIECE]) :]

    def _has_room(self) -> bool:
        if self._descriptor is None:
            return True
        return bool(self._room.poll(0 if self._lost else 1000 * PATIENCE))


def _descriptor(stream: TextIO | None) -> int | None:
    """The file that a stream writes to, if it is one of the system."""
    try:
        return None if stream is None else stream.fileno()
    except (AttributeError, io.UnsupportedOperation, ValueError):
        return None
