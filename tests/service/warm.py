"""What a worker's process imports and reads first, for a server that starts such processes."""

import errno
from multiprocessing import reduction

from isogloss.events import EventStream
from isogloss.events.ingest import sample_news
from isogloss.service.worker import _worker_process
from tests.service import poison

__all__ = ["_worker_process", "poison"]

_receive = reduction.recvfds


def _receive_or_abort(*arguments):
    """Tell the fork server that a client was killed as it asked for a process; an EOFError would end it."""
    try:
        return _receive(*arguments)
    except EOFError as error:
        raise ConnectionAbortedError(errno.ECONNABORTED, "the client is gone") from error


reduction.recvfds = _receive_or_abort

with EventStream() as stream:
    stream.add(sample_news().articles[:64])
