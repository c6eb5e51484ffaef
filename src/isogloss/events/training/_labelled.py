"""News whose events are known: articles with a field ``event``."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from isogloss.events.article import Article, article_from
from isogloss.events.ingest import sample_news
from isogloss.exceptions import ArticleError, CorpusError
from isogloss.io import open_decompressed

__all__ = ["Labelled", "labelled_news", "read_labelled"]

_NO_CLAMP = datetime(9999, 1, 1, tzinfo=UTC)
"""Labelled news may be dated in the future."""


class Labelled(NamedTuple):
    """Articles whose events are known.

    Attributes
    ----------
    articles : list of Article
        In the order of time.
    events : dict of str to str
        The event of each by its id.
    """

    articles: list[Article]
    events: dict[str, str]


def read_labelled(path: Path) -> Labelled:
    """Read JSON lines of articles, each with a field ``event``; the first bad line is an error.

    Examples
    --------
    >>> _ = Path("labelled.jsonl").write_text('{"id": "1", "lang": "en", "title": "Storm", '
    ...     '"time": "2031-03-05T08:00:00Z", "event": "e1"}')
    >>> read_labelled(Path("labelled.jsonl")).events
    {'1': 'e1'}
    """
    articles, events = [], {}
    with open_decompressed(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                record = json.loads(line)
                event = record["event"]
                article = article_from(record, now=_NO_CLAMP, check_language=False)
            except (ValueError, TypeError, KeyError, ArticleError) as error:
                raise CorpusError(
                    f'{path}:{number}: is no article with a field "event" ({error!r}); expected an object '
                    'with "id", "lang", "title", "time" and "event" on each line'
                ) from error
            articles.append(article)
            events[article.id] = str(event)
    if not articles:
        raise CorpusError(f"{path}: is empty; expected articles with their events, one on each line")
    return Labelled(sorted(articles, key=lambda one: (one.time, one.id)), events)


def labelled_news(path: Path | None = None) -> Labelled:
    """News of a file, or the sample news where none is given.

    Examples
    --------
    >>> len(labelled_news().articles)
    364
    """
    if path is not None:
        return read_labelled(path)
    sample = sample_news()
    return Labelled(list(sample.articles), sample.events)
