"""What a worker's process imports and reads first, for a server that starts such processes."""

from isogloss.events import EventStream
from isogloss.events.ingest import sample_news
from isogloss.service.worker import _worker_process
from tests.service import poison

__all__ = ["_worker_process", "poison"]

with EventStream() as stream:
    stream.add(sample_news().articles[:64])
