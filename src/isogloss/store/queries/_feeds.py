"""Queries on feeds, their health, and the sources of articles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isogloss.store.interface import Row, Session
from isogloss.store.queries._articles import from_micros

_TIMES = ("visited", "succeeded", "failed", "due")
_NUMBERS = ("failures", "articles")
_TEXTS = ("title", "error")
_HEALTH = (*_TEXTS, *_TIMES, *_NUMBERS)
"""Columns of the table ``feed_health``, after the URL."""

_MAX_TEXT_CHARS = 500


@dataclass(frozen=True, slots=True)
class FeedHealth:
    """The health of a feed: visits, errors and counts, without its known entries.

    Attributes
    ----------
    url, title : str
        The URL and the title of the feed.
    error : str
        What went wrong at the last visit; empty if nothing did.
    visited, succeeded, failed, due : int
        Times of the last visit, the last successful one, the last failed one and the next one, in
        microseconds since 1970; 0 if there was none.
    failures : int
        Consecutive failed visits.
    articles : int
        New articles that were stored from it.
    """

    url: str
    title: str
    error: str
    visited: int
    succeeded: int
    failed: int
    due: int
    failures: int
    articles: int

    @property
    def status(self) -> str:
        """``new`` before the first visit, ``failing`` if the last visit failed, else ``ok``."""
        return "new" if not self.visited else "failing" if self.failures else "ok"

    def as_record(self) -> dict[str, Any]:
        """Return a JSON-compatible record, with times in ISO 8601 or None."""
        times = {name: getattr(self, name) for name in _TIMES}
        return {
            "url": self.url,
            "title": self.title,
            "status": self.status,
            "error": self.error,
            "failures": self.failures,
            "articles": self.articles,
            **{name: from_micros(value).isoformat() if value else None for name, value in times.items()},
        }


@dataclass(frozen=True, slots=True)
class SourceCount:
    """A source: its articles, their languages, and the time of the newest in microseconds since 1970."""

    source: str
    articles: int
    languages: tuple[str, ...]
    newest: int


def read_feeds(session: Session) -> dict[str, dict[str, Any]]:
    """Return the saved states of feeds by URL, with times in seconds since 1970."""
    states = {
        str(url): {"url": url} | json.loads(data) for url, data in session.run("SELECT url, data FROM feed")
    }
    for health in read_feed_health(session):
        values = {name: getattr(health, name) for name in _HEALTH}
        states[health.url] |= values | {name: values[name] / 1e6 for name in _TIMES}
    return states


def save_feed(session: Session, url: str, state: Mapping[str, Any]) -> None:
    """Save the state of a feed; what its health consists of has its own columns."""
    data = {name: value for name, value in state.items() if name not in (*_HEALTH, "url")}
    session.run(
        "INSERT INTO feed VALUES (?, ?) ON CONFLICT (url) DO UPDATE SET data = excluded.data",
        [url, json.dumps(data)],  # in the order of the entries
    )
    _save_health(session, url, state)


def add_feeds(session: Session, titles: Mapping[str, str]) -> None:
    """Add feeds that are not known yet, by URL and title."""
    session.run_many(
        "INSERT INTO feed VALUES (?, '{}') ON CONFLICT (url) DO NOTHING", [(url,) for url in titles]
    )
    session.run_many(
        f"INSERT INTO feed_health (url, {', '.join(_HEALTH)}) VALUES (?, ?, '', 0, 0, 0, 0, 0, 0) "
        "ON CONFLICT (url) DO NOTHING",
        [(url, _text(title)) for url, title in titles.items()],
    )


def _save_health(session: Session, url: str, state: Mapping[str, Any]) -> None:
    values = [
        *(_text(str(state.get(name, ""))) for name in _TEXTS),
        *(round(state.get(name, 0.0) * 1e6) for name in _TIMES),
        *(int(state.get(name, 0)) for name in _NUMBERS),
    ]
    session.run(
        f"INSERT INTO feed_health (url, {', '.join(_HEALTH)}) VALUES ({', '.join('?' * (len(_HEALTH) + 1))}) "
        f"ON CONFLICT (url) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _HEALTH)}",
        [url, *values],
    )


def read_feed_health(session: Session) -> list[FeedHealth]:
    """Return the health of all feeds, in the order of their URLs."""
    rows = session.run(f"SELECT url, {', '.join(_HEALTH)} FROM feed_health ORDER BY url")
    return [_feed_health(row) for row in rows]


def _feed_health(row: Row) -> FeedHealth:
    url, *values = row
    return FeedHealth(url=str(url), **dict(zip(_HEALTH, values, strict=True)))


def count_sources(session: Session, limit: int) -> list[SourceCount]:
    """Return the sources of articles, those with the most articles first."""
    counts: dict[str, SourceCount] = {}
    rows = session.run(
        "SELECT source, lang, count(*), max(time) FROM article GROUP BY source, lang ORDER BY 1, 2"
    )
    for source, lang, articles, newest in rows:
        known = counts.get(source, SourceCount(source, 0, (), 0))
        counts[source] = SourceCount(
            source, known.articles + int(articles), (*known.languages, lang), max(known.newest, int(newest))
        )
    return sorted(counts.values(), key=lambda each: (-each.articles, each.source))[:limit]


def _text(text: str) -> str:
    """Cut a text, and replace what databases refuse."""
    return text[:_MAX_TEXT_CHARS].encode("utf-8", "replace").decode().replace("\0", " ")
