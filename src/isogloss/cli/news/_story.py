"""``isogloss events show``: titles, chapters, related events, numbers and sources of an event of a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isogloss.cli._options import Json
from isogloss.cli._output import echo, echo_json
from isogloss.cli.news._event_table import shown_days
from isogloss.cli.store._options import Config, StorePlace, load_settings, open_store

if TYPE_CHECKING:
    from isogloss.service.story import EventStory

MAX_SOURCES = 5


def show_event(
    event: Annotated[str, typer.Argument(help="The id of an event, such as e42.")],
    config: Config = None,
    store: StorePlace = None,
    lang: Annotated[
        str, typer.Option("--lang", "-l", help="Language of titles, where an event has one in it.")
    ] = "en",
    as_json: Json = False,
) -> None:
    """Show titles, chapters, related events, numbers that differ and sources of an event of a store."""
    from isogloss.exceptions import StoreError
    from isogloss.service.story import StoryReader

    settings = load_settings(config, store)
    with open_store(settings) as opened:
        found = opened.event(event)
        if found is None:
            raise StoreError(f"there is no event {event!r}; isogloss events list shows the ids of events")
        story = StoryReader(opened, max_articles=settings.limits.story_articles).read(found)
    if as_json:
        echo_json({"id": found["id"]} | story.as_dict())
        return
    for line in _lines(found, story, lang):
        echo(line)


def _lines(event: Mapping[str, Any], story: EventStory, lang: str) -> Iterator[str]:
    """Yield the story of an event as text; parts of which nothing is known are left out."""
    from isogloss.service.story import describe_lag, format_value
    from isogloss.store import from_micros

    yield _title(event.get("title") or {}, lang)
    days = shown_days(from_micros(event["first"]), from_micros(event["last"]))
    yield f"{days}, {_counted(event['size'], 'article')}, {_counted(len(story.titles), 'language')}"
    yield from _part("titles", [f"{one.lang:<4}{one.title}" for one in story.titles])
    chapters = [
        f"{number}. {shown_days(chapter.first, chapter.last)}: {_title(chapter.titles, lang)}"
        for number, chapter in enumerate(story.chapters, 1)
    ]
    yield from _part("chapters", chapters if len(chapters) > 1 else [])
    related = [
        f"{one.id}  {one.relation}: {_title(other.get('title') or {}, lang)} ({one.reason})"
        for one, other in story.related
    ]
    yield from _part("related events", related)
    numbers = []
    for quantity in story.quantities:
        values = []
        for code, one in quantity.latest.items():
            differs = " (differs)" if code in quantity.differing else ""
            values.append(f"{code} {format_value(one.value, quantity.kind)}{differs}")
        numbers.append(f"{quantity.kind}: {', '.join(values)}")
    yield from _part("numbers", numbers)
    sources = [
        f"{one.name}: {_counted(one.articles, 'article')}, {describe_lag(one.lag)}"
        for one in story.coverage.sources[:MAX_SOURCES]
    ]
    if len(story.coverage.sources) > MAX_SOURCES:
        sources.append(f"and {len(story.coverage.sources) - MAX_SOURCES} more; --json lists all of them")
    yield from _part("sources", sources)
    absent = [
        f"{one.source}: {one.reported} of {one.events} comparable events" for one in story.absent_sources
    ]
    yield from _part("usually report, but have not", absent)
    yield from _part("no article in", [" ".join(story.absent_languages)] if story.absent_languages else [])


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _part(heading: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"\n{heading}"
        yield from (f"  {line}" for line in lines)


def _title(titles: Mapping[str, str], lang: str) -> str:
    return titles.get(lang) or next(iter(titles.values()), "") or "untitled"
