"""Stems of words, by the Snowball algorithms."""

from __future__ import annotations

from functools import cache, lru_cache
from threading import Lock
from typing import Any

from isogloss.text._extras import need_extra
from isogloss.text._languages import language

_SNOWBALL = "snowballstemmer"
_OTHER_NAMES = {"nb": "norwegian", "nn": "norwegian", "st": "sesotho"}
_STEMMER_LOCK = Lock()
"""Snowball stemmers are not thread-safe: they hold the current word."""


def check_stemmer(stem: str | None, lang: str) -> None:
    """Raise an error for an unknown stemmer, or one that the language lacks."""
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
    """Return the stems of lower-case words; recent stems are cached.

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
    with _STEMMER_LOCK:
        return str(_stemmer(algorithm).stemWord(word))


@cache
def _stemmer(algorithm: str) -> Any:
    return need_extra(_SNOWBALL).stemmer(algorithm)
