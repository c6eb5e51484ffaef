"""Links between clusters on pages: reasons in words, the nearest articles, a chart and a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from markupsafe import Markup

from isogloss.events import Article
from isogloss.events.link import link_summary
from isogloss.service.web.drawing import bars

FEATURE_NAMES = {
    "linkCount": "pairs of similar articles",
    "avgSimScore": "similarity of those pairs",
    "entityCosSim": "same names, weighted",
    "keywordCosSim": "same keywords, weighted",
    "entityJaccardSim": "same names",
    "keywordJaccardSim": "same keywords",
    "hasSameLocation": "same main place",
    "timeDiff": "mean time apart (hours)",
    "sharedDates": "same dates",
    "textCosSim": "same words and spellings",
    "latentCosSim": "same topics",
    "sharedNumbers": "same numbers",
    "sharedPlaces": "same places",
    "timeGap": "gap in time (hours)",
    "linkRatio": "share of possible pairs",
    "sameLanguage": "same language",
    "titlesAlone": "share of articles without a body",
    "sameLanguageSim": "same words within the language",
    "encoderCosSim": "same meaning (encoder)",
    "alternatives": "other stories at that time",
    "encoderContrast": "same meaning, compared with other days",
    "nameConflict": "different names",
    "(constant)": "prior",
}
"""Names of features on pages."""

MAX_LINKS = 20
MAX_BARS = 8
MAX_PAIRS = 5


@dataclass(frozen=True)
class LinkView:
    """A link with its clusters, a title for each, and the evidence for and against it."""

    a: Mapping[str, Any]
    b: Mapping[str, Any]
    titles: tuple[str, str]
    probability: float
    summary: tuple[str, ...]
    chart: Markup
    features: list[tuple[str, str, str]]
    pairs: list[tuple[Article, Article, float]]

    @property
    def name(self) -> str:
        """Id of the link in the page."""
        return f"link-{self.a['id']}-{self.b['id']}"

    @property
    def percent(self) -> str:
        """Probability as text, without false precision."""
        percent = 100 * self.probability
        return "more than 99 %" if percent > 99 else f"{percent:.0f} %"


def view_links(event: Mapping[str, Any], articles: Mapping[int, Article]) -> tuple[list[LinkView], int]:
    """Return views of the first links inside an event, and how many more there are.

    Parameters
    ----------
    event : mapping
        An event of the store, with its clusters and links.
    articles : mapping of int to Article
        The articles of :func:`linked_articles`.
    """
    links = _inner_links(event)
    clusters = {cluster["id"]: cluster for cluster in event["clusters"]}
    views = [_view(link, clusters[link["a"]], clusters[link["b"]], articles) for link in links[:MAX_LINKS]]
    return views, len(links) - len(views)


def linked_articles(event: Mapping[str, Any]) -> list[int]:
    """Return the numbers of the articles that :func:`view_links` shows."""
    links = _inner_links(event)[:MAX_LINKS]
    return [
        int(number) for link in links for pair in link.get("pairs", [])[:MAX_PAIRS] for number in pair[:2]
    ]


def _inner_links(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the links with both ends in the event."""
    own = {cluster["id"] for cluster in event["clusters"]}
    return [link for link in event["links"] if link["a"] in own and link["b"] in own]


def _view(
    link: Mapping[str, Any], a: Mapping[str, Any], b: Mapping[str, Any], articles: Mapping[int, Article]
) -> LinkView:
    contributions = _numbers(link.get("contributions") or {})
    strongest = sorted(contributions, key=lambda name: -abs(contributions[name]))
    shown = {FEATURE_NAMES.get(name, name): contributions[name] for name in strongest[:MAX_BARS]}
    listed = ", ".join(f"{name} {value:+.2f}" for name, value in shown.items())
    chart = bars(shown, f"Evidence for and against: {listed}")
    pairs = [
        (articles[x], articles[y], float(similarity))
        for x, y, similarity in (link.get("pairs") or [])[:MAX_PAIRS]
        if x in articles and y in articles
    ]
    rows = _rows(link.get("features") or {}, contributions, strongest)
    titles = _title(a, articles), _title(b, articles)
    summary = link_summary(link, {number: article.title for number, article in articles.items()})
    return LinkView(a, b, titles, link["probability"], summary, chart, rows, pairs)


def _title(cluster: Mapping[str, Any], articles: Mapping[int, Article]) -> str:
    """Return the title of the newest known article of a cluster, or that of the cluster."""
    known = (articles[number].title for number in reversed(cluster["articles"]) if number in articles)
    return next(filter(None, known), cluster.get("title") or "Untitled")


def _rows(
    features: Mapping[str, Any], contributions: Mapping[str, float], order: Iterable[str]
) -> list[tuple[str, str, str]]:
    """Return names, values and contributions of all features as text."""
    names = dict.fromkeys([*order, *features])
    return [
        (
            FEATURE_NAMES.get(name, name),
            _format(features.get(name), ".3g"),
            _format(contributions.get(name), "+.2f"),
        )
        for name in names
    ]


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if _format(value, "g")}


def _format(value: Any, spec: str) -> str:
    """Format a finite number; anything else becomes an empty string."""
    return format(value, spec) if isinstance(value, int | float) and isfinite(value) else ""
