"""Training of a linker on news with known events, and events of a whole collection.

Labelled news are JSON lines of articles with a field ``event``.
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
from isogloss.events.stream import EventStream, EventStreamSettings, StreamChanges
from isogloss.exceptions import ArticleError, CorpusError
from isogloss.io import open_decompressed
from isogloss.similarity import Encoder, TextModel

_SNAPSHOT_ARTICLES = 50
"""Articles between snapshots of the links of changed clusters."""

LOOSE_CLUSTERS = ClusterSettings(threshold=0.2, body_threshold=0.14)
"""A linker learns from looser clusters than those of a stream, because their pairs are more informative."""


class LabelledPairs(NamedTuple):
    """Features of pairs of clusters, and whether each pair is one event."""

    features: NDArray[np.float64]
    """In the order of :data:`~isogloss.events.link.FEATURES`. Shape (pairs, features)."""
    labels: NDArray[np.int64]
    """1 for one event."""
    languages: list[tuple[str, str]]
    events: list[tuple[str, str]]
    """Languages and events of the two clusters."""

    def columns(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return some of the features, in this order."""
        return self.features[:, [FEATURES.index(name) for name in names]]


def labelled_pairs(
    articles: Sequence[Article],
    events: Mapping[str, str],
    *,
    annotator: Annotator | None = None,
    model: TextModel | None = None,
    encoder: Encoder | None = None,
    settings: ClusterSettings | None = None,
) -> LabelledPairs:
    """Cluster articles as a stream does, and label the candidate pairs of clusters.

    The event of a cluster is that of most of its articles. Links are recorded after every 50 articles, so
    that small clusters of young events are among them. Articles are in chronological order, events by article
    id.
    """
    builder, state, links = ProfileBuilder(), ClusterState(settings), LinkState(Linker())
    analyser = ArticleAnalyser(annotator or Annotator(), model, encoder)
    parts = []
    for number, (article, analysed) in enumerate(analyser.run(articles), start=1):
        profile = builder.weigh(analysed.profile, analysed.latent, analysed.embedding)
        links.apply(transition(state, article, analysed.terms, profile.places), profile)
        if number % _SNAPSHOT_ARTICLES == 0 or number == len(articles):
            parts.append(_labelled_rows(links, events))
    rows = [row for part in parts for row in part]
    if not rows:
        raise ValueError(f"no candidates for links among {len(articles)} articles; expected more of them")
    features = np.array([row for row, _, _ in rows], dtype=np.float64)
    stories = [pair for _, _, pair in rows]
    labels = np.array([int(one == other) for one, other in stories])
    return LabelledPairs(features, labels, [pair for _, pair, _ in rows], stories)


def train_linker(
    articles: Sequence[Article],
    events: Mapping[str, str],
    linker: Linker | None = None,
    *,
    model: TextModel | None = None,
    encoder: Encoder | None = None,
) -> Linker:
    """Train a linker on articles whose events are known, once with their bodies and once on titles alone.

    It learns from looser clusters than a stream makes by default. With a model, the linker also gets a weight
    for similarity in the latent space, and can be used with and without the model; so it is with an encoder.
    Articles are in chronological order, events by article id.
    """
    titles = [replace(article, body="") for article in articles if article.title]
    parts = [
        labelled_pairs(some, events, model=model, encoder=encoder, settings=LOOSE_CLUSTERS)
        for some in (articles, titles)
        if some
    ]
    linker = linker or Linker()
    features = np.concatenate([part.columns(linker.features) for part in parts])
    return linker.fit(features, np.concatenate([part.labels for part in parts]))


def find_clusters(articles: Iterable[Article], settings: ClusterSettings | None = None) -> dict[str, int]:
    """Return the last cluster of each article, by article id.

    Articles are in chronological order.
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
    articles: Iterable[Article],
    linker: Linker | None = None,
    *,
    annotator: Annotator | None = None,
    encoder: Encoder | None = None,
    settings: EventStreamSettings | None = None,
) -> dict[str, int]:
    """Return the event of each article of a collection that is read as a stream, by article id.

    Articles are in chronological order.
    """
    clusters: dict[str, int] = {}
    successors: dict[int, int] = {}
    events: dict[int, int] = {}
    aliases: dict[int, int] = {}
    originals: dict[str, str] = {}

    def record(changes: StreamChanges) -> None:
        ids, profiles = stream.tracker.ids, stream.links.profiles
        for cluster in changes.clusters:
            clusters.update(dict.fromkeys(profiles[cluster].articles, cluster))
        successors.update(changes.merged)
        for event in changes.events:
            events.update(dict.fromkeys(ids.members.get(event, ()), event))
        aliases.update(changes.aliases)
        originals.update(changes.reprints)

    with EventStream(
        settings, annotator=annotator, linker=linker, encoder=encoder, observer=record
    ) as stream:
        stream.add(articles)
        stream.update()
    found = {
        article: _follow(aliases, events[cluster if cluster in events else _follow(successors, cluster)])
        for article, cluster in clusters.items()
    }
    return found | {copy: found[first] for copy, first in originals.items()}


def _follow(successors: Mapping[int, int], number: int) -> int:
    """Return the last successor of a number."""
    while number in successors:
        number = successors[number]
    return number


def _labelled_rows(
    links: LinkState, events: Mapping[str, str]
) -> list[tuple[list[float], tuple[str, str], tuple[str, str]]]:
    """Return features, languages and events of the links of changed clusters."""
    pairs, support = links.strongest_links(links.changed)
    links.changed.clear()
    rows = []
    for (a, b), row in zip(pairs.tolist(), links.feature_rows(pairs, support).tolist(), strict=True):
        one, other = links.profiles[a], links.profiles[b]
        stories = _event(one.articles, events), _event(other.articles, events)
        rows.append((row, (one.lang, other.lang), stories))
    return rows


def _event(articles: Sequence[str], events: Mapping[str, str]) -> str:
    counts = Counter(events[article] for article in articles)
    return min(counts, key=lambda event: (-counts[event], event))


_NO_CLAMP = datetime(9999, 1, 1, tzinfo=UTC)
"""Labelled news may be dated in the future, so times are not clamped."""


class LabelledNews(NamedTuple):
    """Articles with known events."""

    articles: list[Article]
    """In chronological order."""
    events: dict[str, str]
    """The event of each by its id."""


def read_labelled_news(path: Path) -> LabelledNews:
    """Read articles with a field ``event`` from JSON lines; the first bad line is an error.

    Examples
    --------
    >>> _ = Path("labelled.jsonl").write_text('{"id": "1", "lang": "en", "title": "Storm", '
    ...     '"time": "2031-03-05T08:00:00Z", "event": "e1"}')
    >>> read_labelled_news(Path("labelled.jsonl")).events
    {'1': 'e1'}
    """
    articles, events = [], {}
    with open_decompressed(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                record = json.loads(line)
                event = record["event"]
                article = parse_article(record, now=_NO_CLAMP, check_language=False)
            except (ValueError, TypeError, KeyError, RecursionError, ArticleError) as error:
                raise CorpusError(
                    f'{path}:{number}: is not an article with a field "event" ({error!r}); expected an '
                    'object with "id", "lang", "title", "time" and "event" on each line'
                ) from error
            articles.append(article)
            events[article.id] = str(event)
    if not articles:
        raise CorpusError(f"{path}: is empty; expected articles with their events, one on each line")
    return LabelledNews(sorted(articles, key=lambda one: (one.time, one.id)), events)


def load_labelled_news(path: Path | None = None) -> LabelledNews:
    """Read labelled news from a file, or load the sample news.

    Examples
    --------
    >>> len(load_labelled_news().articles)
    364
    """
    if path is not None:
        return read_labelled_news(path)
    sample = sample_news()
    return LabelledNews(list(sample.articles), sample.events)
