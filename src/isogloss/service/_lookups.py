"""Small questions to the store that only the service asks: one cluster, one link, a verdict, kept models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from isogloss.store import Store, micros

__all__ = [
    "add_verdict",
    "article_numbers",
    "articles_from",
    "cluster_exists",
    "event_ids",
    "events_of_articles",
    "kept_model",
    "kept_models",
    "last_line",
    "place_of_article",
    "read_cluster",
    "read_link",
]


def place_of_article(store: Store, number: int) -> tuple[int, str] | None:
    """The cluster of an article and the event of that."""
    with store.database.read() as session:
        row = session.one(
            "SELECT c.id, c.event FROM member m JOIN cluster c ON c.id = m.cluster WHERE m.article = ?",
            [number],
        )
    return (int(row[0]), str(row[1])) if row else None


def article_numbers(
    store: Store, *, event: str | None = None, cluster: int | None = None, before: int, limit: int
) -> list[int]:
    """Numbers of articles, of an event or a cluster or all, that came before one; the last first."""
    conditions: list[str] = ["seq < ?"]
    values: list[int | str] = [before]
    if cluster is not None:
        conditions.append("seq IN (SELECT article FROM member WHERE cluster = ?)")
        values.append(cluster)
    with store.database.read() as session:
        if event is not None:
            alias = session.one("SELECT event FROM alias WHERE id = ?", [event])
            clusters = "SELECT id FROM cluster WHERE event = ?"
            conditions.append(f"seq IN (SELECT article FROM member WHERE cluster IN ({clusters}))")
            values.append(alias[0] if alias else event)
        rows = session.run(
            f"SELECT seq FROM article WHERE {' AND '.join(conditions)} ORDER BY seq DESC LIMIT ?",
            [*values, limit],
        )
    return [int(row[0]) for row in rows]


def articles_from(store: Store, first: int) -> list[int]:
    """Numbers of articles from a number on."""
    with store.database.read() as session:
        return [int(row[0]) for row in session.run("SELECT seq FROM article WHERE seq >= ?", [first])]


def events_of_articles(store: Store, numbers: Sequence[int]) -> dict[int, str]:
    """The events that articles are in; those that are in none are left out."""
    if not numbers:
        return {}
    marks = ", ".join("?" * len(numbers))
    with store.database.read() as session:
        rows = session.run(
            "SELECT m.article, c.event FROM member m JOIN cluster c ON c.id = m.cluster "
            f"WHERE c.event <> '' AND m.article IN ({marks})",
            list(numbers),
        )
    return {int(article): str(event) for article, event in rows}


def event_ids(store: Store) -> set[str]:
    """Ids of all events."""
    with store.database.read() as session:
        return {str(row[0]) for row in session.run("SELECT id FROM event")}


def read_cluster(store: Store, number: int) -> dict[str, Any] | None:
    """A cluster with the numbers of its articles."""
    names = ("id", "lang", "event", "first", "last", "size")
    with store.database.read() as session:
        row = session.one(f"SELECT {', '.join(names)}, data FROM cluster WHERE id = ?", [number])
        if row is None:
            return None
        members = session.run("SELECT article FROM member WHERE cluster = ? ORDER BY article", [number])
    told: dict[str, Any] = json.loads(row[6])
    return told | dict(zip(names, row[:6], strict=True)) | {"articles": [each[0] for each in members]}


def cluster_exists(store: Store, *numbers: int) -> bool:
    """Whether clusters are all there."""
    with store.database.read() as session:
        return all(session.one("SELECT 1 FROM cluster WHERE id = ?", [number]) for number in numbers)


def read_link(store: Store, a: int, b: int) -> dict[str, Any] | None:
    """The link of two clusters, in whichever order they are named."""
    with store.database.read() as session:
        row = session.one(
            "SELECT a, b, probability, data FROM link WHERE a = ? AND b = ?", [min(a, b), max(a, b)]
        )
    return {**json.loads(row[3]), "a": row[0], "b": row[1], "probability": row[2]} if row else None


def add_verdict(
    store: Store, a: int, b: int, *, same: bool, note: str, now: datetime | None = None
) -> tuple[int, int, int]:
    """Keep what somebody says about two clusters; return its number and an article of each.

    A verdict is about the stories of these articles: the numbers of clusters may mean others after a rebuild.
    """
    received = micros(now or datetime.now(UTC))
    one, other = min(a, b), max(a, b)
    article = "(SELECT min(article) FROM member WHERE cluster = ?)"
    with store.database.write() as session:
        ((number, first, second),) = session.run(
            "INSERT INTO verdict (a, b, same, note, received, article_a, article_b) "
            f"VALUES (?, ?, ?, ?, ?, {article}, {article}) RETURNING seq, article_a, article_b",
            [one, other, int(same), note.replace("\0", " "), received, one, other],
        )
    return int(number), int(first), int(second)


def last_line(store: Store) -> int:
    """The number of the last line of the journal."""
    with store.database.read() as session:
        row = session.one("SELECT max(seq) FROM journal")
    return int(row[0]) if row and row[0] is not None else 0


def kept_models(store: Store) -> list[dict[str, Any]]:
    """Names, times and evaluations of the models in the store, the newest first."""
    with store.database.read() as session:
        rows = session.run("SELECT name, created, report FROM model ORDER BY created DESC, name")
    return [{"name": row[0], "created": row[1], "report": json.loads(row[2] or "{}")} for row in rows]


def kept_model(store: Store, name: str) -> tuple[bytes, dict[str, Any]] | None:
    """A model in the store: its file and its evaluation."""
    with store.database.read() as session:
        row = session.one("SELECT data, report FROM model WHERE name = ?", [name])
    return (bytes(row[0]), json.loads(row[1] or "{}")) if row else None
