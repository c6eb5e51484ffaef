"""Stems of words, by the Snowball algorithms."""

from __future__ import annotations

from functools import cache, lru_cache
from threading import Lock
from typing import Any

from isogloss.text._extras import need_extra
from isogloss.text._languages import language

_SNOWBALL = "snowballstemmer"
_OTHER_NAMES = {"nb": "norwegian", "nn": "norwegian", "st": "sesotho"}
_ONE_AT_A_TIME = Lock()
"""A Snowball stemmer keeps the word it works on inside itself."""


def check_stemmer(stem: str | None, lang: str) -> None:
    """Refuse a stemmer that is not known, or that the language does not have."""
    found = language(lang)
    if stem is None:
        return
    if stem != "snowball":
        raise ValueError(f"got stem={stem!r:.40}; expected None or 'snowball'")
    if not has_stemmer(found.code):
        raise ValueError(
            f"Snowball has no stemmer for {found.name}; use stem=None. It has "
            f"{', '.join(_known_algorithms())}"
        )


def has_stemmer(lang: str) -> bool:
    """Return whether Snowball has a stemmer for a language.

    Examples
    --------
    >>> has_stemmer("en"), has_stemmer("uk")
    (True, False)
    """
    return _algorithm(language(lang).code) in _known_algorithms()


def stem_words(words: list[str], lang: str) -> list[str]:
    """The stems of words in lower case; stems of recent words are remembered.

    Examples
    --------
    >>> stem_words(["running", "houses"], "en")
    ['run', 'hous']
    """
    algorithm = _algorithm(language(lang).code)
    return [_stem(algorithm, word) for word in words]


def _algorithm(code: str) -> str:
    return _OTHER_NAMES.get(code) or language(code).name.lower()


def _known_algorithms() -> list[str]:
    return sorted(need_extra(_SNOWBALL).algorithms())


@lru_cache(maxsize=1 << 16)
def _stem(algorithm: str, word: str) -> str:
    with _ONE_AT_A_TIME:
        return str(_stemmer(algorithm).stemWord(word))


@cache
def _stemmer(algorithm: str) -> Any:
    return need_extra(_SNOWBALL).stemmer(algorithm)
