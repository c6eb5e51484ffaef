"""The table of events that all commands print: title first, then id, languages, articles and days."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from isogloss.cli._console import Console

MAX_LISTED_LANGUAGES = 3
"""In a narrow table, more languages than these are counted instead of listed."""

MIN_WIDE_COLUMNS = 140
"""Columns of a wide table, also where the terminal has fewer."""

MAX_EXACT_SPAN = timedelta(days=300)
"""Periods longer than this are shown as months instead of days."""

Wide = Annotated[
    bool,
    typer.Option(
        "--wide", help="Print whole titles, all languages, places and confidence, in more than 80 columns."
    ),
]


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event as a table shows it."""

    id: str
    title: str
    languages: Sequence[str]
    articles: int
    reprints: int
    first: datetime
    last: datetime
    places: Sequence[str] = ()
    confidence: float | None = None


def print_events(events: Iterable[ShownEvent], *, wide: bool = False) -> None:
    """Print events as a table, which with ``wide`` is not squeezed into a narrow terminal."""
    console = Console()
    if wide:
        console.width = max(console.width, MIN_WIDE_COLUMNS)
    console.print(event_table(events, wide=wide))


def event_table(events: Iterable[ShownEvent], *, wide: bool = False) -> Table:
    """Return events as a table that fits 80 columns, or with ``wide`` has everything."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), expand=not wide)
    if wide:
        table.add_column("title", overflow="fold", min_width=20)
    else:  # what the other columns leave
        table.add_column("title", no_wrap=True, overflow="ellipsis", ratio=1)
    for name in ("id", "languages"):
        table.add_column(name, no_wrap=not (wide and name == "languages"))
    table.add_column("articles\n(reprints)", justify="right", min_width=10)
    table.add_column("days", no_wrap=True)
    if wide:
        table.add_column("places")
        table.add_column("confidence", justify="right", no_wrap=True)
    for event in events:
        more = (
            escape(", ".join(event.places)),
            "" if event.confidence is None else f"{event.confidence:.2f}",
        )
        table.add_row(
            escape(event.title),
            event.id,
            shown_languages(event.languages, wide=wide),
            shown_size(event.articles, event.reprints),
            shown_days(event.first, event.last),
            *(more if wide else ()),
        )
    return table


def shown_languages(languages: Sequence[str], *, wide: bool = False) -> str:
    """Format languages: their codes, or their number if there are many.

    Examples
    --------
    >>> shown_languages(["en", "de"]), shown_languages(["en", "de", "fr", "sl"])
    ('en de', '4')
    """
    return " ".join(languages) if wide or len(languages) <= MAX_LISTED_LANGUAGES else str(len(languages))


def shown_size(articles: int, reprints: int) -> str:
    """Format the number of articles including reprints, and the number of reprints."""
    return f"{articles + reprints:,} ({reprints:,})" if reprints else f"{articles:,}"


def shown_days(first: datetime, last: datetime) -> str:
    """Format the days from one time to another, with what they have in common once.

    Examples
    --------
    >>> shown_days(datetime(2025, 3, 5), datetime(2025, 3, 7))
    '5-7 Mar 2025'
    >>> shown_days(datetime(2025, 2, 27), datetime(2025, 3, 1))
    '27 Feb-1 Mar 2025'
    >>> shown_days(datetime(2024, 12, 31), datetime(2025, 1, 1)), shown_days(datetime(2025, 3, 5),
    ...     datetime(2025, 3, 5, 14))
    ('31 Dec 2024-1 Jan 2025', '5 Mar 2025')
    >>> shown_days(datetime(2023, 12, 31), datetime(2025, 1, 1))
    'Dec 2023-Jan 2025'
    """
    if last - first > MAX_EXACT_SPAN:
        return f"{first:%b %Y}-{last:%b %Y}"
    end = f"{last.day} {last:%b %Y}"
    if first.date() == last.date():
        return end
    month = "" if (first.year, first.month) == (last.year, last.month) else f" {first:%b}"
    year = "" if first.year == last.year else f" {first.year}"
    return f"{first.day}{month}{year}-{end}"
