"""History of all events of a stream, including those that have expired."""

from __future__ import annotations

from collections.abc import Iterable

from isogloss.events.article import Article
from isogloss.events.event import Event
from isogloss.events.stream import ArticleOutcome, EventStream, StreamChanges


class History:
    """Observes a stream and keeps every event in its last state.

    Memory: grows with the articles.

    Parameters
    ----------
    stream : EventStream
        A stream without an observer.

    Attributes
    ----------
    events : dict of int to Event
        All events by id, in their current or last state.
    cluster_of : dict of str to int
        The cluster of every article that is not a reprint.
    reprints : dict of str to str
        The original of every reprint.

    Examples
    --------
    >>> from isogloss.events.ingest import sample_news
    >>> news = sample_news()
    >>> history = History(EventStream())
    >>> history.run(news.articles[:50])
    >>> len(history.assignment())
    50
    """

    def __init__(self, stream: EventStream) -> None:
        if stream.observer is not None:
            raise ValueError("the stream already has an observer; expected one without")
        self.stream = stream
        self.events: dict[int, Event] = {}
        self.cluster_of: dict[str, int] = {}
        self.reprints: dict[str, str] = {}
        stream.observer = self._observe

    def run(self, articles: Iterable[Article]) -> None:
        """Add articles, and update the events at the end."""
        self.add(articles)
        self.stream.update()

    def add(self, articles: Iterable[Article]) -> list[ArticleOutcome]:
        """Add articles."""
        return self.stream.add(articles)

    def reprints_by_event(self) -> dict[int, dict[str, str]]:
        """Return for each event the ids of its reprints with those of their originals."""
        event_of = self.assignment()
        found: dict[int, dict[str, str]] = {number: {} for number in self.events}
        for copy, first in self.reprints.items():
            found[event_of[copy]][copy] = first
        return found

    def assignment(self) -> dict[str, int]:
        """Return the event of every article, including reprints."""
        found = {
            article: number
            for number, event in self.events.items()
            for articles in event.articles.values()
            for article in articles
        }
        return found | {copy: found[first] for copy, first in self.reprints.items()}

    def _observe(self, changes: StreamChanges) -> None:
        links = self.stream.links
        for old in changes.aliases:
            self.events.pop(old, None)
        for number in sorted(changes.events):
            if number in self.stream.tracker.ids.members:
                self.events[number] = self.stream.event(number)
        for cluster in sorted(changes.clusters):
            self.cluster_of.update(dict.fromkeys(links.profiles[cluster].articles, cluster))
        self.reprints.update(changes.reprints)
