r"""The importance of events: what the front page is sorted by.

.. math::

    2 \log_2 \text{languages} + \log_2 (1 + \text{sources}) + \log_2 \sum_a 2^{t_a / 24\,\text{h}}
    - \tfrac12 \log_2 \text{articles}

with the articles :math:`a` of the event and their times :math:`t_a`. An event that twice as many languages
report counts four times as much, and one that twice as many sources report about twice as much. The sum is
the current coverage: the weight of an article halves every 24 hours, so events that grow rise, and others
sink. The last term prefers new events to old ones with the same current coverage. A new article never lowers
the importance.

As time passes, all events lose the same, so their order depends on the articles alone and not on the time of
the query. The importance is a column with an index, in thousandths; it is computed when an event changes.

In a store with few events, such as an archive with a press release a week, a day's difference would outweigh
all else. There events sink more slowly: :func:`sparse_half_life_days` is the half-life that replaces 24 hours
in the term of the time of the last article when events are sorted.

In a store with few events, such as an archive with a press release a week, a day more would outweigh all
else. There events sink more slowly: when events are sorted, :func:`sparse_half_life_days` replaces the 24
hours in the term of the time of the last article.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import date
from math import exp2, log, log2
from typing import Any

from isogloss.store.interface import Session

HALF_LIFE_HOURS = 24
"""Time in which the weight of an article halves."""

MAX_HALF_LIFE_DAYS = 4096
"""The largest half-life of sparse stores."""

_RECENT_EVENTS = 20
"""The half-life of a sparse store is about the time in which it gets so many events."""

_UNITS = 1000
"""Units of the column per doubling."""

_DAY_US = 86_400_000_000
_HALF_LIFE_US = HALF_LIFE_HOURS * _DAY_US // 24
_EPOCH = date(1970, 1, 1)

_SOURCES_TERM = f"CAST(round(ln(CAST(1 + sources AS DOUBLE PRECISION)) * {_UNITS / log(2)!r}) AS BIGINT)"
_REMOVE_SOURCES_TERM = f"UPDATE {{0}}event SET importance = importance - {_SOURCES_TERM} WHERE id = ?"
_REFRESH_SOURCES = (
    "DELETE FROM {0}event_term WHERE event = ? AND kind = 'source'",
    "INSERT INTO {0}event_term SELECT DISTINCT e.id, 'source', m.source FROM {0}event e "
    "JOIN {0}cluster c ON c.event = e.id JOIN {0}member m ON m.cluster = c.id "
    "WHERE e.id = ? AND m.source <> ''",
    "UPDATE {0}event SET sources = (SELECT count(*) FROM {0}event_term t "
    "WHERE t.event = {0}event.id AND t.kind = 'source') WHERE id = ?",
    f"UPDATE {{0}}event SET importance = importance + {_SOURCES_TERM} WHERE id = ?",
)


def importance_without_sources(
    languages: int, articles: int, last: int, timeline: Sequence[Sequence[Any]]
) -> int:
    """Return the importance of an event but for the term of its sources, in thousandths.

    The articles of a day count as if they were of its end, or of the time of the last article. The timeline
    has days with their numbers of articles.

    Examples
    --------
    >>> day = 86_400_000_000
    >>> today, growing = [["1970-01-10", 8]], [["1970-01-09", 2], ["1970-01-10", 6]]
    >>> importance_without_sources(1, 8, 10 * day, today), importance_without_sources(1, 8, 10 * day, growing)
    (11500, 11307)
    """
    days = [((date.fromisoformat(day) - _EPOCH).days + 1, count) for day, count in timeline]
    ages = [(max(last - end * _DAY_US, 0) / _HALF_LIFE_US, count) for end, count in days]
    coverage = sum(count * exp2(-age) for age, count in ages) or articles
    doublings = 2 * log2(languages) + last / _HALF_LIFE_US + log2(coverage) - log2(articles) / 2
    return round(_UNITS * doublings)


def sparse_half_life_days(session: Session) -> int:
    """Return the half-life by which events are sorted: a power of two, 1 unless there are few events a day.

    It depends on the times of articles and not on when they arrived, so it is the same for an archive that
    was imported at once.
    """
    rows = session.run(
        "SELECT last FROM (SELECT last, id FROM event ORDER BY last DESC, id DESC LIMIT ?) AS newest "
        "ORDER BY last",
        [_RECENT_EVENTS],
    )
    if len(rows) < _RECENT_EVENTS:
        return 1
    days = (rows[-1][0] - rows[0][0]) / _DAY_US
    return int(min(max(1, 2 ** round(log2(max(days, 1)))), MAX_HALF_LIFE_DAYS))


def importance_order(half_life_days: int) -> str:
    """Return the importance as an SQL expression, with another half-life in the term of the last time."""
    day = _DAY_US // _UNITS
    return f"(importance - last / {day} + last / {day * half_life_days})"


def source_statements(
    new: Iterable[str], others: Iterable[str], prefix: str = ""
) -> list[tuple[str, Sequence[Sequence[Any]]]]:
    """Return the statements that store the sources of events and add their term to the importance.

    The importance of ``new`` events is that of :func:`importance_without_sources`; that of the others has the
    term of the sources that they had before. The tables of a rebuild have a prefix.
    """
    old = [(event,) for event in sorted(set(others))]
    every = [(event,) for event in new] + old
    statements = [(_REMOVE_SOURCES_TERM, old), *((sql, every) for sql in _REFRESH_SOURCES)]
    return [(sql.format(prefix), values) for sql, values in statements]


def rank_stored_events(session: Session) -> None:
    """Store the sources and the importance of all events, also of a rebuild that has begun."""
    for prefix in ("", "rebuilt_"):
        rows = session.run(f"SELECT id, languages, size, last, data FROM {prefix}event")
        session.run_many(
            f"UPDATE {prefix}event SET importance = ? WHERE id = ?",
            [
                (
                    importance_without_sources(languages, size, last, json.loads(data).get("timeline") or ()),
                    event,
                )
                for event, languages, size, last, data in rows
            ],
        )
        for sql, values in source_statements([row[0] for row in rows], [], prefix):
            session.run_many(sql, values)
