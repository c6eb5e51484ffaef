"""Texts, words, models and the service itself as types, see :mod:`isogloss.service.schemas._articles`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, WithJsonSchema

from isogloss.service.auth import MOST_DAYS
from isogloss.service.schemas._articles import ArticleLine, Moment, Sent

__all__ = [
    "AlignAnswer",
    "AlignRequest",
    "AlignedPair",
    "Channels",
    "CompareAnswer",
    "CompareRequest",
    "Health",
    "LimitsAnswer",
    "MadeToken",
    "ModelAnswer",
    "NamedText",
    "NewToken",
    "SharedTopic",
    "SimilarAnswer",
    "SimilarArticle",
    "SimilarRequest",
    "TokenAnswer",
    "TopicAnswer",
    "Translation",
    "Where",
    "WordAnswer",
]

Score = Annotated[float, Field(description="A cosine, from -1 to 1.")]
Scope = Literal["read", "write", "admin"]


class NamedText(Sent):
    """A text and its language."""

    text: str = Field(min_length=1, examples=["The storm tore roofs off houses along the coast."])
    lang: str | None = Field(None, max_length=35, description="Identified when it is not given.")


class CompareRequest(Sent):
    """Two texts."""

    a: NamedText
    b: NamedText


class SharedTopic(BaseModel):
    """A component that two texts share, with its strongest words in both languages."""

    component: int
    share: float = Field(description="What it adds to the similarity.")
    words: dict[str, list[str]]


class Channels(BaseModel):
    """Cosines by meaning and by names, numbers and dates; None without a model of meaning."""

    latent: float | None
    names: float


class CompareAnswer(BaseModel):
    """How similar two texts are, and why."""

    similarity: Score
    languages: list[str] = Field(description="Of the two texts, as given or identified.")
    channels: Channels
    topics: list[SharedTopic]
    both: list[str] = Field(description="Numbers, dates, places in both.", examples=[["number 17"]])


class Where(Sent):
    """Where to look for articles that are alike."""

    k: int = Field(5, ge=1, le=50, description="Articles of each language.")
    languages: list[str] | None = Field(None, max_length=50, description="Only these.")
    since: Moment | None = None
    until: Moment | None = None


class SimilarRequest(Where, NamedText):
    """A text, and where to look for others like it."""


class SimilarArticle(ArticleLine):
    """An article that is near, and why."""

    similarity: Score
    topics: list[SharedTopic] = Field(default=[])


class SimilarAnswer(BaseModel):
    """The nearest articles of every language, the nearest first."""

    lang: str = Field(description="Of the text, as given or identified.")
    articles: dict[str, list[SimilarArticle]]


Weighted = Annotated[
    tuple[str, float],
    WithJsonSchema({"type": "array", "items": {"type": ["string", "number"]}, "minItems": 2, "maxItems": 2}),
]


class TopicAnswer(BaseModel):
    """A component of the model: the words at its two ends in every language, with their weights."""

    component: int
    strength: float = Field(description="How much languages agree on it.")
    positive: dict[str, list[Weighted]]
    negative: dict[str, list[Weighted]]


class Translation(BaseModel):
    """A word that may translate another."""

    lang: str
    word: str
    score: float | None = Field(description="The higher the better; None where the dictionary has none.")
    source: Literal["dictionary", "model"]


class WordAnswer(BaseModel):
    """A word and its translations."""

    lang: str
    word: str
    translations: list[Translation]


class AlignRequest(Sent):
    """Two sentences that translate each other."""

    source: NamedText
    target: NamedText


class AlignedPair(BaseModel):
    """Two words that translate each other, by their places from 0."""

    source: int
    target: int
    probability: float


class AlignAnswer(BaseModel):
    """The words of both sentences, and which of them belong together."""

    source: list[str]
    target: list[str]
    pairs: list[AlignedPair]


class ModelAnswer(BaseModel):
    """A model that answers are made with."""

    name: str
    kind: str = Field(examples=["HubSimilarity"])
    use: Literal["similarity", "alignment", "dictionary", "kept"]
    languages: list[str]
    details: dict[str, Any] = {}
    report: dict[str, Any] = Field(default={}, description="Its evaluation, where there is one.")


class Health(BaseModel):
    """How the service is."""

    status: Literal["ok", "not ready"]
    details: dict[str, Any] = {}


class LimitsAnswer(BaseModel):
    """Every limit by its name in the settings."""

    limits: dict[str, float]


class NewToken(Sent):
    """What a new token allows."""

    scopes: list[Scope] = Field(min_length=1, max_length=3)
    label: str = Field("", max_length=200, description="Who it is for.")
    days: float = Field(365.0, gt=0, le=MOST_DAYS)


class MadeToken(BaseModel):
    """A new token; it is shown this once."""

    token: str
    id: str


class TokenAnswer(BaseModel):
    """A token without its secret."""

    id: str
    scopes: list[Scope]
    label: str
    created: datetime
    expires: datetime
    revoked: bool
