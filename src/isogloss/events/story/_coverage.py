"""Coverage of an event: who reported first, how much later others followed, and who has not reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

MIN_SHARED_EVENTS = 4
"""A source is missed only if so many other events had articles of it and of those that report now."""

MIN_ABSENT_SHARE = 0.5
"""Minimum share of the events of the other sources that a missing source usually reports."""

_MAX_COMMON_SOURCES = 2
"""Sources of an event that another must share to be compared; one, if the event has one source."""


class SourceReport(NamedTuple):
    """The articles of one source about an event in one language."""

    source: str
    lang: str
    """Name and language."""
    articles: int
    """Number of its articles, including reprints."""
    first: datetime
    """Time of the first of them."""


@dataclass(frozen=True)
class SourceCoverage:
    """A source or a language, with the number of its articles and how long after the first it began."""

    name: str
    """Name of the source, or code of the language."""
    languages: tuple[str, ...]
    """Languages of its articles, those with most articles first."""
    articles: int
    """Number of articles, including reprints."""
    first: datetime
    """Time of its first article."""
    lag: timedelta
    """Time since the first article of the event."""


@dataclass(frozen=True)
class EventCoverage:
    """Sources and languages of an event in the order in which they began to report."""

    sources: tuple[SourceCoverage, ...]
    languages: tuple[SourceCoverage, ...]


@dataclass(frozen=True)
class AbsentSource:
    """A source that reported most comparable events, but not this one."""

    source: str
    """Its name."""
    reported: int
    events: int
    """Number of comparable events, and how many of them the source reported."""


def describe_coverage(reports: Iterable[SourceReport]) -> EventCoverage:
    """Return the sources and languages of an event by the time of their first article.

    Articles without a source count for their language only.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> at = [datetime(2031, 3, 5, hour, tzinfo=UTC) for hour in range(6, 9)]
    >>> reports = [SourceReport("Bote", "de", 3, at[2]), SourceReport("Gull", "en", 1, at[0])]
    >>> found = describe_coverage(reports)
    >>> [(one.name, str(one.lag)) for one in found.sources], [one.name for one in found.languages]
    ([('Gull', '0:00:00'), ('Bote', '2:00:00')], ['en', 'de'])
    """
    known = list(reports)
    sources = _group((one.source, one) for one in known if one.source)
    languages = _group((one.lang, one) for one in known)
    start = min((one.first for one in known), default=datetime.min)
    return EventCoverage(*(tuple(_summarise(groups, start)) for groups in (sources, languages)))


def absent_sources(
    reporting: AbstractSet[str], others: Iterable[Collection[str]], *, limit: int = 10
) -> list[AbsentSource]:
    """Return the sources that usually report together with those of an event, but have not.

    Other events are comparable if at least two of the sources of the event reported them. ``others`` has the
    sources of each other event.

    Examples
    --------
    >>> absent_sources({"Gull", "Bote"}, [{"Gull", "Bote", "Phare"}] * 4 + [{"Gull", "Bote", "Faro"}])
    [AbsentSource(source='Phare', reported=4, events=5)]
    """
    needed = min(_MAX_COMMON_SOURCES, len(reporting))
    if not needed:
        return []
    comparable = [set(other) for other in others if len(reporting & set(other)) >= needed]
    counts = Counter(source for other in comparable for source in other - reporting if source)
    n = len(comparable)
    found = [
        AbsentSource(source, count, n)
        for source, count in counts.items()
        if count >= MIN_SHARED_EVENTS and count >= MIN_ABSENT_SHARE * n
    ]
    return sorted(found, key=lambda one: (-one.reported, one.source))[:limit]


def _group(pairs: Iterable[tuple[str, SourceReport]]) -> dict[str, list[SourceReport]]:
    groups: dict[str, list[SourceReport]] = {}
    for name, report in pairs:
        groups.setdefault(name, []).append(report)
    return groups


def _summarise(groups: dict[str, list[SourceReport]], start: datetime) -> list[SourceCoverage]:
    found = []
    for name, reports in groups.items():
        counts = Counter[str]()
        for report in reports:
            counts[report.lang] += report.articles
        first = min(report.first for report in reports)
        languages = tuple(sorted(counts, key=lambda lang: (-counts[lang], lang)))
        found.append(SourceCoverage(name, languages, counts.total(), first, first - start))
    return sorted(found, key=lambda one: (one.first, one.name))
