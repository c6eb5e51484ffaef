"""Events: what happened, in every language that reported it."""

from isogloss.events.article import Article, article_from
from isogloss.events.event import Event
from isogloss.events.history import History
from isogloss.events.journal import Journal, read_journal
from isogloss.events.stream import EventStream, StreamSettings

__all__ = [
    "Article",
    "Event",
    "EventStream",
    "History",
    "Journal",
    "StreamSettings",
    "article_from",
    "read_journal",
]
