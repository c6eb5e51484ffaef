"""Articles, events and errors as types: OpenAPI, checks and the reference of the API come from here."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from isogloss.store import from_micros

__all__ = [
    "Accepted",
    "ArticleAnswer",
    "ArticleLine",
    "ArticlePage",
    "ClusterAnswer",
    "EventAnswer",
    "EventArticle",
    "EventConcept",
    "EventPage",
    "EventPlace",
    "EventSummary",
    "Fault",
    "LinkAnswer",
    "Moment",
    "Number",
    "Problem",
    "ReceiptAnswer",
    "Record",
    "Refusal",
    "RevisionAnswer",
    "Sent",
    "VerdictAnswer",
    "VerdictRequest",
    "WrongField",
    "moment",
]

MAX_NUMBER = 2**63 - 1

Number = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
"""A number that a database can hold."""

_RECORD = {
    "title": "Record",
    "type": "object",
    "description": "An article as it came. A time and one of title and body are needed; what can be repaired "
    "is repaired: languages are identified, markup is removed, times without zone are UTC.",
    "properties": {
        "id": {"type": ["string", "integer"], "description": "What the source calls it."},
        "lang": {"type": "string", "description": "A language tag such as en, en-US or eng."},
        "title": {"type": "string"},
        "body": {"type": "string"},
        "time": {"type": ["string", "number"], "description": "ISO 8601, RFC 2822 or seconds since 1970."},
        "source": {"type": "string", "description": "Who published it."},
        "url": {"type": "string", "description": "Where it was published."},
    },
    "examples": [
        {
            "id": "7",
            "lang": "en",
            "title": "Storm over the coast",
            "body": "Roofs flew.",
            "time": "2025-03-05T08:40:00+01:00",
            "source": "The Gull",
            "url": "https://gull.example/7",
        }
    ],
}

Record = Annotated[Any, WithJsonSchema(_RECORD)]
"""An article before it is checked: one bad record among many is refused alone."""


def _iso(value: Any) -> Any:
    """Only texts that begin with a day: a bare number could be anything."""
    if not isinstance(value, str) or not re.match(r"\d{4}-\d\d-\d\d", value):
        raise ValueError("expected a time such as 2025-03-05T08:40:00Z or 2025-03-05")
    return value


Moment = Annotated[
    datetime,
    BeforeValidator(_iso),
    WithJsonSchema(
        {
            "type": "string",
            "anyOf": [{"format": "date-time"}, {"format": "date"}],
            "description": "A day or a time as in ISO 8601; without a zone it is UTC.",
            "examples": ["2025-03-05T08:40:00Z"],
        }
    ),
]


def moment(value: int) -> datetime:
    """A time of the store as one of an answer."""
    return from_micros(value)


class Sent(BaseModel):
    """What a client sends: a field that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Refusal(BaseModel):
    """An article that was not taken, and why; it is kept in the quarantine."""

    at: int = Field(description="Its place among those that were sent, from 0.")
    reason: str = Field(description="The kind of problem, in a word or two.", examples=["without time"])
    message: str = Field(description="The problem in a sentence.")


class WrongField(BaseModel):
    """A field that is not as it should be."""

    where: str = Field(examples=["body.a.text"])
    message: str


class Fault(BaseModel):
    """What went wrong."""

    code: str = Field(description="For programs.", examples=["not_found"])
    message: str = Field(description="For people: what came, what was expected, what to do.")
    fields: list[WrongField] = Field(default=[], description="Fields that are wrong, if that is the problem.")
    refused: list[Refusal] = Field(default=[], description="Articles that were refused, if all were.")


class Problem(BaseModel):
    """The one shape of every error."""

    error: Fault


class ReceiptAnswer(BaseModel):
    """What became of an article that was sent."""

    at: int = Field(description="Its place among those that were sent, from 0.")
    seq: int = Field(description="Its number, for GET /articles/{seq}.")
    key: str = Field(
        description="What tells it from others: its source, a blank, and its URL or else its id; a tab in "
        "place of the blank if the URL or id has blanks."
    )
    status: Literal["new", "revised", "same", "deleted"] = Field(
        description="`revised` if its text or its time is another than before; `deleted` if it was deleted "
        "on request, and is therefore not stored."
    )
    cut: list[Literal["title", "body"]] = Field(
        default=[],
        description="Fields that were longer than limits.title_characters or limits.article_characters; "
        "they were cut and end with an ellipsis.",
    )


class Accepted(BaseModel):
    """What became of articles: those taken are on the disk."""

    receipts: list[ReceiptAnswer]
    refused: list[Refusal] = []
    older_than_retention: int = Field(
        0, description="Articles that are older than store.keep_days; the next pruning may delete them."
    )


class RevisionAnswer(BaseModel):
    """A text that an article had before."""

    number: int
    lang: str
    title: str
    body: str
    time: datetime
    received: datetime


class ArticleAnswer(BaseModel):
    """An article with its earlier texts, the oldest first."""

    seq: int
    id: str
    lang: str
    title: str
    body: str
    time: datetime
    source: str
    url: str
    cluster: int | None = Field(None, description="The cluster it is in, once it is in one.")
    event: str | None = Field(None, description="The event of that cluster.")
    revisions: list[RevisionAnswer] = []


Day = Annotated[
    tuple[str, int],
    WithJsonSchema({"type": "array", "items": {"type": ["string", "integer"]}, "minItems": 2, "maxItems": 2}),
]
Alike = Annotated[
    tuple[int, int, float],
    WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}),
]


class EventPlace(BaseModel):
    """A place that articles of an event name."""

    model_config = ConfigDict(extra="allow")

    id: str | int
    name: str
    country: str = ""
    latitude: float | None = None
    longitude: float | None = None
    count: int = Field(1, description="Articles that name it.")


class EventConcept(BaseModel):
    """What an event is about, whatever the language."""

    model_config = ConfigDict(extra="allow")

    id: str
    label: str
    weight: float = 1.0


class EventSummary(BaseModel):
    """An event; further fields that the stream has found out come along."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(examples=["e42"])
    first: datetime = Field(description="Time of its first article.")
    last: datetime = Field(description="Time of its last article.")
    size: int = Field(description="Number of articles, without reprints.")
    languages_count: int
    changed: int = Field(description="The line of the journal at which it changed last.")
    title: dict[str, str] = Field(default={}, description="A title in each language.")
    summary: dict[str, str] = Field(default={}, description="A sentence in each language.")
    languages: dict[str, int] = Field(default={}, description="Articles in each language.")
    timeline: list[Day] = Field(default=[], description="Days, and articles of each.")
    places: list[EventPlace] = []
    concepts: list[EventConcept] = []
    confidence: float | None = Field(None, description="How sure its links are, from 0 to 1.")


class EventPage(BaseModel):
    """Events, and where the next page begins."""

    events: list[EventSummary]
    cursor: str = Field(description="For the parameter cursor of the next page; empty at the end.")


class ClusterAnswer(BaseModel):
    """Articles of one language that tell one story."""

    model_config = ConfigDict(extra="allow")

    id: int
    lang: str
    first: datetime
    last: datetime
    size: int = Field(description="Number of articles, with reprints.")
    title: str = ""
    event: str | None = Field(None, description="The event it belongs to.")
    articles: list[int] = Field(description="Numbers of its articles, with reprints.")
    reprints: list[int] = Field(default=[], description="Those of them that repeat others.")
    reprint_of: dict[int, int] = Field(default={}, description="Which article each reprint repeats.")


class LinkAnswer(BaseModel):
    """Two clusters, how likely they are one event, and why."""

    model_config = ConfigDict(extra="allow")

    a: int
    b: int
    probability: float
    features: dict[str, float | None] = Field(
        default={}, description="What was compared; null where it says nothing."
    )
    contributions: dict[str, float | None] = Field(
        default={}, description="What each of them adds to the probability, on the scale of log odds."
    )
    pairs: list[Alike] = Field(
        default=[], description="Numbers of articles of both that are most alike, with their similarity."
    )


class ArticleLine(BaseModel):
    """An article without its body."""

    seq: int
    lang: str
    title: str
    time: datetime
    source: str
    url: str


class EventArticle(ArticleLine):
    """An article of an event, without its body."""

    reprint_of: int | None = Field(None, description="The article that it repeats, if it is a reprint.")


class ArticlePage(BaseModel):
    """Articles without their bodies, and where the next page begins."""

    articles: list[ArticleLine]
    cursor: str = Field(description="For the parameter cursor of the next page; empty at the end.")


class EventAnswer(EventSummary):
    """An event with all that belongs to it."""

    clusters: list[ClusterAnswer]
    links: list[LinkAnswer]
    articles: list[EventArticle] = Field(
        description="With reprints, the newest first; at most 500, see GET /articles."
    )
    reprints: int = Field(0, description="Articles that repeat others; `size` leaves them out.")


class VerdictRequest(Sent):
    """What somebody says about two clusters."""

    same: bool = Field(strict=True, description="Whether they are about one event.")
    note: str = Field("", max_length=1000)


class VerdictAnswer(BaseModel):
    """A verdict that was kept, for the next training of the linker."""

    seq: int
    a: int
    b: int
    articles: list[int] = Field(description="Numbers of an article of each, which the verdict is about.")
    same: bool
