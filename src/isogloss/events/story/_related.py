r"""Related events: linked to an event, or about the same names, places and concepts, but not the same event.

Events are compared by the terms that they share, weighted by how rare they are,

.. math::

    s(E, F) = \frac{\sum_{t \in E \cap F} i_t}{\sqrt{\sum_{t \in E} i_t \sum_{t \in F} i_t}},
    \qquad i_t = \log \frac{n}{n_t},

where :math:`n_t` of n events have the term t. A place counts if at least a quarter as many articles name it
as name the most frequent place of the event. The similarity halves with every year between the events. A link
between clusters of both events, which was not probable enough to merge them, but is more likely right than
wrong, counts by half its probability, p: the score is :math:`1 - (1 - s)(1 - p / 2)`.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import log, sqrt
from typing import Literal, Self

from isogloss.events.annotate import concept_label
from isogloss.events.event import Event
from isogloss.events.link import surface_forms

Relation = Literal["earlier", "later", "related"]

MIN_SIMILARITY, MIN_SHARED_TERMS = 0.3, 2
"""Events that are not linked are related if they are at least as similar and share so many terms."""

MIN_LINKED_SIMILARITY = 0.15
"""Linked events are related if they are at least as similar."""

MIN_LINK, MIN_STRONG_LINK = 0.5, 0.9
"""A link counts if it is at least as probable; events that share no term need a stronger one."""

HALF_LIFE = timedelta(days=365)
"""Time between two events that halves their similarity."""

MIN_PLACE_SHARE = 1 / 4
"""Mentions of a place that counts, as a share of those of the most frequent place of an event."""

_MAX_LABELS = 3


@dataclass(frozen=True)
class EventOutline:
    """The features by which events are compared."""

    id: str
    first: datetime
    last: datetime
    """Times of its first and last article."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """Names, places and concepts with their labels."""

    @classmethod
    def from_event(cls, event: Event) -> Self:
        """Return what an event is compared by: its strongest places, names and concepts."""
        written = ChainMap(*(dict(surface_forms(title, "")) for title in event.titles.values()))
        terms = {f"geo:{place}" for place in prominent_places(event.places)} | event.concepts.keys()
        labels = {term: concept_label(term) or written.get(term) for term in sorted(terms)}
        known = {term: label for term, label in labels.items() if label is not None}
        return cls(str(event.id), event.first, event.last, known)

    @property
    def middle(self) -> datetime:
        """The time halfway between the first and the last article."""
        return self.first + (self.last - self.first) / 2


@dataclass(frozen=True)
class RelatedEvent:
    """A related event."""

    id: str
    relation: Relation
    """Whether it came before or after, or at the same time."""
    score: float
    """Strength of the relation, from 0 to 1."""
    reason: str
    """Why, in words."""
    link: float | None = None
    """The probability of the strongest link between clusters of both events."""


def prominent_places(mentions: Mapping[str, float]) -> list[str]:
    """Return the places of an event that are more than asides, by the weights of their mentions.

    Examples
    --------
    >>> prominent_places({"Antofagasta": 12, "Chile": 11, "London": 1})
    ['Antofagasta', 'Chile']
    """
    least = MIN_PLACE_SHARE * max(mentions.values(), default=0.0)
    return [place for place, weight in mentions.items() if weight >= least]


def find_related(
    event: EventOutline,
    others: Iterable[EventOutline],
    weights: Mapping[str, float],
    links: Mapping[str, float] | None = None,
    *,
    limit: int = 10,
) -> list[RelatedEvent]:
    """Return the events that are related to an event, the most closely related first.

    Weights are those of :func:`term_weights`; a term without weight is ignored. ``links`` has, for events
    with clusters that are linked to those of the event, the highest probability.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> day = [datetime(2031, 3, n, tzinfo=UTC) for n in range(1, 9)]
    >>> quake = EventOutline("e1", day[0], day[2], {"geo:1": "Bergen", "word:earthquake": "earthquake"})
    >>> inquiry = EventOutline("e2", day[6], day[7], {"geo:1": "Bergen", "word:earthquake": "earthquake"})
    >>> weights = term_weights({"geo:1": 2, "word:earthquake": 5}, n_events=100)
    >>> for one in find_related(quake, [inquiry], weights):
    ...     print(one.relation, "-", one.reason)
    later - 4 days later; both are about Bergen and earthquake
    """
    links = links or {}
    found = [
        related
        for other in others
        if other.id != event.id
        and (related := _relate(event, other, weights, links.get(other.id))) is not None
    ]
    return sorted(found, key=lambda one: (-one.score, one.id))[:limit]


def term_weights(counts: Mapping[str, int], n_events: int) -> dict[str, float]:
    """Return the weight of each term from the number of events that have it."""
    return {term: log(n_events / count) for term, count in counts.items() if 0 < count < n_events}


def _relate(
    event: EventOutline, other: EventOutline, weights: Mapping[str, float], link: float | None
) -> RelatedEvent | None:
    shared = sorted(
        (term for term in event.terms.keys() & other.terms.keys() if weights.get(term, 0) > 0),
        key=lambda term: (-weights[term], term),
    )
    ours, theirs, both = (
        sum(weights.get(term, 0.0) for term in terms) for terms in (event.terms, other.terms, shared)
    )
    similarity = both / sqrt(ours * theirs) * 0.5 ** (_gap(event, other) / HALF_LIFE) if both else 0.0
    link = link if link is not None and link >= MIN_LINK else None
    similar = len(shared) >= MIN_SHARED_TERMS and similarity >= MIN_SIMILARITY
    linked = link is not None and (similarity >= MIN_LINKED_SIMILARITY or link >= MIN_STRONG_LINK)
    if not (similar or linked):
        return None
    score = 1 - (1 - similarity) * (1 - (link or 0.0) / 2)
    labels = list(dict.fromkeys(event.terms[term] for term in shared))[:_MAX_LABELS]
    relation = _relation(event, other)
    return RelatedEvent(
        other.id, relation, round(score, 4), _reason(event, other, relation, labels, link), link
    )


def _relation(event: EventOutline, other: EventOutline) -> Relation:
    if event.middle < other.first and event.last < other.middle:
        return "later"
    if other.middle < event.first and other.last < event.middle:
        return "earlier"
    return "related"


def _reason(
    event: EventOutline, other: EventOutline, relation: Relation, labels: list[str], link: float | None
) -> str:
    parts = [_distance(event, other, relation)]
    if labels:
        *first, last = labels
        parts.append(f"both are about {', '.join(first)} and {last}" if first else f"both are about {last}")
    if link is not None:
        parts.append(
            f"some of their articles are linked with {100 * link:.0f} %, but not the events as a whole"
        )
    return "; ".join(parts)


def _gap(event: EventOutline, other: EventOutline) -> timedelta:
    """Return the time between two events; none if they overlap."""
    return max(other.first - event.last, event.first - other.last, timedelta(0))


def _distance(event: EventOutline, other: EventOutline, relation: Relation) -> str:
    if relation == "related":
        return "at the same time"
    days = _gap(event, other) // timedelta(days=1)
    if days < 1:
        return "right after it" if relation == "later" else "right before it"
    return f"{days} day{'' if days == 1 else 's'} {relation}"
