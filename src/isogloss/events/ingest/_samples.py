"""Sample news with known events and a small comparable corpus, written for isogloss.

The ``README.md`` of the folder ``sample`` describes the files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from isogloss.corpora import InMemoryCorpus
from isogloss.events.article import Article, parse_article
from isogloss.text import Tokeniser

__all__ = ["SampleNews", "sample_corpus", "sample_news", "sample_pairs"]

LANGUAGES = ("en", "de", "es", "fr", "ru")
_NOW = datetime(2025, 4, 1, tzinfo=UTC)


@dataclass(frozen=True)
class SampleNews:
    """Sample articles with their true events and reprints.

    Attributes
    ----------
    articles : tuple of Article
        In chronological order.
    events : dict of str to str
        The event of each article by its id.
    reprints : dict of str to str
        The original of every reprint.
    """

    articles: tuple[Article, ...]
    events: dict[str, str]
    reprints: dict[str, str]


def sample_news() -> SampleNews:
    """Load the sample stream: 364 articles on 46 events in five languages.

    Examples
    --------
    >>> news = sample_news()
    >>> len(news.articles), len(set(news.events.values())), len(news.reprints)
    (364, 46, 12)
    """
    records = _records("news.jsonl")
    articles = tuple(parse_article(record, now=_NOW, check_language=False) for record in records)
    events = {record["id"]: record["event"] for record in records}
    reprints = {record["id"]: record["duplicate_of"] for record in records if "duplicate_of" in record}
    return SampleNews(articles, events, reprints)


def sample_corpus() -> InMemoryCorpus:
    """Load the sample corpus: 220 topics in English and most of four other languages.

    Examples
    --------
    >>> corpus = sample_corpus()
    >>> corpus.languages
    ('en', 'de', 'es', 'fr', 'ru')
    """
    records = {lang: {one["id"]: one for one in _records(f"corpus/{lang}.jsonl")} for lang in LANGUAGES}
    topics = sorted(records["en"])
    return InMemoryCorpus(
        {lang: [_field(records[lang].get(topic), "text") for topic in topics] for lang in LANGUAGES},
        {lang: Tokeniser(lang) for lang in LANGUAGES},
        ids=topics,
        titles={lang: [_field(records[lang].get(topic), "title") for topic in topics] for lang in LANGUAGES},
    )


def sample_pairs(source: str, target: str) -> list[tuple[list[str], list[str]]]:
    """Load tokenised titles and texts of the sample corpus on the same topics in two languages.

    They are comparable, not translations, which is enough for an aligner to learn frequent words.

    Examples
    --------
    >>> sample_pairs("en", "de")[0]
    (['airline'], ['fluggesellschaft'])
    """
    one, other = (
        {each["id"]: each for each in _records(f"corpus/{lang}.jsonl")} for lang in (source, target)
    )
    words = Tokeniser(source), Tokeniser(target)
    return [
        (words[0](one[topic][field]), words[1](other[topic][field]))
        for topic in sorted(one.keys() & other.keys())
        for field in ("title", "text")
    ]


def _field(record: dict[str, Any] | None, name: str) -> str | None:
    return None if record is None else str(record[name])


def _records(name: str) -> list[dict[str, Any]]:
    text = files("isogloss.events.ingest").joinpath("sample", *name.split("/")).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
