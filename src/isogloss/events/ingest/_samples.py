"""Sample news with known events, a small comparable corpus and parallel sentences, written for isogloss.

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

SAMPLE_LANGUAGES = ("en", "de", "es", "fr", "ru")
"""Languages of the sample news, the sample corpus and the sample sentences."""

_NOW = datetime(2025, 4, 1, tzinfo=UTC)


@dataclass(frozen=True)
class SampleNews:
    """Sample articles with their true events and reprints."""

    articles: tuple[Article, ...]
    """In chronological order."""
    events: dict[str, str]
    """The event of each article by its id."""
    reprints: dict[str, str]
    """The original of every reprint."""


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


def sample_queries() -> list[str]:
    """Return labelled queries on the sample news as JSON lines.

    Each has a query ``q``, its language, and the ``events`` that it should find. Half of the queries have the
    ``part`` ``tuning``; the constants of search were chosen on them.

    Examples
    --------
    >>> sample_queries()[0]
    '{"q": "earthquake", "lang": "en", "events": ["e01", "e02"], "part": "tuning"}'
    """
    return _text("queries.jsonl").splitlines()


def sample_corpus() -> InMemoryCorpus:
    """Load the sample corpus: 220 topics in English and most of four other languages.

    Examples
    --------
    >>> corpus = sample_corpus()
    >>> corpus.languages
    ('en', 'de', 'es', 'fr', 'ru')
    """
    records = {
        lang: {one["id"]: one for one in _records(f"corpus/{lang}.jsonl")} for lang in SAMPLE_LANGUAGES
    }
    topics = sorted(records["en"])
    return InMemoryCorpus(
        {lang: [_field(records[lang].get(topic), "text") for topic in topics] for lang in SAMPLE_LANGUAGES},
        {lang: Tokeniser(lang) for lang in SAMPLE_LANGUAGES},
        ids=topics,
        titles={
            lang: [_field(records[lang].get(topic), "title") for topic in topics] for lang in SAMPLE_LANGUAGES
        },
    )


def sample_texts(lang: str) -> list[tuple[str, str]]:
    """Load the titles and texts of the sample corpus in one language.

    Examples
    --------
    >>> sample_texts("fr")[0][0]
    'Compagnie aérienne'
    """
    return [(one["title"], one["text"]) for one in _records(f"corpus/{lang}.jsonl")]


def sample_pairs(source: str, target: str) -> list[tuple[list[str], list[str]]]:
    """Load parallel text in two languages: tokenised sentences, and titles of the sample corpus.

    Examples
    --------
    >>> pairs = sample_pairs("en", "de")
    >>> pairs[1], pairs[-1]
    ((['nobody', 'was', 'injured'], ['niemand', 'wurde', 'verletzt']), (['zoo'], ['zoo']))
    """
    one, other = (
        {each["id"]: each["title"] for each in _records(f"corpus/{lang}.jsonl")} for lang in (source, target)
    )
    pairs = [(line[source], line[target]) for line in _sentences()]
    pairs += [(one[topic], other[topic]) for topic in sorted(one.keys() & other.keys())]
    words = Tokeniser(source), Tokeniser(target)
    return [(words[0](text), words[1](translation)) for text, translation in pairs]


def _sentences() -> list[dict[str, str]]:
    """Return the sample sentences by language."""
    languages, *rows = (line.split("\t") for line in _text("sentences.tsv").splitlines())
    return [dict(zip(languages, row, strict=True)) for row in rows]


def _field(record: dict[str, Any] | None, name: str) -> str | None:
    return None if record is None else str(record[name])


def _records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _text(name).splitlines()]


def _text(name: str) -> str:
    return files("isogloss.events.ingest").joinpath("sample", *name.split("/")).read_text(encoding="utf-8")
