"""Request and response bodies of the API; the OpenAPI document is generated from them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from isogloss.service.auth import MAX_TOKEN_DAYS

MAX_INT64 = 2**63 - 1

Number = Annotated[int, Field(ge=0, le=MAX_INT64)]
"""Id or sequence number that fits into a 64-bit column."""

Record = Annotated[
    Any,
    WithJsonSchema(
        {
            "title": "Record",
            "type": "object",
            "description": "An article. `time` and at least one of `title` and `body` are required. Records "
            "are repaired where possible: a missing language is identified, markup is removed, and times "
            "without a zone are read as UTC.",
            "properties": {
                "id": {"type": ["string", "integer"], "description": "Id of the article at its source."},
                "lang": {"type": "string", "description": "Language tag such as en, en-US or eng."},
                "title": {"type": "string"},
                "body": {"type": "string"},
                "time": {
                    "type": ["string", "number"],
                    "description": "ISO 8601, RFC 2822 or seconds since 1970.",
                },
                "source": {"type": "string", "description": "Name of the publisher."},
                "url": {"type": "string", "description": "Address of the article."},
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
    ),
]
"""Unvalidated article: records are validated one by one, so an invalid one does not affect the others."""


def _require_iso(value: Any) -> Any:
    """Reject bare numbers, which pydantic would read as seconds since 1970."""
    if not isinstance(value, str) or not re.match(r"\d{4}-\d\d-\d\d", value):
        raise ValueError("expected a time such as 2025-03-05T08:40:00Z or 2025-03-05")
    return value


Timestamp = Annotated[
    datetime,
    BeforeValidator(_require_iso),
    WithJsonSchema(
        {
            "type": "string",
            "anyOf": [{"format": "date-time"}, {"format": "date"}],
            "description": "ISO 8601 date or time; UTC unless it has a zone.",
            "examples": ["2025-03-05T08:40:00Z"],
        }
    ),
]


class RequestBody(BaseModel):
    """Base of request bodies: unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class RejectedArticle(BaseModel):
    """An article that was not accepted, and why; it is kept in the quarantine."""

    at: int = Field(description="Position in the request, from 0.")
    reason: str = Field(description="Kind of problem, in a word or two.", examples=["without time"])
    message: str = Field(description="The problem in one sentence.")


class FieldError(BaseModel):
    """An invalid field."""

    where: str = Field(examples=["body.a.text"])
    message: str


class ErrorDetails(BaseModel):
    """The details of an error."""

    code: str = Field(description="Error code for programs.", examples=["not_found"])
    message: str = Field(description="Explanation: what was received, what was expected, what to do.")
    fields: list[FieldError] = Field(default=[], description="Invalid fields, if any.")
    refused: list[RejectedArticle] = Field(default=[], description="Rejected articles, if none was accepted.")


class ErrorBody(BaseModel):
    """Body of every error response."""

    error: ErrorDetails


class ReceiptResponse(BaseModel):
    """Outcome for one article of a request."""

    at: int = Field(description="Position in the request, from 0.")
    seq: int = Field(description="Number of the article, for GET /articles/{seq}.")
    key: str = Field(
        description="Identity of the article: source, space, and URL (or id if it has no URL); separated by "
        "a tab if the URL or id contains spaces."
    )
    status: Literal["new", "revised", "same", "deleted"] = Field(
        description="`revised`: the text or the time changed. `deleted`: the article was deleted on request "
        "and has not been stored again."
    )
    cut: list[Literal["title", "body"]] = Field(
        default=[],
        description="Fields that exceeded limits.title_characters or limits.article_characters; they were "
        "truncated and end with an ellipsis.",
    )


class IngestResponse(BaseModel):
    """Outcome of sending articles; accepted ones are committed to disk."""

    receipts: list[ReceiptResponse]
    refused: list[RejectedArticle] = []
    older_than_retention: int = Field(
        0, description="Number of articles older than store.keep_days; the next pruning may delete them."
    )


class RevisionResponse(BaseModel):
    """An earlier version of an article."""

    number: int
    lang: str
    title: str
    body: str
    time: datetime
    received: datetime


class ArticleResponse(BaseModel):
    """An article with its earlier versions, oldest first."""

    seq: int
    id: str
    lang: str
    title: str
    body: str
    time: datetime
    source: str
    url: str
    cluster: int | None = Field(None, description="Cluster of the article, once it has one.")
    event: str | None = Field(None, description="Event of that cluster.")
    revisions: list[RevisionResponse] = []


DayCount = Annotated[
    tuple[str, int],
    WithJsonSchema({"type": "array", "items": {"type": ["string", "integer"]}, "minItems": 2, "maxItems": 2}),
]
SimilarPair = Annotated[
    tuple[int, int, float],
    WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}),
]


class EventPlace(BaseModel):
    """A place that articles of an event mention."""

    model_config = ConfigDict(extra="allow")

    id: str | int
    name: str
    country: str = ""
    latitude: float | None = None
    longitude: float | None = None
    count: int = Field(1, description="Number of articles that mention it.")


class EventConcept(BaseModel):
    """A language-independent subject of an event."""

    model_config = ConfigDict(extra="allow")

    id: str
    label: str
    weight: float = 1.0


class EventSummary(BaseModel):
    """An event without its articles; it may have further fields."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(examples=["e42"])
    first: datetime = Field(description="Time of the first article.")
    last: datetime = Field(description="Time of the last article.")
    size: int = Field(description="Number of articles, without reprints.")
    languages_count: int
    sources_count: int = Field(description="Number of sources, with those of reprints.")
    importance: int = Field(
        description="A thousand units per doubling; only the difference of two events means anything."
    )
    created: int = Field(description="Journal line at which the event was new.")
    changed: int = Field(description="Journal line of the last change.")
    title: dict[str, str] = Field(default={}, description="Title by language.")
    summary: dict[str, str] = Field(default={}, description="One-sentence summary by language.")
    languages: dict[str, int] = Field(default={}, description="Number of articles by language.")
    timeline: list[DayCount] = Field(default=[], description="Days with their numbers of articles.")
    places: list[EventPlace] = []
    concepts: list[EventConcept] = []
    confidence: float | None = Field(None, description="Confidence in the links of the event, from 0 to 1.")


class SearchMatch(BaseModel):
    """How an event matches the free text of a search."""

    relevance: float = Field(description="Comparable between queries; 0.575 and more is relevant.")
    reasons: list[Literal["text", "name", "place", "concept", "meaning"]] = Field(
        description="Why it was found, the strongest reason first."
    )
    article: int | None = Field(description="Number of the newest article that matches.")


class RelatedPlace(EventPlace):
    """A place that events of an overview name."""

    events: int = Field(description="Number of the events that name it.")


class RelatedConcept(EventConcept):
    """A concept of the events of an overview."""

    events: int = Field(description="Number of the events that have it.")


class OverviewResponse(BaseModel):
    """What the newest events of a place, a concept or a source have in common."""

    kind: Literal["place", "concept", "source"]
    id: str
    details: dict[str, Any] = Field(description="What events say about it, such as `name` or `label`.")
    events: int = Field(description="Number of its events.")
    summarised: int = Field(description="Number of the newest of them that everything else is about.")
    timeline: dict[str, int] = Field(description="Articles by day.")
    languages: dict[str, int] = Field(description="Events by language.")
    sources: dict[str, int] = Field(description="Events by source.")
    places: list[RelatedPlace] = Field(description="Other places, the most frequent ones first.")
    concepts: list[RelatedConcept] = Field(description="Other concepts, the most frequent ones first.")


class EventPage(BaseModel):
    """One page of events."""

    events: list[EventSummary]
    cursor: str = Field(description="Pass as `cursor` to get the next page; empty on the last page.")
    matches: dict[str, SearchMatch] = Field(
        default={}, description="How these events match the free text, by their ids."
    )
    weaker: int = Field(0, description="Number of weaker matches before filters, which `weak` adds.")


SearchSort = Literal["relevance", "importance", "last", "size", "languages", "changed"]
Filter = Annotated[str, Field(max_length=200)]


def _filters(description: str) -> Any:
    return Field(default=[], max_length=20, description=f"{description} May be repeated.")


class SearchParameters(RequestBody):
    """What to search for: free text and filters."""

    q: str = Field(
        "",
        max_length=2000,
        description='Free text in any language. `"quoted words"` must follow each other; `-word` and '
        '`-"quoted words"` must not occur.',
        examples=['"storm surge" -football'],
    )
    since: Timestamp | None = Field(None, description="Only events with an article since then.")
    until: Timestamp | None = Field(None, description="Only events with an article until then.")
    lang: list[Filter] = _filters("Language tag such as `de`, `deu` or `de-AT`.")
    place: list[Filter] = _filters("Id or English name of a place, or the code of a country.")
    concept: list[Filter] = _filters("Id or label of a concept.")
    source: list[Filter] = _filters("Name of a publisher, exactly as in its articles.")
    without: list[Filter] = _filters("Language tag: only events without an article in this language.")
    min_languages: int = Field(1, ge=1, le=1000)
    min_size: int = Field(1, ge=1, le=10**9)
    sort: SearchSort | None = Field(
        None, description="Descending; the default is `relevance` with `q`, and `last` without it."
    )


class EventParameters(SearchParameters):
    """What to search for, and which page of events to return."""

    limit: int = Field(50, ge=1, le=200)
    cursor: str = Field("", max_length=1000, description="The `cursor` of the previous page.")
    weak: bool = Field(False, description="Also return events that match the free text weakly.")


class AlertRequest(RequestBody):
    """What to be alerted of, and how; either `event` or `search`."""

    event: str | None = Field(None, max_length=200, description="Id of an event.", examples=["e42"])
    search: Number | None = Field(None, description="Id of a saved search.")
    channel: Literal["webhook", "mail"]
    address: str = Field(
        max_length=2048, description="URL or e-mail address.", examples=["https://desk.example/hook"]
    )
    minutes: int = Field(
        0, ge=0, le=10_080, description="Least time between two deliveries; an e-mail has all changes since."
    )


class AlertResponse(BaseModel):
    """An alert, without its secret."""

    id: int
    event: str | None
    search: int | None
    channel: Literal["webhook", "mail"]
    address: str
    minutes: int
    created: datetime
    delivered: int = Field(description="Number of changes that were delivered.")
    dropped: int = Field(description="Number of changes that were given up, see `alerts.keep_hours`.")
    error: str = Field(description="Why the last attempt failed; empty if it did not.")


class CreatedAlert(AlertResponse):
    """A new alert."""

    secret: str = Field(description="Key that webhooks are signed with; it cannot be retrieved again.")


class FeedParameters(SearchParameters):
    """Which events to follow, and in which format."""

    format: Literal["atom", "rss"] = Field("atom", description="Format of the feed.")


class EventExportParameters(SearchParameters):
    """Which events to export, and in which format."""

    event: list[Filter] = _filters("Only these events: current or former ids.")
    format: Literal["csv", "jsonl", "parquet"] = Field("csv", description="Format of the file.")


class ArticleExportParameters(EventExportParameters):
    """Of which events to export the articles, and in which format."""

    bodies: bool = Field(False, description="Include the texts of the articles.")


class SavedSearchRequest(RequestBody):
    """A search, and the name to save it under."""

    name: str = Field(min_length=1, max_length=200, pattern=r"\S", examples=["Storms"])
    query: SearchParameters


class SavedSearchResponse(BaseModel):
    """A saved search."""

    id: int
    name: str
    query: dict[str, Any] = Field(description="Parameters of `GET /events`.")
    shared: bool = Field(description="Whether it belongs to the installation rather than to the token.")
    created: datetime
    changed: datetime
    error: str = Field(
        description="Why the search can no longer be run, for example because of an unknown parameter; "
        "empty if it can."
    )


class ClusterResponse(BaseModel):
    """A cluster: articles of one language about one story."""

    model_config = ConfigDict(extra="allow")

    id: int
    lang: str
    first: datetime
    last: datetime
    size: int = Field(description="Number of articles, including reprints.")
    title: str = ""
    event: str | None = Field(None, description="Event of the cluster.")
    articles: list[int] = Field(description="Numbers of the articles, including reprints.")
    reprints: list[int] = Field(default=[], description="Numbers of the reprints among them.")
    reprint_of: dict[int, int] = Field(default={}, description="Number of the original of each reprint.")


class LinkResponse(BaseModel):
    """A link: two clusters, the probability that they are one event, and the evidence."""

    model_config = ConfigDict(extra="allow")

    a: int
    b: int
    probability: float
    features: dict[str, float | None] = Field(
        default={}, description="Feature values; null where a feature does not apply."
    )
    contributions: dict[str, float | None] = Field(
        default={}, description="Contribution of each feature to the log odds."
    )
    pairs: list[SimilarPair] = Field(
        default=[], description="Most similar articles of the two clusters: two numbers and the similarity."
    )
    shared: dict[str, list[str]] = Field(
        default={}, description="Names, concepts, numbers and dates that these articles have in common."
    )
    summary: list[str] = Field(
        default=[], description="The strongest reasons for and against the link in words, at most three."
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

    reprint_of: int | None = Field(None, description="Number of the original, if it is a reprint.")


class ArticlePage(BaseModel):
    """One page of articles without their bodies."""

    articles: list[ArticleLine]
    cursor: str = Field(description="Pass as `cursor` to get the next page; empty on the last page.")


class EventResponse(EventSummary):
    """An event with its clusters, links and articles."""

    clusters: list[ClusterResponse]
    links: list[LinkResponse]
    articles: list[EventArticle] = Field(
        description="Articles including reprints, newest first; at most 500, see GET /articles."
    )
    reprints: int = Field(0, description="Number of reprints, which `size` excludes.")


class GlossResponse(BaseModel):
    """A title in a language of the reader."""

    lang: str
    kind: Literal["translation", "words"] = Field(
        description="Translated as a whole by a machine, or word by word with dictionaries."
    )
    text: str


class TitleArticle(BaseModel):
    """The article that a title is taken from."""

    source: str
    time: datetime
    url: str


class TitleResponse(BaseModel):
    """The title of an event in one language."""

    lang: str
    title: str
    article: TitleArticle | None
    gloss: GlossResponse | None = Field(None, description="Null if no word of the title is known.")


class ChapterResponse(BaseModel):
    """A segment of the time line of an event."""

    first: datetime
    last: datetime
    title: dict[str, str] = Field(description="Typical title by language.")
    articles: int
    pause_days: int = Field(description="Days without articles before it.")
    new_terms: list[str] = Field(description="Names and concepts that set it apart.")


class RelatedResponse(BaseModel):
    """An event that is related to another."""

    id: str
    relation: Literal["earlier", "later", "related"]
    score: float
    reason: str
    link: float | None = Field(description="Highest probability of a link between clusters of both.")
    title: dict[str, str]
    first: datetime
    last: datetime


class CoverageResponse(BaseModel):
    """A source or language of an event."""

    name: str
    languages: list[str]
    articles: int = Field(description="Number of articles, including reprints.")
    first: datetime
    lag_seconds: int = Field(description="Seconds after the first article of the event.")


class AbsentSourceResponse(BaseModel):
    """A source that usually reports together with those of an event, but has not."""

    source: str
    reported: int = Field(description="Comparable events that it reported.")
    events: int = Field(description="Comparable events.")


class MentionResponse(BaseModel):
    """What an article says of a quantity."""

    value: float
    phrase: str
    lang: str
    source: str
    time: datetime
    url: str


class QuantityResponse(BaseModel):
    """A quantity that at least two articles state."""

    kind: str = Field(examples=["dead", "votes (%)", "EUR"])
    differing: list[str] = Field(description="Languages whose latest value differs from that of most.")
    latest: dict[str, MentionResponse] = Field(description="The latest statement of each language.")
    mentions: list[MentionResponse] = Field(description="All statements, the latest first.")


class StoryResponse(BaseModel):
    """What is known of an event beyond its articles."""

    id: str
    titles: list[TitleResponse]
    chapters: list[ChapterResponse]
    related: list[RelatedResponse]
    sources: list[CoverageResponse]
    languages: list[CoverageResponse]
    absent_sources: list[AbsentSourceResponse]
    absent_languages: list[str] = Field(description="Languages of recent events without an article here.")
    quantities: list[QuantityResponse]
    examined: int = Field(description="Articles whose texts were read for chapters and quantities.")


class VerdictRequest(RequestBody):
    """A verdict on two clusters."""

    same: bool = Field(strict=True, description="Whether they are about one event.")
    note: str = Field("", max_length=1000)


class VerdictResponse(BaseModel):
    """A stored verdict."""

    seq: int
    a: int
    b: int
    articles: list[int] = Field(description="Number of the article of each cluster that was judged.")
    same: bool


Cosine = Annotated[float, Field(description="Cosine similarity, from -1 to 1.")]
Scope = Literal["read", "write", "admin"]


class TextInput(RequestBody):
    """A text and its language."""

    text: str = Field(min_length=1, examples=["The storm tore roofs off houses along the coast."])
    lang: str | None = Field(None, max_length=35, description="Identified from the text if missing.")


class CompareRequest(RequestBody):
    """Two texts to compare."""

    a: TextInput
    b: TextInput


class SharedTopic(BaseModel):
    """A topic that two texts share, with its strongest words in both languages."""

    component: int
    share: float = Field(description="Contribution to the similarity.")
    words: dict[str, list[str]]


class Channels(BaseModel):
    """Cosine similarities of two texts by kind of evidence; null where there is none."""

    latent: float | None = Field(description="By the similarity model; null without one.")
    names: float = Field(description="By names, numbers and dates.")
    encoder: float | None = Field(description="By the sentence encoder; null if it does not know a language.")
    words: float | None = Field(description="By words, letters and names in Latin script.")
    keywords: float | None = Field(description="By keywords, frequent words of news and concepts.")


class CompareResponse(BaseModel):
    """Similarity of two texts, and the evidence."""

    probability: float = Field(
        ge=0, le=1, description="Probability that the texts tell the same story, by all kinds of evidence."
    )
    similarity: Cosine
    languages: list[str] = Field(description="Languages of the two texts, as given or identified.")
    channels: Channels
    topics: list[SharedTopic]
    both: list[str] = Field(
        description="Numbers, dates and places that occur in both.", examples=[["number 17"]]
    )


class SimilarFilters(RequestBody):
    """Filters of similar articles."""

    k: int = Field(5, ge=1, le=50, description="Number of articles per language.")
    languages: list[str] | None = Field(None, max_length=50, description="Only these languages.")
    since: Timestamp | None = None
    until: Timestamp | None = None


class SimilarRequest(SimilarFilters, TextInput):
    """A text, and which similar articles to return."""


class SimilarArticle(ArticleLine):
    """An article similar to a text, and why."""

    similarity: Cosine
    topics: list[SharedTopic] = Field(default=[])


class SimilarResponse(BaseModel):
    """The most similar articles by language, most similar first."""

    lang: str = Field(description="Language of the text, as given or identified.")
    articles: dict[str, list[SimilarArticle]]


WeightedWord = Annotated[
    tuple[str, float],
    WithJsonSchema({"type": "array", "items": {"type": ["string", "number"]}, "minItems": 2, "maxItems": 2}),
]


class TopicResponse(BaseModel):
    """A topic (component of the similarity model): its strongest words at both ends, by language."""

    component: int
    strength: float = Field(description="How well the languages agree on it.")
    positive: dict[str, list[WeightedWord]]
    negative: dict[str, list[WeightedWord]]


class WordTranslation(BaseModel):
    """A possible translation of a word."""

    lang: str
    word: str
    score: float | None = Field(description="Higher is better; null if the dictionary has no scores.")
    source: Literal["dictionary", "model"]


class WordResponse(BaseModel):
    """A word and its translations."""

    lang: str
    word: str
    translations: list[WordTranslation]


class AlignRequest(RequestBody):
    """Two sentences that are translations of each other."""

    source: TextInput
    target: TextInput


class AlignedPair(BaseModel):
    """Positions (from 0) of two words that translate each other."""

    source: int
    target: int
    probability: float


class AlignResponse(BaseModel):
    """The words of two sentences, and the alignment between them."""

    source: list[str]
    target: list[str]
    pairs: list[AlignedPair]


class ModelResponse(BaseModel):
    """A model of the service."""

    name: str
    kind: str = Field(examples=["HubSimilarity"])
    use: Literal["similarity", "alignment", "dictionary", "linker", "kept"]
    languages: list[str]
    details: dict[str, Any] = {}
    report: dict[str, Any] = Field(default={}, description="Evaluation report, if there is one.")


class Health(BaseModel):
    """State of the service."""

    status: Literal["ok", "not ready"]
    details: dict[str, Any] = {}


class LimitsResponse(BaseModel):
    """Limits by the name of their setting."""

    limits: dict[str, float]


class TokenRequest(RequestBody):
    """Scopes and lifetime of a new token."""

    scopes: list[Scope] = Field(min_length=1, max_length=3)
    label: str = Field("", max_length=200, description="Who or what the token is for.")
    days: float = Field(365.0, gt=0, le=MAX_TOKEN_DAYS, description="Days until it expires.")


class CreatedToken(BaseModel):
    """A new token; its value cannot be retrieved again."""

    token: str
    id: str


class TokenResponse(BaseModel):
    """A token without its secret."""

    id: str
    scopes: list[Scope]
    label: str
    created: datetime
    expires: datetime
    revoked: bool


class SourceResponse(BaseModel):
    """A source of articles."""

    source: str = Field(description="Name of the publisher; empty for articles that name none.")
    articles: int
    languages: list[str]
    newest: datetime = Field(description="Time of its newest article.")


class FeedResponse(BaseModel):
    """The health of a feed. Times are null if there was no such visit."""

    url: str
    title: str
    status: Literal["new", "ok", "failing"]
    error: str = Field(description="What went wrong at the last visit; empty if nothing did.")
    failures: int = Field(description="Consecutive failed visits.")
    articles: int = Field(description="New articles that were stored from it.")
    visited: datetime | None
    succeeded: datetime | None
    failed: datetime | None
    due: datetime | None
