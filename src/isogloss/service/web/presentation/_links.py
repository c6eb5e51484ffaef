"""Links between clusters on pages: a matrix of all, and the reasons of one in words, charts and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

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

MAX_MATRIX = 16
"""Clusters of the matrix of links, the largest ones."""

MAX_LISTED = 40
"""Links outside the matrix that are listed, the weakest ones."""

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
        """Probability as text."""
        return format_percent(self.probability)


class LinkCell(NamedTuple):
    """The link of two clusters in a matrix: its name, its probability as text, and a shade from 0 to 9."""

    link: str
    percent: str
    shade: int


class MatrixRow(NamedTuple):
    """A cluster in a matrix: a short label, its title, and its links to the clusters above it."""

    label: str
    cluster: Mapping[str, Any]
    title: str
    cells: list[LinkCell | None]


class LinkLine(NamedTuple):
    """A link that is not in the matrix: its name, its probability as text, and languages and titles."""

    link: str
    percent: str
    titles: tuple[tuple[str, str], ...]


def link_matrix(event: Mapping[str, Any], articles: Mapping[int, Article]) -> tuple[list[MatrixRow], int]:
    """Return a row for each of the largest clusters of an event, and how many clusters are left out.

    The event has its clusters and links; articles give the titles of clusters.
    """
    probabilities = {frozenset((link["a"], link["b"])): link["probability"] for link in inner_links(event)}
    clusters = sorted(event["clusters"], key=lambda each: (-each["size"], each["id"]))[:MAX_MATRIX]
    clusters.sort(key=lambda each: (each["lang"], each["first"], each["id"]))
    counts: Counter[str] = Counter()
    rows = []
    for at, cluster in enumerate(clusters):
        counts[cluster["lang"]] += 1
        several = sum(each["lang"] == cluster["lang"] for each in clusters) > 1
        label = f"{cluster['lang']}{counts[cluster['lang']] if several else ''}"
        cells = [_cell(cluster, other, probabilities) for other in clusters[:at]]
        rows.append(MatrixRow(label, cluster, _title(cluster, articles), cells))
    return rows, len(event["clusters"]) - len(clusters)


def other_links(
    event: Mapping[str, Any], matrix: Sequence[MatrixRow], articles: Mapping[int, Article]
) -> tuple[list[LinkLine], int]:
    """Return the weakest links that a matrix leaves out, and how many more there are."""
    shown = {row.cluster["id"] for row in matrix}
    links = [link for link in inner_links(event) if not shown.issuperset((link["a"], link["b"]))]
    links.sort(key=lambda link: (link["probability"], link["a"], link["b"]))
    clusters = {cluster["id"]: cluster for cluster in event["clusters"]}
    lines = []
    for link in links[:MAX_LISTED]:
        ends = clusters[link["a"]], clusters[link["b"]]
        titles = tuple((end["lang"], _title(end, articles)) for end in ends)
        lines.append(LinkLine(f"{link['a']}-{link['b']}", format_percent(link["probability"]), titles))
    return lines, len(links) - len(lines)


def _cell(
    one: Mapping[str, Any], other: Mapping[str, Any], probabilities: Mapping[frozenset[int], float]
) -> LinkCell | None:
    probability = probabilities.get(frozenset((one["id"], other["id"])))
    if probability is None:
        return None
    a, b = sorted((one["id"], other["id"]))
    return LinkCell(f"{a}-{b}", format_percent(probability), min(int(10 * probability), 9))


def choose_link(event: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """Return the link of an event with a name such as ``3-7``; the weakest one if it has no such link."""
    links = inner_links(event)
    chosen = (link for link in links if f"{link['a']}-{link['b']}" == name)
    return next(chosen, min(links, key=lambda link: link["probability"], default=None))


def view_link(event: Mapping[str, Any], link: Mapping[str, Any], articles: Mapping[int, Article]) -> LinkView:
    """Return the view of a link inside an event.

    The event has its clusters; the articles are those of :func:`linked_articles`.
    """
    clusters = {cluster["id"]: cluster for cluster in event["clusters"]}
    return _view(link, clusters[link["a"]], clusters[link["b"]], articles)


def linked_articles(link: Mapping[str, Any]) -> list[int]:
    """Return the numbers of the articles that :func:`view_link` shows."""
    return [int(number) for pair in (link.get("pairs") or [])[:MAX_PAIRS] for number in pair[:2]]


def format_percent(probability: float) -> str:
    """Return a probability as text, without false precision.

    Examples
    --------
    >>> format_percent(0.874), format_percent(0.9981)
    ('87 %', '> 99 %')
    """
    percent = 100 * probability
    return "> 99 %" if percent > 99 else f"{percent:.0f} %"


def inner_links(event: Mapping[str, Any]) -> list[dict[str, Any]]:
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
