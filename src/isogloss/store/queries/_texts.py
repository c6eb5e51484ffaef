"""Queries on search terms: the words and keys that articles are found by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from isogloss.store.interface import Session, TextColumn

DELETE_TEXT = "DELETE FROM article_text WHERE rowid = ?"
PUT_TEXT = (
    "INSERT INTO article_text (rowid, version, title, body, keys) SELECT seq, CAST(? AS BIGINT), "
    "CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT) FROM article WHERE seq = ?"
)

_EVENTS_PER_STATEMENT = 300
_ARTICLES_PER_STATEMENT = 500


class ArticleText(NamedTuple):
    """The search terms of an article, separated by blanks: its number, title, body and keys."""

    article: int
    title: str
    body: str
    keys: str


class TextMatch(NamedTuple):
    """An event, the newest of its articles that match, and how many do."""

    event: str
    article: int
    articles: int


def put_text_rows(texts: Iterable[ArticleText], version: int) -> list[tuple[int, str, str, str, int]]:
    """Return the rows of values of :data:`PUT_TEXT`."""
    return [(version, each.title, each.body, each.keys, each.article) for each in texts]


def articles_without_text(session: Session, version: int, before: int, limit: int) -> list[int]:
    """Return articles of clusters without search terms of a version, the newest first, below a number."""
    rows = session.run(
        "SELECT m.article FROM member m LEFT JOIN article_text t ON t.rowid = m.article AND t.version = ? "
        "WHERE m.article < ? AND t.rowid IS NULL ORDER BY m.article DESC LIMIT ?",
        [version, before, limit],
    )
    return [int(article) for (article,) in rows]


def match_articles(
    session: Session,
    column: TextColumn,
    words: Sequence[Sequence[str]],
    limit: int,
    *,
    among: Sequence[str] | None = None,
) -> tuple[int, list[TextMatch]]:
    """Return how many of the newest articles have words, up to a limit, and the events of these.

    An article must have one of the words of each sequence. ``among`` restricts them to articles of some
    events.
    """
    if among is not None:
        parts = [among[at : at + _EVENTS_PER_STATEMENT] for at in range(0, len(among), _EVENTS_PER_STATEMENT)]
        found = [match for part in parts for match in _match_in_events(session, column, words, part)]
        return len(found), found
    sql, values = session.matching_text(column, words)
    rows = session.run(
        f"SELECT t.rowid, c.event FROM (SELECT rowid FROM ({sql}) AS matching LIMIT ?) AS t "
        "LEFT JOIN member m ON m.article = t.rowid LEFT JOIN cluster c ON c.id = m.cluster "
        "ORDER BY t.rowid DESC",
        [*values, limit],
    )
    return len(rows), _newest(rows)


def _match_in_events(
    session: Session, column: TextColumn, words: Sequence[Sequence[str]], events: Sequence[str]
) -> list[TextMatch]:
    sql, values = session.matching_text(column, words)
    marks = ", ".join("?" * len(events))
    rows = session.run(
        "SELECT m.article, c.event FROM cluster c JOIN member m ON m.cluster = c.id "
        f"WHERE c.event IN ({marks}) AND m.article IN ({sql}) ORDER BY m.article DESC",
        [*events, *values],
    )
    return _newest(rows)


def _newest(rows: Iterable[Sequence[object]]) -> list[TextMatch]:
    """Return the first article of each event, and the number of its articles."""
    newest: dict[str, int] = {}
    counts: Counter[str] = Counter()
    for article, event in rows:
        if event:
            newest.setdefault(str(event), int(str(article)))
            counts[str(event)] += 1
    return [TextMatch(event, article, counts[event]) for event, article in newest.items()]


def text_densities(
    session: Session, words: Sequence[tuple[int, frozenset[str]]]
) -> dict[tuple[int, frozenset[str]], float]:
    """Return the share of the words of a body that are forms of a word, for articles and forms."""
    bodies: dict[int, Counter[str]] = {}
    articles = sorted({article for article, _ in words})
    for at in range(0, len(articles), _ARTICLES_PER_STATEMENT):
        part = articles[at : at + _ARTICLES_PER_STATEMENT]
        marks = ", ".join("?" * len(part))
        rows = session.run(f"SELECT rowid, body FROM article_text WHERE rowid IN ({marks})", part)
        bodies.update((int(article), Counter(body.split())) for article, body in rows)
    return {
        (article, forms): sum(bodies[article][form] for form in forms) / max(bodies[article].total(), 1)
        for article, forms in words
        if article in bodies
    }


def match_phrase(session: Session, phrase: Sequence[Sequence[str]], limit: int) -> list[TextMatch]:
    """Return events with articles in whose title or body the words of a phrase follow each other.

    Each word is given by its forms. At most ``limit`` articles with all of the words are examined, the newest
    ones.
    """
    sql, values = session.matching_text("text", phrase)
    rows = session.run(
        "SELECT t.rowid, c.event, x.title, x.body "
        f"FROM (SELECT rowid FROM ({sql}) AS matching LIMIT ?) AS t "
        "JOIN article_text x ON x.rowid = t.rowid JOIN member m ON m.article = t.rowid "
        "JOIN cluster c ON c.id = m.cluster ORDER BY t.rowid DESC",
        [*values, limit],
    )
    forms = [frozenset(each) for each in phrase]
    return _newest((article, event) for article, event, *texts in rows if _has_phrase(texts, forms))


def _has_phrase(texts: Iterable[str], phrase: Sequence[frozenset[str]]) -> bool:
    for words in map(str.split, texts):
        starts = (at for at, word in enumerate(words) if word in phrase[0])
        if any(
            len(words) - at >= len(phrase) and all(words[at + i] in forms for i, forms in enumerate(phrase))
            for at in starts
        ):
            return True
    return False


def events_with_terms(session: Session, terms: Sequence[tuple[str, str]], limit: int) -> list[str]:
    """Return events with one of some terms (kind and value), the newest first."""
    if not terms:
        return []
    conditions = " OR ".join(["(t.kind = ? AND t.term = ?)"] * len(terms))
    rows = session.run(
        f"SELECT DISTINCT e.last, e.id FROM event_term t JOIN event e ON e.id = t.event WHERE {conditions} "
        "ORDER BY e.last DESC, e.id LIMIT ?",
        [*(value for term in terms for value in term), limit],
    )
    return [str(event) for _, event in rows]
