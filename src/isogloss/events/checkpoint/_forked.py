"""Saving the state of a stream while the stream goes on.

A copy of the process is made, which has the stream as it is at that moment; the copy saves it and ends. The
system copies only pages of memory that change meanwhile, so the stream stops for a few hundredths of a second
instead of seconds.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import tempfile
import time
import warnings
from typing import BinaryIO, NoReturn

from isogloss.events.checkpoint._stream_state import save_stream
from isogloss.events.stream import EventStream
from isogloss.threads import lower_priority

__all__ = ["SavingApart", "can_save_apart"]

logger = logging.getLogger(__name__)

_NICE = 10
"""How much the copy stands back behind everything else."""

_POLL = 0.01
"""Seconds between two looks at a copy that is waited for."""


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
