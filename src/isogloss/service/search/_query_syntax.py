"""The syntax of queries: words, ``"quoted phrases"``, and what a minus excludes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from isogloss.service.search._query_terms import clean_query

MAX_EXCLUDED = 20
"""Words and phrases that a query may exclude."""

MAX_PHRASES = 20
"""Quoted phrases that a query may have; each is looked for in thousands of articles."""

_QUOTES = {'"': '"', "“": "”", "„": "“”", "”": "”", "«": "»", "»": "«", "「": "」"}
"""Opening quotation marks, and those that may close them."""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query by its parts."""

    text: str
    """Everything that is looked for, without operators."""
    words: tuple[str, ...] = ()
    """The parts of the text that are not quoted."""
    phrases: tuple[str, ...] = ()
    """The quoted parts; their words must follow each other."""
    excluded: tuple[str, ...] = ()
    """Words and phrases that must not occur."""


def parse_query(query: str) -> ParsedQuery:
    """Parse a query; unbalanced quotes and other punctuation are ignored.

    Raises ValueError if the query only excludes, excludes more than :data:`MAX_EXCLUDED` words and phrases,
    or has more than :data:`MAX_PHRASES` phrases.

    Examples
    --------
    >>> parsed = parse_query('flood "North Sea" -football -"World Cup"')
    >>> parsed.words, parsed.phrases, parsed.excluded
    (('flood',), ('North Sea',), ('football', 'World Cup'))
    >>> parse_query('an "open end').words
    ('an', 'open', 'end')
    >>> parse_query("-rain")
    Traceback (most recent call last):
    ValueError: the query '-rain' only excludes; add a word to look for
    """
    parts = list(_split(clean_query(query)))
    wanted = [(text, quoted) for text, quoted, excluded in parts if not excluded]
    excluded = tuple(dict.fromkeys(text for text, _, excluded in parts if excluded))
    if excluded and not wanted:
        raise ValueError(f"the query {query.strip()[:60]!r} only excludes; add a word to look for")
    if len(excluded) > MAX_EXCLUDED:
        raise ValueError(
            f"the query excludes {len(excluded)} words and phrases; expected at most {MAX_EXCLUDED}"
        )
    phrases = tuple(dict.fromkeys(text for text, quoted in wanted if quoted))
    if len(phrases) > MAX_PHRASES:
        raise ValueError(f"the query has {len(phrases)} quoted phrases; expected at most {MAX_PHRASES}")
    return ParsedQuery(
        text=" ".join(text for text, _ in wanted),
        words=tuple(text for text, quoted in wanted if not quoted),
        phrases=phrases,
        excluded=excluded,
    )


def _split(query: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield the parts of a query: text, whether it is quoted, whether it is excluded."""
    at = 0
    while at < len(query):
        if query[at].isspace():
            at += 1
            continue
        excluded = query[at] == "-" and at + 1 < len(query) and not query[at + 1].isspace()
        start = at + excluded
        end = _closing_quote(query, start)
        if end > start:
            text, at = query[start + 1 : end].strip(), end + 1
        else:
            at = next((i for i in range(start, len(query)) if query[i].isspace()), len(query))
            text = query[start:at]
        if any(letter.isalnum() for letter in text):
            yield text.strip('"'), end > start, excluded


def _closing_quote(query: str, start: int) -> int:
    """Return where the quotation that starts at an index ends; -1 if none starts there or it has no end."""
    closing = _QUOTES.get(query[start], "")
    found = [end for mark in closing if (end := query.find(mark, start + 1)) > 0]
    return min(found, default=-1)
