"""Why clusters were linked, in words and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from markupsafe import Markup

from isogloss.events import Article
from isogloss.service.web.drawing import bars

__all__ = ["FEATURE_NAMES", "Reason", "reasons", "seen_articles"]

FEATURE_NAMES = {
    "linkCount": "pairs of similar articles",
    "avgSimScore": "likeness of those pairs",
    "entityCosSim": "same names, weighted",
    "keywordCosSim": "same keywords, weighted",
    "entityJaccardSim": "same names",
    "keywordJaccardSim": "same keywords",
    "hasSameLocation": "same main place",
    "timeDiff": "time apart (hours, mean)",
    "sharedDates": "same dates",
    "textCosSim": "same words and spellings",
    "latentCosSim": "same topics",
    "sharedNumbers": "same numbers",
    "sharedPlaces": "same places",
    "timeGap": "gap between them (hours)",
    "linkRatio": "share of possible pairs",
    "sameLanguage": "same language",
    "(constant)": "to begin with",
}
"""What features are called on pages."""

_BARS = 8
_PAIRS = 5


@dataclass(frozen=True)
class Reason:
    """A link with its clusters, a title for each, and all that speaks for and against it."""

    a: Mapping[str, Any]
    b: Mapping[str, Any]
    titles: tuple[str, str]
    probability: float
    picture: Markup
    features: list[tuple[str, str, str]]
    pairs: list[tuple[Article, Article, float]]

    @property
    def name(self) -> str:
        """What its part of the page is called in addresses."""
        return f"link-{self.a['id']}-{self.b['id']}"

    @property
    def sure(self) -> str:
        """How likely it is, in words that do not promise too much."""
        percent = 100 * self.probability
        return "more than 99 %" if percent > 99 else f"{percent:.0f} %"


def reasons(
    told: Mapping[str, Any], articles: Mapping[int, Article], most: int = 20
) -> tuple[list[Reason], int]:
    """The links inside an event, the likeliest first, and how many more there are.

    Parameters
    ----------
    told : mapping
        An event with its clusters and links, as the store has it.
    articles : mapping of int to Article
        Those of the pairs.
    most : int
        Links at most.
    """
    inside = _inside(told)
    clusters = {cluster["id"]: cluster for cluster in told["clusters"]}
    found = [_reason(link, clusters[link["a"]], clusters[link["b"]], articles) for link in inside[:most]]
    return found, len(inside) - len(found)


def seen_articles(told: Mapping[str, Any], most: int = 20) -> list[int]:
    """Numbers of the articles in the pairs that are shown."""
    links = _inside(told)[:most]
    return [int(number) for link in links for pair in link.get("pairs", [])[:_PAIRS] for number in pair[:2]]


def _inside(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Links with both ends in the event."""
    own = {cluster["id"] for cluster in told["clusters"]}
    return [link for link in told["links"] if link["a"] in own and link["b"] in own]


def _reason(
    link: Mapping[str, Any], a: Mapping[str, Any], b: Mapping[str, Any], articles: Mapping[int, Article]
) -> Reason:
    contributions = _numbers(link.get("contributions") or {})
    strongest = sorted(contributions, key=lambda name: -abs(contributions[name]))
    shown = {_called(name): contributions[name] for name in strongest[:_BARS]}
    said = ", ".join(f"{name} {value:+.2f}" for name, value in shown.items())
    picture = bars(shown, f"What speaks for and against: {said}")
    pairs = [
        (articles[x], articles[y], float(likeness))
        for x, y, likeness in (link.get("pairs") or [])[:_PAIRS]
        if x in articles and y in articles
    ]
    rows = _rows(link.get("features") or {}, contributions, strongest)
    titles = _title(a, articles), _title(b, articles)
    return Reason(a, b, titles, link["probability"], picture, rows, pairs)


def _title(cluster: Mapping[str, Any], articles: Mapping[int, Article]) -> str:
    """The title of an article of a cluster; that of the cluster, where none is known."""
    known = (articles[number].title for number in reversed(cluster["articles"]) if number in articles)
    return next(filter(None, known), cluster.get("title") or "Without a title")


def _rows(
    features: Mapping[str, Any], contributions: Mapping[str, float], order: Iterable[str]
) -> list[tuple[str, str, str]]:
    """Names, values and shares of all features, as text."""
    names = dict.fromkeys([*order, *features])
    return [
        (_called(name), _written(features.get(name), ".3g"), _written(contributions.get(name), "+.2f"))
        for name in names
    ]


def _called(name: str) -> str:
    return FEATURE_NAMES.get(name, name)


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if _written(value, "g")}


def _written(value: Any, form: str) -> str:
    """A number as text; nothing for what cannot be said."""
    return format(value, form) if isinstance(value, int | float) and isfinite(value) else ""
