"""Queries about an event among others: its sources, events that share terms with it, linked events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isogloss.store.interface import Session

MAX_COMPARED_TERMS = 24
"""Terms of an event by which others are found, the rarest ones."""


def read_source_reports(session: Session, event: str) -> list[tuple[str, str, int, int]]:
    """Return for each source and language of an event the number of articles and the time of the first."""
    rows = session.run(
        "SELECT a.source, a.lang, count(*), min(a.time) FROM cluster c JOIN member m ON m.cluster = c.id "
        "JOIN article a ON a.seq = m.article WHERE c.event = ? GROUP BY a.source, a.lang "
        "ORDER BY min(a.time), a.source, a.lang",
        [event],
    )
    return [(str(source), str(lang), int(count), int(first)) for source, lang, count, first in rows]


def read_recent_sources(session: Session, limit: int) -> dict[str, tuple[set[str], set[str]]]:
    """Return the sources and the languages of the newest events."""
    rows = session.run(
        "SELECT DISTINCT c.event, a.source, a.lang FROM cluster c JOIN member m ON m.cluster = c.id "
        "JOIN article a ON a.seq = m.article "
        "WHERE c.event IN (SELECT id FROM event ORDER BY last DESC, id DESC LIMIT ?)",
        [limit],
    )
    found: dict[str, tuple[set[str], set[str]]] = {}
    for event, source, lang in rows:
        sources, languages = found.setdefault(str(event), (set(), set()))
        sources.add(str(source))
        languages.add(str(lang))
    return found


def count_terms(session: Session, event: str) -> dict[str, int]:
    """Return the places and concepts of an event with the number of events that have each."""
    rows = session.run(
        "SELECT t.term, count(*) FROM event_term e JOIN event_term t ON t.kind = e.kind AND t.term = e.term "
        "WHERE e.event = ? AND e.kind IN ('place', 'concept') GROUP BY t.kind, t.term",
        [event],
    )
    return {str(term): int(count) for term, count in rows}


def count_events(session: Session) -> int:
    """Return the number of events."""
    ((count,),) = session.run("SELECT count(*) FROM event")
    return int(count)


def find_sharing_events(session: Session, event: str, counts: Mapping[str, int], limit: int) -> list[str]:
    """Return events that have at least two of the rarest terms of an event, those with most of them first."""
    rarest = sorted(counts, key=lambda term: (counts[term], term))[:MAX_COMPARED_TERMS]
    if not rarest:
        return []
    marks = ", ".join("?" * len(rarest))
    rows = session.run(
        f"SELECT t.event, count(*), max(e.last) FROM event_term t JOIN event e ON e.id = t.event "
        f"WHERE t.kind IN ('place', 'concept') AND t.term IN ({marks}) AND t.event <> ? GROUP BY t.event "
        "HAVING count(*) > 1 ORDER BY count(*) DESC, max(e.last) DESC, t.event LIMIT ?",
        [*rarest, event, limit],
    )
    return [str(row[0]) for row in rows]


def read_linked_events(session: Session, clusters: Sequence[int]) -> dict[str, float]:
    """Return the other events that clusters are linked to, with the highest probability for each."""
    if not clusters:
        return {}
    marks = ", ".join("?" * len(clusters))
    best: dict[str, float] = {}
    for end, other in (("a", "b"), ("b", "a")):
        rows = session.run(
            f"SELECT c.event, max(l.probability) FROM link l JOIN cluster c ON c.id = l.{other} "
            f"WHERE l.{end} IN ({marks}) AND c.event <> '' "
            f"AND c.event NOT IN (SELECT event FROM cluster WHERE id IN ({marks})) GROUP BY c.event",
            [*clusters, *clusters],
        )
        for event, probability in rows:
            best[str(event)] = max(best.get(str(event), 0.0), float(probability))
    return best
