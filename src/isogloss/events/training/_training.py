"""Training a linker on articles whose events are known, and events of a whole collection at once.

News whose events are known: articles with a field ``event``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.events.analyse import ArticleAnalyser
from isogloss.events.annotate import Annotator
from isogloss.events.article import Article, parse_article
from isogloss.events.cluster import ClusterSettings, ClusterState, transition
from isogloss.events.ingest import sample_news
from isogloss.events.link import FEATURES, Linker, LinkState, ProfileBuilder
from isogloss.events.track import AgglomerationRules, EventTracker
from isogloss.exceptions import ArticleError, CorpusError
from isogloss.io import opened
from isogloss.similarity import DocumentModel

__all__ = [
    "LabelledNews",
    "LabelledPairs",
    "find_clusters",
    "find_events",
    "load_labelled_news",
    "labelled_pairs",
    "read_labelled_news",
    "train_linker",
]

_SNAPSHOT_ARTICLES = 50
"""Articles after which the links of clusters that changed are written down."""

_LOOSE_CLUSTERS = ClusterSettings(threshold=0.2, body_threshold=0.14)
"""Clusters that a linker learns from: larger than those of a stream, so their pairs have more to tell."""


class LabelledPairs(NamedTuple):
    """Features of pairs of clusters, and whether each pair is one event.

    Attributes
    ----------
    features : array (pairs x features)
        In the order of :data:`~isogloss.events.link.FEATURES`.
    labels : array of 0 and 1
        1 for one event.
    languages : list of (str, str)
        Of the two clusters.
    """

    features: NDArray[np.float64]
    labels: NDArray[np.int64]
    languages: list[tuple[str, str]]


def labelled_pairs(
    articles: Sequence[Article],
    events: Mapping[str, str],
    *,
    annotator: Annotator | None = None,
    model: DocumentModel | None = None,
    settings: ClusterSettings | None = None,
) -> LabelledPairs:
    """Cluster articles as a stream does, and label the pairs of clusters that are candidates for a link.

    The event of a cluster is that of most of its articles. Links are written down as they are after every 50
    articles, so small clusters of young events are among them.

    Parameters
    ----------
    articles : sequence of Article
        The stream, in the order of time.
    events : mapping of str to str
        The event of each article by its id.
    annotator : Annotator, optional
        What finds entities, places and dates; a new one by default.
    model : DocumentModel, optional
        A common space of documents, as a stream may have one.
    settings : ClusterSettings, optional
        Of the clusters.
    """
    builder, state, links = ProfileBuilder(), ClusterState(settings), LinkState(Linker())
    analyser = ArticleAnalyser(annotator or Annotator(), model)
    parts = []
    for number, (article, analysed) in enumerate(analyser.run(articles), start=1):
        profile = builder.weigh(analysed.profile, analysed.latent)
        links.apply(transition(state, article, analysed.terms), profile)
        if number % _SNAPSHOT_ARTICLES == 0 or number == len(articles):
            parts.append(_labelled_rows(links, events))
    rows = [row for part in parts for row in part]
    if not rows:
        raise ValueError(f"no candidates for links among {len(articles)} articles; expected more of them")
    features = np.array([row for row, _, _ in rows], dtype=np.float64)
    return LabelledPairs(features, np.array([one for _, one, _ in rows]), [pair for _, _, pair in rows])


def train_linker(
    articles: Sequence[Article],
    events: Mapping[str, str],
    linker: Linker | None = None,
    *,
    model: DocumentModel | None = None,
) -> Linker:
    """Train a linker on articles whose events are known, once with their bodies and once on titles alone.

    It learns from looser clusters than a stream makes by default. With a model, articles are points of its
    space as well: the linker then has a weight for nearness there, and is of use with the model and without.

    Parameters
    ----------
    articles : sequence of Article
        In the order of time.
    events : mapping of str to str
        The event of each article by its id.
    linker : Linker, optional
        The linker to fit; a new one by default.
    model : DocumentModel, optional
        A common space of documents.
    """
    titles = [replace(article, body="") for article in articles if article.title]
    parts = [
        labelled_pairs(some, events, model=model, settings=_LOOSE_CLUSTERS)
        for some in (articles, titles)
        if some
    ]
    features = np.concatenate([part.features for part in parts])
    labels = np.concatenate([part.labels for part in parts])
    return (linker or Linker(FEATURES)).fit(features, labels)


def find_clusters(articles: Iterable[Article], settings: ClusterSettings | None = None) -> dict[str, int]:
    """The cluster of each article, as it was in the end or before it expired, by the id of the article.

    Parameters
    ----------
    articles : iterable of Article
        In the order of time.
    settings : ClusterSettings, optional
        Of the clusters.
    """
    state, found = ClusterState(settings), {}
    for article in articles:
        decision = transition(state, article)
        found[article.id] = decision.cluster
        for source, target in decision.merged:
            found.update((one, target) for one, cluster in found.items() if cluster == source)
        found.update((move.article, move.target) for move in decision.moved)
    return found


def find_events(
    articles: Sequence[Article],
    linker: Linker | None = None,
    *,
    settings: ClusterSettings | None = None,
    rules: AgglomerationRules | None = None,
    every: int = 100,
) -> dict[str, int]:
    """The event of each article of a collection that is read as a stream, by the id of the article.

    Parameters
    ----------
    articles : sequence of Article
        In the order of time.
    linker : Linker, optional
        The one that comes with isogloss by default.
    settings : ClusterSettings, optional
        Of the clusters.
    rules : AgglomerationRules, optional
        When clusters become one event.
    every : int
        Articles after which events are brought up to date; earlier when a cluster expires that has changed.
    """
    annotator, builder, state = Annotator(), ProfileBuilder(), ClusterState(settings)
    links = LinkState(linker)
    tracker = EventTracker(links, rules)
    found: dict[str, int] = {}
    for number, article in enumerate(articles, start=1):
        profile = builder.build(article, annotator.annotate(article))
        decision = transition(state, article)
        if not links.changed.isdisjoint(decision.expired):
            tracker.update()
        for cluster in decision.expired:
            event = tracker.ids.event_of[cluster]
            found.update(dict.fromkeys(links.profiles[cluster].articles, event))
        links.apply(decision, profile)
        if number % every == 0 or number == len(articles):
            tracker.update()
    found.update((article, tracker.ids.event_of[cluster]) for article, cluster in links.cluster_of.items())
    return {article: tracker.ids.resolve(event) for article, event in found.items()}


def _labelled_rows(
    links: LinkState, events: Mapping[str, str]
) -> list[tuple[list[float], int, tuple[str, str]]]:
    """Features, label and languages of the links of clusters that changed."""
    pairs, support = links.strongest_links(links.changed)
    links.changed.clear()
    wanted = [FEATURES.index(name) for name in links.linker.features]
    rows = []
    for (a, b), row in zip(
        pairs.tolist(), links.feature_rows(pairs, support)[:, wanted].tolist(), strict=True
    ):
        profiles = links.profiles[a], links.profiles[b]
        same = len({_event(profile.articles, events) for profile in profiles}) == 1
        rows.append((row, int(same), (profiles[0].lang, profiles[1].lang)))
    return rows


def _event(articles: Sequence[str], events: Mapping[str, str]) -> str:
    counts = Counter(events[article] for article in articles)
    return min(counts, key=lambda event: (-counts[event], event))


_NO_CLAMP = datetime(9999, 1, 1, tzinfo=UTC)
"""Labelled news may be dated in the future."""


class LabelledNews(NamedTuple):
    """Articles whose events are known.

    Attributes
    ----------
    articles : list of Article
        In the order of time.
    events : dict of str to str
        The event of each by its id.
    """

    articles: list[Article]
    events: dict[str, str]


def read_labelled_news(path: Path) -> LabelledNews:
    """Read JSON lines of articles, each with a field ``event``; the first bad line is an error.

    Examples
    --------
    >>> _ = Path("labelled.jsonl").write_text('{"id": "1", "lang": "en", "title": "Storm", '
    ...     '"time": "2031-03-05T08:00:00Z", "event": "e1"}')
    >>> read_labelled_news(Path("labelled.jsonl")).events
    {'1': 'e1'}
    """
    articles, events = [], {}
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                record = json.loads(line)
                event = record["event"]
                article = parse_article(record, now=_NO_CLAMP, check_language=False)
            except (ValueError, TypeError, KeyError, ArticleError) as error:
                raise CorpusError(
                    f'{path}:{number}: is no article with a field "event" ({error!r}); expected an object '
                    'with "id", "lang", "title", "time" and "event" on each line'
                ) from error
            articles.append(article)
            events[article.id] = str(event)
    if not articles:
        raise CorpusError(f"{path}: is empty; expected articles with their events, one on each line")
    return LabelledNews(sorted(articles, key=lambda one: (one.time, one.id)), events)


def load_labelled_news(path: Path | None = None) -> LabelledNews:
    """News of a file, or the sample news where none is given.

    Examples
    --------
    >>> len(load_labelled_news().articles)
    364
    """
    if path is not None:
        return read_labelled_news(path)
    sample = sample_news()
    return LabelledNews(list(sample.articles), sample.events)
