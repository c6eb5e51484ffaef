"""The tables of an export: their columns, and their rows from one consistent read of a store."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

from isogloss.service.exports._formats import check_format, write_table
from isogloss.store import (
    EventMember,
    EventQuery,
    Store,
    event_title,
    from_micros,
    walk_articles,
    walk_events,
)

Kind = Literal["text", "texts", "number", "decimal", "time", "names"]
"""Type of a column: ``texts`` is a list of texts, ``names`` a text by language."""

TABLES = ("events", "articles")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of an export: its name, its type, and what it contains."""

    name: str
    kind: Kind
    description: str


EXPORT_COLUMNS: Mapping[str, Sequence[Column]] = {
    "events": (
        Column("id", "text", "id of the event, such as e42"),
        Column("title", "text", "English title, or that of the language with the most articles"),
        Column("title_lang", "text", "language of that title"),
        Column("titles", "names", "title in every language of the event"),
        Column("first", "time", "time of the first article"),
        Column("last", "time", "time of the last article"),
        Column("size", "number", "number of articles without reprints"),
        Column("reprints", "number", "number of reprints"),
        Column("languages_count", "number", "number of languages"),
        Column("languages", "texts", "codes of the languages, the one with the most articles first"),
        Column("places", "texts", "English names of the places, the most frequent first"),
        Column("place_ids", "texts", "GeoNames numbers of these places"),
        Column("countries", "texts", "codes of the countries of these places, each once"),
        Column("concepts", "texts", "labels of the concepts, the strongest first"),
        Column("concept_ids", "texts", "ids of these concepts"),
        Column(
            "confidence", "decimal", "confidence in the links of the event, from 0 to 1; empty without any"
        ),
        Column("changed", "number", "journal line of the last change"),
    ),
    "articles": (
        Column("event", "text", "id of the event"),
        Column("event_title", "text", "title of the event, as in the table of events"),
        Column("cluster", "number", "number of the cluster within the event"),
        Column("seq", "number", "number of the article"),
        Column("id", "text", "id of the article at its source"),
        Column("lang", "text", "code of the language"),
        Column("title", "text", "title"),
        Column("body", "text", "text; only where bodies are asked for"),
        Column("time", "time", "time of publication"),
        Column("source", "text", "name of the publisher"),
        Column("url", "text", "address"),
        Column("reprint_of", "number", "number of the original, if the article is a reprint"),
    ),
}
"""The columns of each table, in order."""


def columns_of(table: str, *, bodies: bool = False) -> list[Column]:
    """Return the columns of a table; ``body`` only if wanted."""
    if table not in EXPORT_COLUMNS:
        raise ValueError(f"table is {table!r}; expected one of {', '.join(TABLES)}")
    return [column for column in EXPORT_COLUMNS[table] if bodies or column.name != "body"]


def export(
    store: Store,
    table: str,
    format: str,
    query: EventQuery,
    *,
    rank: Sequence[str] = (),
    bodies: bool = False,
    on_row: Callable[[], None] | None = None,
) -> Generator[bytes]:
    """Export the events of a query, or their articles, chunk by chunk.

    All rows come from one read transaction, which lasts until the iterator ends or is closed. Memory does not
    grow with the number of rows. The table is ``events``, or ``articles`` with all articles of the events,
    reprints included; the format is ``csv``, ``jsonl`` or ``parquet``. The page of the query is ignored;
    ``rank`` has ids of events in another order, of at most one page. ``on_row`` is called for each row.
    """
    check_format(format)
    columns = columns_of(table, bodies=bodies)
    return _chunks(columns, _rows(store, table, query, rank, bodies), format, on_row)


def _chunks(
    columns: Sequence[Column],
    rows: Generator[dict[str, Any]],
    format: str,
    on_row: Callable[[], None] | None,
) -> Generator[bytes]:
    with closing(rows):
        yield from write_table(columns, rows if on_row is None else _watched(rows, on_row), format)


def _watched(rows: Iterable[dict[str, Any]], on_row: Callable[[], None]) -> Iterator[dict[str, Any]]:
    for row in rows:
        on_row()
        yield row


def _rows(
    store: Store, table: str, query: EventQuery, rank: Sequence[str], bodies: bool
) -> Generator[dict[str, Any]]:
    place = {name: at for at, name in enumerate(rank)}
    with store.database.read() as session:
        for events in walk_events(session, query):
            if rank:
                events.sort(key=lambda event: place[event["id"]])
            if table == "events":
                yield from map(_event_row, events)
            else:
                yield from map(
                    _article_row, chain.from_iterable(walk_articles(session, events, bodies=bodies))
                )


def _event_row(event: Mapping[str, Any]) -> dict[str, Any]:
    title, lang = event_title(event)
    places, concepts = event.get("places", ()), event.get("concepts", ())
    return {
        "id": event["id"],
        "title": title,
        "title_lang": lang,
        "titles": event.get("title", {}),
        "first": from_micros(event["first"]),
        "last": from_micros(event["last"]),
        "size": event["size"],
        "reprints": event["reprints"],
        "languages_count": event["languages_count"],
        "languages": [*event.get("languages", ())],
        "places": [place["name"] for place in places],
        "place_ids": [str(place["id"]) for place in places],
        "countries": [*dict.fromkeys(place["country"] for place in places if place.get("country"))],
        "concepts": [concept["label"] for concept in concepts],
        "concept_ids": [concept["id"] for concept in concepts],
        "confidence": event.get("confidence"),
        "changed": event["changed"],
    }


def _article_row(member: EventMember) -> dict[str, Any]:
    article = member.article
    return {
        "event": member.event["id"],
        "event_title": event_title(member.event)[0],
        "cluster": member.cluster,
        "seq": member.seq,
        "id": article.id,
        "lang": article.lang,
        "title": article.title,
        "body": article.body,
        "time": article.time,
        "source": article.source,
        "url": article.url,
        "reprint_of": member.reprint_of,
    }
