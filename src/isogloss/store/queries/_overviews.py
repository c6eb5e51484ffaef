"""What the events of a place, a concept or a source have in common."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from isogloss.store.interface import Session

OVERVIEW_KINDS = ("place", "concept", "source")

MAX_OVERVIEW_EVENTS = 500
"""Events that an overview is made of, the newest ones."""

MAX_RELATED = 30
"""Places, concepts, sources and languages of an overview, of each the most frequent ones."""


@dataclass(frozen=True, slots=True)
class Overview:
    """What the newest events of a place, a concept or a source have in common.

    Attributes
    ----------
    kind, id : str
        ``place``, ``concept`` or ``source``, and its id or name.
    details : dict
        What events say about it: ``name`` and coordinates of a place, ``label`` of a concept.
    events, summarised : int
        Number of all its events, and of those that the other attributes summarise.
    timeline : dict of str to int
        Articles of these events by day.
    languages, sources : dict of str to int
        Languages and sources with the numbers of these events.
    places, concepts : list of dict
        Other places and concepts of these events, as in events, with the number of ``events``.
    """

    kind: str
    id: str
    details: Mapping[str, Any] = field(default_factory=dict)
    events: int = 0
    summarised: int = 0
    timeline: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, int] = field(default_factory=dict)
    places: list[dict[str, Any]] = field(default_factory=list)
    concepts: list[dict[str, Any]] = field(default_factory=list)


def read_overview(session: Session, kind: str, term: str) -> Overview | None:
    """Return an overview of the events of a place, a concept or a source; None if there are none."""
    ((total,),) = session.run("SELECT count(*) FROM event_term WHERE kind = ? AND term = ?", [kind, term])
    newest = (
        "SELECT e.id, e.data FROM event_term t JOIN event e ON e.id = t.event "
        "WHERE t.kind = ? AND t.term = ? ORDER BY e.last DESC, e.id DESC LIMIT ?"
    )
    rows = session.run(newest, [kind, term, MAX_OVERVIEW_EVENTS])
    if not rows:
        return None
    events = [json.loads(data) for _, data in rows]
    marks = ", ".join("?" * len(rows))
    sources = session.run(
        f"SELECT term, count(*) FROM event_term WHERE kind = 'source' AND event IN ({marks}) GROUP BY term",
        [event for event, _ in rows],
    )
    days: Counter[str] = Counter()
    for event in events:
        days.update(dict(event.get("timeline") or ()))
    related = {name: _related(event.get(name) or () for event in events) for name in ("places", "concepts")}
    own = related.get(f"{kind}s", {}).pop(term, {})
    return Overview(
        kind,
        term,
        details={name: value for name, value in own.items() if name not in ("events", "count", "weight")},
        events=int(total),
        summarised=len(events),
        timeline=dict(sorted(days.items())),
        languages=_most(Counter(lang for event in events for lang in event.get("languages") or ())),
        sources=_most({str(name): int(count) for name, count in sources if (kind, name) != ("source", term)}),
        places=_most_frequent(related["places"]),
        concepts=_most_frequent(related["concepts"]),
    )


def _related(lists: Iterable[Iterable[Mapping[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return things by their ids, each as in the first event that has it, with the number of events."""
    found: dict[str, dict[str, Any]] = {}
    for things in lists:
        for thing in things:
            entry = found.setdefault(str(thing["id"]), {**thing, "events": 0})
            entry["events"] += 1
    return found


def _most_frequent(things: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(things.values(), key=lambda thing: (-thing["events"], str(thing["id"])))[:MAX_RELATED]


def _most(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MAX_RELATED])
