"""Queries that walk through all events of a query and their articles, some rows at a time.

They are to be run in one read transaction, so that the rows belong together however long the walk takes.
"""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from isogloss.events import Article
from isogloss.store.interface import Session
from isogloss.store.queries._articles import read_articles
from isogloss.store.queries._events import MAX_EVENTS_PER_PAGE, EventQuery, count_articles, find_events

ARTICLES_PER_STATEMENT = 500
"""Articles that are in memory at a time."""


@dataclasses.dataclass(frozen=True, slots=True)
class EventMember:
    """An article of an event: its number, its cluster, and the number of the original if it is a reprint."""

    event: dict[str, Any]
    cluster: int
    seq: int
    article: Article
    reprint_of: int | None


def walk_events(session: Session, query: EventQuery) -> Iterator[list[dict[str, Any]]]:
    """Iterate over all events of a query, a page at a time; each has the number of its ``reprints``."""
    query = dataclasses.replace(query, limit=MAX_EVENTS_PER_PAGE)
    while True:
        page = find_events(session, query)
        counts = count_articles(session, [event["id"] for event in page.events])
        yield [event | {"reprints": counts[event["id"]] - event["size"]} for event in page.events]
        if not page.cursor:
            return
        query = dataclasses.replace(query, cursor=page.cursor)


def walk_articles(
    session: Session, events: Sequence[dict[str, Any]], *, bodies: bool = True
) -> Iterator[list[EventMember]]:
    """Iterate over the articles of events, including reprints, some hundred at a time.

    The events keep their order; the articles of each are in the order of their arrival.
    """
    clusters = _clusters(session, [event["id"] for event in events])
    for event in events:
        originals = {
            int(copy): original
            for data in clusters[event["id"]]
            for copy, original in (data.get("reprint_of") or {}).items()
        }
        after = 0
        while True:
            rows = session.run(
                "SELECT m.article, m.cluster FROM cluster c JOIN member m ON m.cluster = c.id "
                "WHERE c.event = ? AND m.article > ? ORDER BY m.article LIMIT ?",
                [event["id"], after, ARTICLES_PER_STATEMENT],
            )
            articles = read_articles(session, [number for number, _ in rows], bodies=bodies)
            if rows:
                yield [
                    EventMember(event, cluster, number, articles[number], originals.get(number))
                    for number, cluster in rows
                ]
            if len(rows) < ARTICLES_PER_STATEMENT:
                break
            after = rows[-1][0]


def _clusters(session: Session, events: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    if events:
        marks = ", ".join("?" * len(events))
        for event, data in session.run(
            f"SELECT event, data FROM cluster WHERE event IN ({marks})", list(events)
        ):
            found[event].append(json.loads(data))
    return found
