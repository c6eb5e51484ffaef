"""Highlight what a query matched in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from isogloss.events.annotate import query_keys, search_forms
from isogloss.service.search._word_matches import QueryWord

_TEXT_WORD = re.compile(r"[\w\u0300-\u036f\u0900-\u0963\u0966-\u0dff\u1000-\u109f\u1780-\u17d3\u200c\u200d]+")
_MAX_CHARS = 20_000
_MAX_WORD_CHARS = 200
"""A longer stretch of letters is not looked at, because each of them may be a word of its own."""

Part = tuple[str, bool]
"""A part of a text, and whether it is highlighted."""


def highlight(text: str, lang: str, words: Sequence[QueryWord]) -> list[Part]:
    """Split a text into parts that a query matched and others.

    Examples
    --------
    >>> quake = QueryWord("earthquake", frozenset({"earthquak"}), frozenset({"meaningearthquake"}))
    >>> highlight("Two earthquakes <b>", "en", [quake])
    [('Two ', False), ('earthquakes', True), (' <b>', False)]
    >>> highlight("El terremoto", "es", [quake])
    [('El ', False), ('terremoto', True)]
    """
    parts: list[Part] = []
    at = 0
    for start, end in _matches(text[:_MAX_CHARS], lang, words):
        if start > at:
            parts.append((text[at:start], False))
        parts.append((text[start:end], True))
        at = end
    if at < len(text):
        parts.append((text[at:], False))
    return parts


def snippet(text: str, lang: str, words: Sequence[QueryWord], max_chars: int = 240) -> list[Part]:
    """Return the beginning of a text, or the place where a query matches it first, highlighted.

    Examples
    --------
    >>> flood = QueryWord("flood", frozenset({"flood"}))
    >>> snippet("One two three four. The flood came at night.", "en", [flood], 30)
    [('… The ', False), ('flood', True), (' came at night.', False)]
    """
    first = next(_matches(text[:_MAX_CHARS], lang, words), (0, 0))[0]
    start = max(0, first - max_chars // 3)
    if start:
        start = text.find(" ", start, first) + 1 or start
    end = start + max_chars
    if end < len(text):
        end = text.rfind(" ", start, end) if text.rfind(" ", start, end) > first else end
    parts = highlight(text[start:end], lang, words)
    if start and parts:
        parts = [("… ", False), *parts] if parts[0][1] else [(f"… {parts[0][0]}", False), *parts[1:]]
    if end < len(text):
        parts.append((" …", False))
    return parts


def _matches(text: str, lang: str, words: Sequence[QueryWord]) -> Iterator[tuple[int, int]]:
    """Yield where a text has words of a query, in one of their forms, meanings or sounds."""
    forms = frozenset[str]().union(*(word.forms for word in words))
    keys = frozenset[str]().union(*(word.meanings | word.names for word in words))
    for match in _TEXT_WORD.finditer(text):
        word = match[0]
        if len(word) > _MAX_WORD_CHARS:
            continue
        found = search_forms(word, lang)
        if len(found) > 1:  # a stretch of a script without blanks
            yield from _pairs(word, match.start(), forms)
        elif not forms.isdisjoint(found) or not keys.isdisjoint(query_keys(word, [lang])):
            yield match.span()


def _pairs(stretch: str, start: int, forms: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Yield where a stretch of letters has pairs of a query, adjacent ones together."""
    begin = end = -1
    for at in range(len(stretch) - 1):
        if stretch[at : at + 2] not in forms:
            continue
        if at > end:
            if end > begin:
                yield start + begin, start + end
            begin = at
        end = at + 2
    if end > begin:
        yield start + begin, start + end
