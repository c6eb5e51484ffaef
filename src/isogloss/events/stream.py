"""Event stream: articles in, events out.

A reprint is recorded and set aside. Every other article is analysed, assigned to a cluster of its language
and compared with articles of all languages; at regular intervals the clusters that changed are grouped into
events. The stream is a fold: after the same articles in the same order it is in the same state, to the last
bit, however the articles were batched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from isogloss.events.analyse import AnalysedArticle, ArticleAnalyser
from isogloss.events.annotate import Annotator
from isogloss.events.article import Article
from isogloss.events.cluster import ClusterSettings, ClusterState, Decision, transition
from isogloss.events.event import Event
from isogloss.events.ingest import DuplicateIndex
from isogloss.events.link import Linker, LinkExplanation, LinkState, ProfileBuilder, explain_link
from isogloss.events.track import AgglomerationRules, EventTracker
from isogloss.similarity import Encoder, TextModel, open_encoder

__all__ = ["ArticleOutcome", "ErrorHandler", "EventStream", "EventStreamSettings", "StreamChanges"]

ErrorHandler = Callable[[Article, Exception], bool]
"""Called with an article that cannot be analysed and the exception; returns whether to try again."""

_DAY_S = 86_400.0
_MAX_PAUSE_S = 3600.0
"""Gap between articles after which events are updated before the next article."""
_EXPIRED_SHARE = 0.25
"""Articles of expired clusters of live events that are kept, as a share of `max_articles`."""


@dataclass(frozen=True)
class EventStreamSettings:
    """Settings of an event stream.

    Parameters
    ----------
    clusters : ClusterSettings
        Settings of online clustering.
    rules : AgglomerationRules
        Rules for merging clusters into events.
    update_every : int
        Articles between updates of the events.
    duplicates : float
        Minimum similarity of a reprint, see :class:`~isogloss.events.ingest.DuplicateIndex`.
    """

    clusters: ClusterSettings = field(default_factory=ClusterSettings)
    rules: AgglomerationRules = field(default_factory=AgglomerationRules)
    update_every: int = 64
    duplicates: float = 0.5


class ArticleOutcome(NamedTuple):
    """Result of adding an article."""

    article: str
    """Id of the article."""
    cluster: int
    """Its cluster, or that of its original."""
    original: str | None = None
    """The article that it reprints; a reprint is in no cluster itself."""
    repeated: bool = False
    """Whether the article was known; nothing changed then."""
    latent: NDArray[np.float32] | None = None
    """Its point in the latent space, if there is a model that knows words of it."""


@dataclass
class StreamChanges:
    """Changes of a stream between two updates."""

    clusters: set[int] = field(default_factory=set)
    """New or changed."""
    merged: dict[int, int] = field(default_factory=dict)
    """Clusters that were merged into others, or lost their articles to them."""
    events: set[int] = field(default_factory=set)
    """New or changed."""
    aliases: dict[int, int] = field(default_factory=dict)
    """Events that were merged into others."""
    ended: set[int] = field(default_factory=set)
    """Events whose last cluster expired."""
    reprints: list[tuple[str, str]] = field(default_factory=list)
    """Reprints and their originals."""


class EventStream:
    """Groups a stream of articles in many languages into events.

    Memory: bounded by the articles of the window (see :class:`~isogloss.events.cluster.ClusterSettings`) and
    a quarter more for expired clusters of live events.

    Parameters
    ----------
    settings : EventStreamSettings, optional
        Settings of the stream.
    annotator : Annotator, optional
        Finds names, places, dates and keywords.
    linker : Linker, optional
        Estimates whether two clusters tell one story; by default the one that comes with isogloss.
    model : TextModel, optional
        Maps articles to a latent space, in which near articles are candidates for links.
    encoder : Encoder, str or None
        Turns articles into sentence embeddings, a further kind of evidence; also by its name, see
        :func:`~isogloss.similarity.open_encoder`. ``"auto"`` is the one that ``ISOGLOSS_ENCODER`` names,
        otherwise the encoder of ``isogloss[encoder]`` if it is installed. The latter finds more links
        between its fifteen languages, and an article takes two to three times as long.
    observer : callable, optional
        Called with the changes of every update, before expired data is deleted.
    heartbeat : callable, optional
        Called before every article.
    n_jobs : int, optional
        Worker processes that analyse articles; None or 1 for none, -1 for one per core. Results do not
        depend on it. The processes are started when there are many articles and stopped by :meth:`close`;
        some hundred articles are then read ahead.
    scheduler : str
        Address of a Dask scheduler, such as ``tcp://scheduler:8786``, whose workers analyse the articles.

    Attributes
    ----------
    current : str
        Id of the article that is being added; empty between articles.

    Examples
    --------
    >>> from isogloss.events.ingest import sample_news
    >>> news = sample_news()
    >>> stream = EventStream()
    >>> _ = stream.add(article for article in news.articles[:120])
    >>> _ = stream.update()
    >>> event = max(stream.events(), key=lambda event: (len(event.languages), len(event)))
    >>> len(event.languages) >= 4, len(event) >= 5
    (True, True)
    """

    def __init__(
        self,
        settings: EventStreamSettings | None = None,
        *,
        annotator: Annotator | None = None,
        linker: Linker | None = None,
        model: TextModel | None = None,
        encoder: Encoder | str | None = "auto",
        observer: Callable[[StreamChanges], None] | None = None,
        heartbeat: Callable[[], None] = lambda: None,
        n_jobs: int | None = None,
        scheduler: str = "",
    ) -> None:
        self.settings = settings or EventStreamSettings()
        self.annotator = annotator or Annotator()
        self.model = model
        self.encoder = open_encoder(encoder) if isinstance(encoder, str) else encoder
        self.analyser = ArticleAnalyser(
            self.annotator, model, self.encoder, n_jobs=n_jobs, scheduler=scheduler
        )
        self.observer, self.heartbeat = observer, heartbeat
        self.current = ""
        self.clusters = ClusterState(self.settings.clusters)
        self.duplicates = DuplicateIndex(self.settings.duplicates)
        self.profile_builder = ProfileBuilder()
        self.links = LinkState(linker)
        self.tracker = EventTracker(self.links, self.settings.rules)
        self.reprints_of: dict[str, list[str]] = {}
        self.original_of: dict[str, str] = {}
        self.pending = 0
        self.count = 0
        self.changes = StreamChanges()
        self.expired_since: dict[int, float] = {}
        self.newly_expired: list[int] = []
        self.successor_of: dict[int, int | None] = {}

    def add(
        self, articles: Iterable[Article], *, on_error: ErrorHandler | None = None
    ) -> list[ArticleOutcome]:
        """Add articles, in this order.

        Parameters
        ----------
        articles : iterable of Article
            The articles.
        on_error : callable, optional
            Called with an article that cannot be analysed and the exception. The article is tried again if
            it returns True and skipped otherwise; the stream has not changed either way. Without it, the
            exception is raised.
        """
        outcomes = []
        self.current = ""
        for article, analysed in self.analyser.run(articles):
            self.current = article.id
            self.heartbeat()
            if self._can_analyse(article, analysed, on_error):
                outcomes.append(self._add(article, analysed))
            self.current = ""
        return outcomes

    def close(self) -> None:
        """Stop the worker processes; they start again when they are needed."""
        self.analyser.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def update(self) -> StreamChanges:
        """Update the events, and return what changed since the last update.

        The stream does so by itself after every ``update_every`` articles. The times of updates are part of
        the input: a stream that is updated at other times may come to other events.
        """
        self.pending = 0
        self._forget_expired()
        touched, ids = set(self.links.changed), self.tracker.ids
        aliases = len(ids.aliases)
        changed = self.tracker.update()
        self.changes.clusters |= touched & self.links.profiles.keys()
        self.changes.events.update(changed)
        new = list(islice(reversed(ids.aliases), len(ids.aliases) - aliases))
        for event in reversed(new):
            self.changes.aliases[event] = ids.resolve(event)
        self._record_ended()
        changes, self.changes = self.changes, StreamChanges()
        if self.observer is not None:
            self.observer(changes)
        return changes

    def events(self) -> Iterator[Event]:
        """Return all events of the window, ascending by id."""
        return self.tracker.events()

    def event(self, number: int) -> Event:
        """Return an event by its id or an alias."""
        return self.tracker.event(number)

    def reprints(self, article: str) -> list[str]:
        """Return the ids of the reprints of an article, in the order of arrival."""
        return list(self.reprints_of.get(article, ()))

    def explain(self, one: int, other: int) -> LinkExplanation:
        """Explain the probability of the link between two clusters."""
        return explain_link(self.links.link(one, other), self.links.linker, self.links.articles)

    def assignment(self) -> dict[str, int]:
        """Return the event of every article of the window, including reprints."""
        found = {
            article: event
            for cluster, event in self.tracker.ids.event_of.items()
            if cluster in self.links.profiles
            for article in self.links.profiles[cluster].articles
        }
        return found | {copy: found[first] for copy, first in self.original_of.items() if first in found}

    def _can_analyse(
        self, article: Article, analysed: AnalysedArticle, on_error: ErrorHandler | None
    ) -> bool:
        """Complete the analysis of an article before anything changes; return whether that succeeded."""
        while True:
            try:
                if self._known(article.id) is None and not self._repeats(article, analysed):
                    _ = analysed.terms, analysed.profile, analysed.latent, analysed.embedding
                return True
            except Exception as error:
                if on_error is None:
                    raise
                if not on_error(article, error):
                    return False

    def _repeats(self, article: Article, analysed: AnalysedArticle) -> bool:
        """Return whether an article is a reprint, without recording it."""
        first = self.duplicates.find(article, analysed.fingerprint, remember=False)
        return self._is_original(first, article)

    def _is_original(self, first: str | None, article: Article) -> bool:
        """Return whether an article with the same text is its original: it is live and has its language."""
        known = self.links.articles
        return first is not None and first in known and known[first].lang == article.lang

    def _add(self, article: Article, analysed: AnalysedArticle) -> ArticleOutcome:
        known = self._known(article.id)
        if known is not None:
            return known
        original = self._original(article, analysed)
        if original is not None:
            return original
        time = article.time.timestamp()
        if self.pending and time - self.clusters.now > _MAX_PAUSE_S:
            self.update()
        profile = self.profile_builder.weigh(analysed.profile, analysed.latent, analysed.embedding)
        decision = transition(self.clusters, article, analysed.terms, profile.places)
        self._record_moves(decision)
        self.links.apply(replace(decision, expired=()) if decision.expired else decision, profile)
        self.count += 1
        self.pending += 1
        if self.pending >= self.settings.update_every:
            self.update()
        cluster = self.clusters.members[article.id].cluster
        return ArticleOutcome(article.id, cluster, latent=analysed.latent)

    def _known(self, article: str) -> ArticleOutcome | None:
        first = self.original_of.get(article)
        cluster = self.links.cluster_of.get(first or article)
        return None if cluster is None else ArticleOutcome(article, cluster, first, repeated=True)

    def _original(self, article: Article, analysed: AnalysedArticle) -> ArticleOutcome | None:
        """Record a reprint; None if the article is not one."""
        first = self.duplicates.find(article, analysed.fingerprint)
        if first is None or not self._is_original(first, article):
            return None
        cluster = self.links.cluster_of[first]
        self.reprints_of.setdefault(first, []).append(article.id)
        self.original_of[article.id] = first
        self.changes.reprints.append((article.id, first))
        return ArticleOutcome(article.id, cluster, first, latent=analysed.latent)

    def _record_moves(self, decision: Decision) -> None:
        """Record merged, emptied and expired clusters."""
        self.expired_since.update(dict.fromkeys(decision.expired, self.clusters.now))
        self.newly_expired += decision.expired
        homes = {move.source: move.target for move in decision.moved}
        for source, target in [*decision.merged, *((one, homes[one]) for one in decision.emptied)]:
            self.changes.merged[source] = target
            self._record_departure(source, target)

    def _forget_expired(self) -> None:
        """Delete expired clusters whose event has expired, and those that are overdue."""
        ids, over = self.tracker.ids, self._overdue_clusters()
        for event in self._possibly_ended():
            if ids.members[event] <= self.expired_since.keys():
                over |= ids.members[event]
        self.newly_expired.clear()
        for cluster in sorted(over):
            self._record_departure(cluster, None)
            for article in self.links.profiles[cluster].articles:
                for copy in self.reprints_of.pop(article, ()):
                    del self.original_of[copy]
            self.links.expire(cluster)
            del self.expired_since[cluster]

    def _overdue_clusters(self) -> set[int]:
        """Return clusters that expired long ago and, above the limit, those that expired first."""
        limits = self.settings.clusters
        oldest = self.clusters.now - limits.max_age * _DAY_S
        excess = len(self.links.articles) - (1 + _EXPIRED_SHARE) * limits.max_articles
        over = set()
        for cluster, since in self.expired_since.items():
            if since >= oldest and excess <= 0:
                break
            over.add(cluster)
            excess -= len(self.links.profiles[cluster])
        return over

    def _possibly_ended(self) -> set[int]:
        """Return events that may have ended: those that changed or lost a cluster."""
        ids, changed = self.tracker.ids, self.tracker.changed_events
        expired = self.expired_since if changed is None else self.newly_expired
        events = {ids.event_of[cluster] for cluster in expired if cluster in ids.event_of}
        return events | ((changed or set()) & ids.members.keys())

    def _record_departure(self, cluster: int, target: int | None) -> None:
        """Record that an event lost a cluster, and the cluster that its articles moved to."""
        event = self.tracker.ids.event_of.get(cluster)
        if event is not None:
            self.successor_of[event] = target if target is not None else self.successor_of.get(event)

    def _record_ended(self) -> None:
        """Record events that lost their last cluster: as aliases of another event, or as ended."""
        ids = self.tracker.ids
        for event, target in self.successor_of.items():
            if event in ids.members or event in ids.aliases:
                continue
            while target in self.changes.merged:
                target = self.changes.merged[target]
            successor = ids.event_of.get(target) if target is not None else None
            if successor is None:
                self.changes.ended.add(event)
                ids.forget(event)
            else:
                ids.alias(event, successor)
                self.changes.aliases[event] = successor
        self.successor_of.clear()
