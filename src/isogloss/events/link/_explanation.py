"""Explanations of links: the strongest reasons in words, and the contribution of each feature.

Features that measure one thing give one reason together. A similarity speaks for a link only if it is known
and more than zero. What two clusters share (names, places, concepts, numbers, dates) is looked up in their
most similar articles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from math import isnan
from types import MappingProxyType
from typing import Any, NamedTuple

from anyascii import anyascii

from isogloss.events.annotate import concept_label, keyword_key, name_key
from isogloss.events.link._linker import Linker
from isogloss.events.link._links import Link
from isogloss.events.link._profiles import ArticleProfile

MAX_REASONS = 3
_MAX_SHARED = 4
"""Names, and other things, that a reason lists."""
_MAX_WORD_PAIRS = 3
_MIN_CONTRIBUTION = 0.05
"""Log odds below which a feature is no reason."""
_MIN_WORD_CHARS = 4
_MIN_COMMON_PREFIX = 0.7
"""Common prefix of two transliterated words that count as one, as a share of the longer."""
_CACHED_TEXTS = 1 << 12
_TITLE_WORD = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
_TITLE_NUMBER = re.compile(r"\d+(?:[.,'\u2019\u00a0\u202f ]\d+)*")

_REASONS: Mapping[str, tuple[tuple[str, ...], str, str]] = MappingProxyType(
    {
        "names": (
            ("entityCosSim", "entityJaccardSim", "hasSameLocation", "sharedPlaces", "nameConflict"),
            "They name some of the same people, organisations or places",
            "they name different people, organisations or places",
        ),
        "concepts": (
            ("keywordCosSim", "keywordJaccardSim"),
            "They have keywords in common",
            "they have few keywords in common",
        ),
        "numbers": (
            ("sharedNumbers",),
            "They mention some of the same numbers",
            "they mention different numbers",
        ),
        "dates": (("sharedDates",), "They mention some of the same dates", "they mention different dates"),
        "time": (("timeDiff", "timeGap"), "Published", "published"),
        "words": (
            ("textCosSim", "sameLanguageSim", "linkCount", "avgSimScore", "linkRatio"),
            "Their words are similar",
            "their words differ",
        ),
        "latent": (
            ("latentCosSim",),
            "The similarity model finds the texts similar",
            "the similarity model finds the texts different",
        ),
        "encoder": (
            ("encoderCosSim", "encoderContrast"),
            "The sentence encoder finds the texts similar",
            "the sentence encoder finds the texts different",
        ),
    }
)
"""Features by what they measure, with words for and against a link."""

_PRIORS = frozenset({"(constant)", "alternatives", "sameLanguage", "titlesAlone"})
"""Features that say how probable any link is, not what two clusters have in common."""


class FeatureContribution(NamedTuple):
    """A feature and its contribution to the log odds."""

    feature: str
    """Its name; ``(constant)`` for the constant."""
    value: float | None
    """Its value; None when it is missing."""
    contribution: float
    """Contribution to the log odds; positive values favour one story."""


class LinkExplanation(NamedTuple):
    """Explanation of the probability of a link."""

    a: int
    b: int
    """The clusters."""
    probability: float
    """Probability that both clusters tell one story."""
    summary: tuple[str, ...]
    """The strongest reasons in words, at most three; those for the link come first."""
    reasons: tuple[FeatureContribution, ...]
    """All features, by decreasing contribution; the contributions add up to the log odds."""
    pairs: tuple[tuple[str, str, float], ...]
    """Titles of the most similar articles of both, with their similarity."""

    def as_dict(self) -> dict[str, Any]:
        """Return a dictionary that JSON can hold."""
        return {
            "a": self.a,
            "b": self.b,
            "probability": self.probability,
            "summary": list(self.summary),
            "reasons": [reason._asdict() for reason in self.reasons],
            "pairs": [{"a": a, "b": b, "similarity": similarity} for a, b, similarity in self.pairs],
        }

    def __str__(self) -> str:
        lines = [f"clusters {self.a} and {self.b}: one story with probability {self.probability:.2f}"]
        lines += [*(f"- {reason}" for reason in self.summary), ""]
        lines += [*(f"{similarity:.2f}  {a}  =  {b}" for a, b, similarity in self.pairs), ""]
        lines.append(f"{'feature':<20}{'value':>8}{'log odds':>10}")
        for name, value, contribution in self.reasons:
            shown = "-" if value is None else f"{value:.2f}"
            lines.append(f"{name:<20}{shown:>8}{contribution:>+10.2f}")
        return "\n".join(lines)


def explain_link(link: Link, linker: Linker, articles: Mapping[str, ArticleProfile]) -> LinkExplanation:
    """Explain the probability of a link.

    The link is that of :meth:`LinkState.link() <isogloss.events.link._links.LinkState.link>`, by the same
    linker.
    """
    contributions = linker.contributions(link.features)
    reasons = [
        FeatureContribution(name, _known(link.features.get(name)), contribution)
        for name, contribution in contributions.items()
    ]
    near = [(articles[a], articles[b]) for a, b, _ in link.pairs]
    pairs = tuple(
        (one.title, other.title, similarity)
        for (one, other), (_, _, similarity) in zip(near, link.pairs, strict=True)
    )
    summary = summarise_link(link.features, contributions, find_shared(near), pairs[0][:2] if pairs else None)
    decisive = sorted(reasons, key=lambda reason: (-abs(reason.contribution), reason.feature))
    return LinkExplanation(link.a, link.b, link.probability, summary, tuple(decisive), pairs)


def find_shared(pairs: Iterable[tuple[ArticleProfile, ArticleProfile]]) -> dict[str, list[str]]:
    """Return what pairs of articles have in common: readable names, concepts, numbers and dates.

    Names and concepts without a readable form are left out, and so are kinds of which nothing is common.
    The most important ones come first.
    """
    names: dict[str, float] = {}
    concepts: dict[str, float] = {}
    numbers: dict[str, str] = {}
    dates: set[date] = set()
    for one, other in pairs:
        for found, ours, theirs in (
            (names, one.entities, other.entities),
            (concepts, one.keywords, other.keywords),
        ):
            for key in ours.keys() & theirs.keys():
                label = _label(key, one, other)
                if label is not None:
                    found[label] = max(found.get(label, 0.0), ours[key] * theirs[key])
        for place in set(one.places).intersection(other.places):
            if f"geo:{place}" not in one.entities and (label := concept_label(f"geo:{place}")) is not None:
                names.setdefault(label, 0.0)
        for number in set(one.numbers).intersection(other.numbers):
            numbers.setdefault(number, surface_forms(one.title, one.sentence).get(f"number:{number}", number))
        dates.update(set(one.dates).intersection(other.dates))
    shared = {
        "names": _without_parts(_strongest(names))[:_MAX_SHARED],
        "concepts": [label for label in _strongest(concepts) if label not in names][:_MAX_SHARED],
        "numbers": [numbers[one] for one in sorted(numbers, key=lambda one: (-len(one), one))][:_MAX_SHARED],
        "dates": [day.isoformat() for day in sorted(dates)][:_MAX_SHARED],
    }
    return {kind: labels for kind, labels in shared.items() if labels}


def summarise_link(
    features: Mapping[str, float | None],
    contributions: Mapping[str, float | None],
    shared: Mapping[str, Sequence[str]],
    titles: tuple[str, str] | None = None,
) -> tuple[str, ...]:
    """Return the strongest reasons for and against a link in words, at most three; those for it come first.

    With two or more reasons for the link, only the strongest against it is listed. Contributions are to the
    log odds; a missing feature is None or NaN. ``shared`` is the result of :func:`find_shared`; the titles
    are of the most similar articles, and their similar words are listed.

    Examples
    --------
    >>> features = {"entityCosSim": 0.4, "textCosSim": 0.0, "timeDiff": 3.0, "sharedDates": None}
    >>> contributions = {"entityCosSim": 1.2, "textCosSim": -0.4, "timeDiff": 0.3, "(constant)": -2.0}
    >>> for reason in summarise_link(features, contributions, {"names": ["Emmanuel Macron", "Kyiv"]}):
    ...     print(reason)
    Both name Emmanuel Macron and Kyiv
    Published 3 hours apart
    Against: their words differ
    """
    strengths = _strengths(features, contributions)
    for kind in strengths.keys() & shared.keys():
        # Sharing less than most linked clusters do is still no evidence against the link.
        strengths[kind] = max(strengths[kind], _MIN_CONTRIBUTION)
    order = [*_REASONS, *strengths]
    ranked = sorted(strengths, key=lambda kind: (-abs(strengths[kind]), order.index(kind)))
    n_for = sum(strength > 0 for strength in strengths.values())
    against = [kind for kind in ranked if strengths[kind] < 0][: max(1, MAX_REASONS - n_for)]
    strongest = [kind for kind in ranked if strengths[kind] > 0 or kind in against][:MAX_REASONS]
    strongest.sort(key=lambda kind: strengths[kind] < 0)
    return tuple(
        _sentence(kind, strengths[kind] > 0, features, shared, titles or ("", "")) for kind in strongest
    )


def link_summary(link: Mapping[str, Any], titles: Mapping[int, str]) -> tuple[str, ...]:
    """Return the reasons of a stored link in words.

    The link has ``features``, ``contributions``, ``shared`` and ``pairs``, any of which may be missing;
    titles are by number, with those of the first pair if they are known.
    """
    one, other = (link.get("pairs") or [(0, 0)])[0][:2]
    nearest = titles.get(one, ""), titles.get(other, "")
    features, contributions = link.get("features") or {}, link.get("contributions") or {}
    return summarise_link(features, contributions, link.get("shared") or {}, nearest)


def _strengths(
    features: Mapping[str, float | None], contributions: Mapping[str, float | None]
) -> dict[str, float]:
    """Return the contribution of each kind of evidence; nothing counts in favour that is missing or zero."""
    kind_of = {name: kind for kind, (names, _, _) in _REASONS.items() for name in names}
    strengths: dict[str, float] = {}
    for name, given in contributions.items():
        value, contribution = _known(features.get(name)), _known(given)
        if name in _PRIORS or value is None or contribution is None:
            continue
        kind = kind_of.get(name, f"feature {name}")
        if contribution <= 0 or value > 0 or kind == "time":
            strengths[kind] = strengths.get(kind, 0.0) + contribution
    return {kind: strength for kind, strength in strengths.items() if abs(strength) >= _MIN_CONTRIBUTION}


def _sentence(
    kind: str,
    favours: bool,
    features: Mapping[str, float | None],
    shared: Mapping[str, Sequence[str]],
    titles: tuple[str, str],
) -> str:
    """Return one reason in words."""
    name = kind.removeprefix("feature ")
    names, for_it, against = _REASONS.get(kind, ((name,), f"{name} is high", f"{name} is low"))
    values = [value for name in names if (value := _known(features.get(name))) is not None]
    if kind == "time":
        return f"{for_it if favours else f'Against: {against}'} {_apart(values[0])}"
    if not favours:
        return f"Against: {against}"
    labels = list(shared.get(kind, ()))
    if labels:
        verb = {"names": "name", "concepts": "are about"}.get(kind, "mention")
        return f"Both {verb} {_enumerate(map(_day, labels) if kind == 'dates' else labels)}"
    similar = _similar_words(*titles) if kind == "words" else []
    if similar:
        return f"{for_it}: {', '.join(similar)}"
    return f"{for_it} ({next(value for value in values if value > 0):.2f})"


def _apart(hours: float) -> str:
    """Describe how far apart two times are."""
    if hours < 1:
        return "within an hour of each other"
    number, unit = (hours, "hour") if hours < 48 else (hours / 24, "day")
    return f"{number:.0f} {unit}{'' if round(number) == 1 else 's'} apart"


def _day(iso: str) -> str:
    day = date.fromisoformat(iso)
    return f"{day.day} {day:%B %Y}"


def _enumerate(labels: Iterable[str]) -> str:
    *first, last = labels
    return f"{', '.join(first)} and {last}" if first else last


def _known(value: float | None) -> float | None:
    return None if value is None or isnan(value) else value


def _strongest(weights: Mapping[str, float]) -> list[str]:
    return sorted(weights, key=lambda label: (-weights[label], label))


def _without_parts(labels: Sequence[str]) -> list[str]:
    """Leave out names that are part of a longer one: *Merkel* beside *Angela Merkel*."""
    words = {label: set(label.casefold().split()) for label in labels}
    return [label for label in labels if not any(words[label] < words[other] for other in labels)]


def _label(key: str, one: ArticleProfile, other: ArticleProfile) -> str | None:
    """Return a readable form of a shared entity or keyword; names and words as a text has them."""
    kind, _, rest = key.partition(":")
    if kind == "meaning":
        return rest
    if kind not in ("name", "word"):
        return concept_label(key)
    found = (surface_forms(each.title, each.sentence).get(key) for each in (one, other))
    labels = [label for label in found if label is not None]
    return min(labels, key=lambda label: anyascii(label[0]) != label[0], default=None)


@lru_cache(_CACHED_TEXTS)
def surface_forms(title: str, sentence: str) -> Mapping[str, str]:
    """Return the names, words and numbers of a text by their keys."""
    text = f"{title}\n{sentence}"
    found: dict[str, str] = {}
    before = "", "", -1
    for match in _TITLE_WORD.finditer(text):
        word = match[0]
        found.setdefault(f"word:{keyword_key(word)}", word)
        if not word[0].isupper():
            continue
        key = word.lower() if word.isupper() and word.isascii() and len(word) > 1 else name_key(word)
        name = word.removesuffix("'s").removesuffix("\u2019s")
        found.setdefault(f"name:{key}", name)
        if before[0] and before[2] == match.start() - 1:
            found.setdefault(f"name:{before[0]} {key}", f"{before[1]} {name}")
        before = key, name, match.end()
    for match in _TITLE_NUMBER.finditer(text):
        digits = re.sub(r"\D", "", match[0]).lstrip("0")
        found.setdefault(f"number:{digits}", match[0])
    return MappingProxyType(found)


def _similar_words(one: str, other: str) -> list[str]:
    """Return pairs of words of two titles that are spelled alike after transliteration, longest first."""
    ours, theirs = ({_bare(word): word for word in _TITLE_WORD.findall(title)} for title in (one, other))
    pairs = [
        (len(a) + len(b), first if first.casefold() == second.casefold() else f"{first} / {second}")
        for a, first in ours.items()
        for b, second in theirs.items()
        if min(len(a), len(b)) >= _MIN_WORD_CHARS and _common_prefix(a, b) >= _MIN_COMMON_PREFIX
    ]
    return [words for _, words in sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:_MAX_WORD_PAIRS]]


@lru_cache(_CACHED_TEXTS)
def _bare(word: str) -> str:
    return "".join(filter(str.isalpha, anyascii(word).lower()))


def _common_prefix(a: str, b: str) -> float:
    """Return the length of the common prefix as a share of the longer word."""
    n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return n / max(len(a), len(b))
