"""Hashed terms of an article, for clustering.

A title is short, so it gives its words and all character 4-grams in them: *basketballer* and
*US-Basketball-Team* share most of theirs. A body is long enough for words alone. Words are truncated as a
rough stem. Short segments of a title before or after ``|`` or a dash are names of sites or sections and are
left out.

Terms are hashed: no vocabulary grows, and a term has the same id in every process. Each language has its own
ids.
"""

from __future__ import annotations

import re
import zlib
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.events.article import Article
from isogloss.kernels import count_terms
from isogloss.text import Tokeniser

N_TERMS = 1 << 20
"""Number of term ids, of all languages together."""

_NGRAM_CHARS = 4
"""Characters of an n-gram, including the blank at either end of a word."""

_STEM_CHARS = 7
"""Characters to which a word is truncated."""

_MAX_BODY_CHARS = 12_000
"""Characters of a body that give terms: about 2,000 words, because the story comes early."""

_MAX_SITE_WORDS = 3
"""Maximum length in words of a title segment that may be the name of a site."""

_TITLE_SEPARATOR = re.compile(r"(?<!\s)\s++[-\u2013\u2014\u00b7\u2022\u00bb]\s++|(?:(?<!\s)\s++)?\|\s*+")

Ids = NDArray[np.int32]
Weights = NDArray[np.float64]


class Terms(NamedTuple):
    """Term ids and counts of the title and of the body."""

    title: tuple[Ids, Weights]
    body: tuple[Ids, Weights]
    """Increasing ids, and a count for each."""


def article_terms(article: Article) -> Terms:
    """Return the clustering terms of an article.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> time = datetime(2031, 3, 5, tzinfo=UTC)
    >>> terms = article_terms(Article("1", "en", "Big storm", "A storm, a flood.", time))
    >>> len(terms.title[0]), sorted(terms.body[1].tolist())  # 2 words and 6 sequences; a, storm, flood
    (8, [1.0, 1.0, 2.0])
    """
    tokeniser, seed = _tokeniser(article.lang), _seed(article.lang)
    return Terms(
        _counted(tokeniser(strip_site_name(article.title)), seed, _NGRAM_CHARS),
        _counted(tokeniser(article.body[:_MAX_BODY_CHARS]) if article.body else [], seed, 0),
    )


def strip_site_name(title: str) -> str:
    """Remove names of sites and sections from a title.

    Examples
    --------
    >>> strip_site_name("Sports News | Sky Brown to be Britain's youngest Olympian | The Gull")
    "Sky Brown to be Britain's youngest Olympian"
    >>> strip_site_name("Storm - Gull")
    'Storm Gull'
    """
    parts = _TITLE_SEPARATOR.split(title)
    if len(parts) == 1:
        return title
    lengths = [len(part.split()) for part in parts]
    least = min(max(lengths), _MAX_SITE_WORDS + 1)
    return " ".join(part for part, length in zip(parts, lengths, strict=True) if length >= least)


def _counted(words: list[str], seed: int, gram: int) -> tuple[Ids, Weights]:
    text = f" {' '.join(words)} ".encode()
    size = len(text) if gram else len(words)
    ids, counts = np.empty(size, dtype=np.int32), np.empty(size)
    n = count_terms(text, seed, _STEM_CHARS, gram, N_TERMS, ids, counts)
    return ids[:n], counts[:n]


@cache
def _tokeniser(lang: str) -> Tokeniser:
    return Tokeniser(lang)


@cache
def _seed(lang: str) -> int:
    return zlib.crc32(lang.encode())
