"""Evaluation of a search with labelled queries: precision among the first five results, precision, recall."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isogloss.exceptions import CorpusError
from isogloss.service.search._event_search import EventSearch
from isogloss.store import Store

FIRST_RESULTS = 5
"""Results that the precision of the first ones counts."""

MAX_QUERIES = 10_000
_MIN_SHARE = 0.5
"""An event is relevant if at least this share of its articles is."""


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A query, the ids of the articles that it should find, its language and its part of all queries."""

    q: str
    articles: frozenset[str]
    lang: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class QueryScores:
    """Scores of one query; ``relevant`` and ``found`` are numbers of events."""

    q: str
    part: str
    first: float
    precision: float
    recall: float
    relevant: int
    found: int


@dataclass(frozen=True, slots=True)
class SearchScores:
    """Scores of all queries."""

    queries: Sequence[QueryScores]

    def means(self) -> dict[str, dict[str, float]]:
        """Return the number of queries and their mean scores, by part and for ``all``."""
        parts: dict[str, list[QueryScores]] = defaultdict(list)
        for query in self.queries:
            parts["all"].append(query)
            if query.part:
                parts[query.part].append(query)
        return {
            part: {
                "queries": len(own),
                "p_at_5": sum(each.first for each in own) / len(own),
                "precision": sum(each.precision for each in own) / len(own),
                "recall": sum(each.recall for each in own) / len(own),
            }
            for part, own in sorted(parts.items(), key=lambda pair: pair[0] == "all")
        }


def read_queries(
    lines: Iterable[str], name: str, events: Mapping[str, frozenset[str]] | None = None
) -> list[LabelledQuery]:
    """Read labelled queries from JSON lines.

    A line is an object with ``q`` and ``articles``, the ids of the relevant articles; ``lang`` and ``part``
    if known. Queries may name ``events`` instead, if their articles are given. Raises CorpusError for another
    line; ``name`` is the file in that error.

    Examples
    --------
    >>> read_queries(['{"q": "storm", "articles": ["7", "9"]}'], "queries.jsonl")[0].q
    'storm'
    """
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        found.append(_read_query(line, f"{name}:{number}", events or {}))
        if len(found) > MAX_QUERIES:
            raise CorpusError(f"{name}: has more than {MAX_QUERIES:,} queries; split the file")
    if not found:
        raise CorpusError(f"{name}: has no queries; expected JSON lines with q and articles")
    return found


def _read_query(line: str, where: str, events: Mapping[str, frozenset[str]]) -> LabelledQuery:
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{where}: is not JSON ({error})") from error
    expected = 'expected an object such as {"q": "storm", "articles": ["7", "9"]}'
    if not isinstance(record, dict) or not isinstance(record.get("q"), str) or not record["q"].strip():
        raise CorpusError(f"{where}: has no query; {expected}")
    named = record.get("events", [])
    unknown = [each for each in named if str(each) not in events] if isinstance(named, list) else [named]
    if unknown:
        raise CorpusError(f"{where}: the event {unknown[0]!r} is unknown; {expected}")
    articles = record.get("articles", [])
    if not isinstance(articles, list) or not (articles or named):
        raise CorpusError(f"{where}: has no articles; {expected}")
    relevant = frozenset(map(str, articles)).union(*(events[str(each)] for each in named))
    return LabelledQuery(record["q"], relevant, str(record.get("lang", "")), str(record.get("part", "")))


def evaluate_search(search: EventSearch, queries: Sequence[LabelledQuery]) -> SearchScores:
    """Search for labelled queries, and score the events that are judged relevant.

    An event should be found if at least half of its articles are labelled. Precision of a query that finds
    nothing is 0, and queries of which the store has no event are left out. P@5 is the precision among the
    first five results, or fewer if fewer are found. Raises CorpusError if the store has none of the labelled
    articles.
    """
    members = _event_articles(search.store)
    scores = []
    for query in queries:
        relevant = {
            event
            for event, articles in members.items()
            if sum(each in query.articles for each in articles) >= _MIN_SHARE * len(articles)
        }
        if not relevant:
            continue
        found = [each.id for each in search.find(query.q).relevant]
        hits = [event in relevant for event in found]
        first = hits[:FIRST_RESULTS]
        scores.append(
            QueryScores(
                query.q,
                query.part,
                first=sum(first) / len(first) if first else 0.0,
                precision=sum(hits) / len(hits) if hits else 0.0,
                recall=sum(hits) / len(relevant),
                relevant=len(relevant),
                found=len(found),
            )
        )
    if not scores:
        raise CorpusError("the store has no event with the articles of these queries; check their ids")
    return SearchScores(scores)


def _event_articles(store: Store) -> dict[str, list[str]]:
    """Return the ids of the articles of each event."""
    with store.database.read() as session:
        rows = session.run(
            "SELECT c.event, a.id FROM cluster c JOIN member m ON m.cluster = c.id "
            "JOIN article a ON a.seq = m.article WHERE c.event <> ''"
        )
    found: dict[str, list[str]] = defaultdict(list)
    for event, article in rows:
        found[event].append(article)
    return dict(found)
