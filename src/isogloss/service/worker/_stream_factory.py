"""The stream as the settings want it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace

from isogloss.events import EventStream, EventStreamSettings
from isogloss.events.annotate import Annotator
from isogloss.events.checkpoint import restore_stream
from isogloss.service.settings import StreamSettings
from isogloss.similarity import DocumentModel

__all__ = ["StreamMaker"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StreamMaker:
    """Makes the stream that a worker follows the journal with.

    A saved state goes on with the settings it was begun with: events of one store are made in one way. Others
    hold after the events were made anew, with ``isogloss doctor --rebuild``.

    Parameters
    ----------
    settings : StreamSettings
        How articles become events.
    model : DocumentModel, optional
        A common space of documents that articles are compared in.
    n_jobs : int, optional
        Processes that look at the words of articles, see :class:`~isogloss.events.EventStream`; who
        made the stream closes it.
    scheduler : str
        The address of a Dask scheduler whose workers do that instead.

    Examples
    --------
    >>> StreamMaker(StreamSettings(window_days=3))(None).settings.clusters.window
    3.0
    """

    settings: StreamSettings = field(default_factory=StreamSettings)
    model: DocumentModel | None = None
    n_jobs: int | None = None
    scheduler: str = ""

    def __call__(self, saved: bytes | None) -> EventStream:
        """The stream, from the beginning or from a saved state."""
        wanted = self._rules()
        if saved is None:
            return EventStream(
                wanted,
                annotator=Annotator(),
                model=self.model,
                n_jobs=self.n_jobs,
                scheduler=self.scheduler,
            )
        stream = restore_stream(
            saved, annotator=Annotator(), model=self.model, n_jobs=self.n_jobs, scheduler=self.scheduler
        )
        if stream.settings != wanted:
            logger.warning(
                "events go on with the [stream] settings they were begun with; isogloss doctor --rebuild "
                "makes them anew with those of now"
            )
        return stream

    def _rules(self) -> EventStreamSettings:
        rules, told = EventStreamSettings(), self.settings
        return replace(
            rules,
            clusters=replace(rules.clusters, window=float(told.window_days), max_articles=told.max_articles),
            rules=replace(rules.rules, threshold=told.threshold),
        )
