"""The story of an event on its page: titles with glosses, chapters, related events, sources, quantities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from isogloss.events import Article
from isogloss.events.story import Chapter, QuantityMention
from isogloss.service.models import Gloss, Glosser
from isogloss.service.story import EventStory, format_value

MAX_TITLE_ROWS = 12
"""Titles that are shown at once; the others are in a list that opens."""

MAX_SOURCES = 10
"""Sources that are shown at once."""

MAX_QUANTITIES = 8
MAX_QUANTITY_LANGUAGES = 12

_RELATIONS = (("earlier", "Before"), ("related", "At the same time"), ("later", "Afterwards"))

_CERTAINTY = (
    (0.9, "very probably one event"),
    (0.7, "probably one event"),
    (0.5, "perhaps more than one event"),
    (0.0, "doubtful: perhaps several events"),
)
"""Words for the confidence of an event, by its minimum."""


class TitleRow(NamedTuple):
    """A title with its gloss and its article."""

    lang: str
    title: str
    gloss: Gloss | None
    article: Article | None


@dataclass(frozen=True)
class ChapterView:
    """A chapter with its number, and its title in the language of the reader if there is one."""

    number: int
    chapter: Chapter
    lang: str
    title: str
    gloss: Gloss | None


@dataclass(frozen=True)
class RelatedView:
    """A related event with its title in the language of the reader if there is one."""

    id: str
    lang: str
    title: str
    first: int
    last: int
    reason: str


class ValueRow(NamedTuple):
    """The statements about a quantity in one language."""

    lang: str
    value: str
    differs: bool
    mention: QuantityMention
    earlier: tuple[str, ...]


class QuantityView(NamedTuple):
    """A quantity, its value in each language, and in how many more languages it is stated."""

    kind: str
    range: str
    """The least and the largest value, if they differ."""
    rows: list[ValueRow]
    more: int


@dataclass(frozen=True)
class StoryView:
    """The story of an event as its page shows it."""

    story: EventStory
    titles: list[TitleRow]
    chapters: list[ChapterView]
    related: list[tuple[str, list[RelatedView]]]
    quantities: list[QuantityView]

    @property
    def chapter_days(self) -> list[str]:
        """First days of the chapters, if there are several."""
        days = [view.chapter.first.date().isoformat() for view in self.chapters]
        return days if len(days) > 1 else []


def view_story(story: EventStory, glosser: Glosser, preferred: Sequence[str]) -> StoryView:
    """Return what the page of an event shows of its story, in the languages that the reader prefers."""
    titles = [
        TitleRow(lang, title, glosser.gloss(title, lang, preferred), article)
        for lang, title, article in story.titles
    ]
    titles.sort(key=lambda row: preferred.index(row.lang) if row.lang in preferred else len(preferred))
    chapters = []
    for number, chapter in enumerate(story.chapters, 1):
        lang, title = _preferred_title(chapter.titles, preferred)
        chapters.append(ChapterView(number, chapter, lang, title, glosser.gloss(title, lang, preferred)))
    return StoryView(story, titles, chapters, _related(story, preferred), _quantities(story))


def certainty(event: Mapping[str, Any]) -> str:
    """Return in words how certain it is that the articles of an event belong together.

    Examples
    --------
    >>> certainty({"size": 9, "confidence": 0.83, "clusters": [{"id": 1}, {"id": 2}]})
    'probably one event (83 %)'
    >>> certainty({"size": 9, "confidence": 1.0, "clusters": [{"id": 1}]})
    'grouped by their wording alone'
    >>> certainty({"size": 1, "confidence": 1.0, "clusters": [{"id": 1}]})
    ''
    """
    if event["size"] < 2:
        return ""
    if len(event["clusters"]) < 2:
        return "grouped by their wording alone"
    confidence = event.get("confidence")
    if confidence is None:
        return ""
    words = next(words for least, words in _CERTAINTY if confidence >= least)
    return f"{words} ({min(100 * confidence, 99):.0f} %)"


def _preferred_title(titles: Mapping[str, str], preferred: Sequence[str]) -> tuple[str, str]:
    lang = next((code for code in [*preferred, *titles] if titles.get(code)), "")
    return lang or "en", titles.get(lang) or "Untitled"


def _related(story: EventStory, preferred: Sequence[str]) -> list[tuple[str, list[RelatedView]]]:
    groups: dict[str, list[RelatedView]] = {}
    for related, event in story.related:
        lang, title = _preferred_title(event.get("title") or {}, preferred)
        view = RelatedView(related.id, lang, title, event["first"], event["last"], related.reason)
        groups.setdefault(related.relation, []).append(view)
    for views in groups.values():
        views.sort(key=lambda view: (view.first, view.id))
    return [(heading, groups[relation]) for relation, heading in _RELATIONS if relation in groups]


def _quantities(story: EventStory) -> list[QuantityView]:
    """Return the quantities that more than one language states or that changed, those that differ first."""
    views = []
    compared = [
        one for one in story.quantities if len(one.latest) > 1 or len({m.value for m in one.mentions}) > 1
    ]
    for quantity in sorted(compared, key=lambda one: not one.differing)[:MAX_QUANTITIES]:
        rows = []
        for lang, mention in quantity.latest.items():
            before = [
                format_value(one.value, quantity.kind)
                for one in quantity.mentions
                if one.article.lang == lang and one.value != mention.value
            ]
            value, differs = format_value(mention.value, quantity.kind), lang in quantity.differing
            rows.append(ValueRow(lang, value, differs, mention, tuple(dict.fromkeys(before))))
        rows.sort(key=lambda row: (not row.differs, -row.mention.article.time.timestamp(), row.lang))
        shown = rows[:MAX_QUANTITY_LANGUAGES]
        values = sorted({mention.value for mention in quantity.latest.values()})
        limits = " to ".join(format_value(value, quantity.kind) for value in (values[0], values[-1]))
        name = f"amount in {quantity.kind}" if quantity.kind.isupper() else quantity.kind
        views.append(QuantityView(name, limits if len(values) > 1 else "", shown, len(rows) - len(shown)))
    return views
