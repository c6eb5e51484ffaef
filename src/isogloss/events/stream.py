"""Articles in, events out: everything that happens to an article, in order.

An article that repeats another is set aside; the others are annotated, put into a cluster of their language,
compared with articles of all languages, and every so often the clusters that changed are grouped to events.
The whole is a fold: after the same articles in the same order a stream is in the same state, to the last bit,
however the articles were handed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple, Self

from isogloss.events.analyse import AnalysedArticle, ArticleAnalyser
from isogloss.events.annotate import Annotator
from isogloss.events.article import Article
from isogloss.events.cluster import ClusterSettings, ClusterState, Decision, transition
from isogloss.events.event import Event
from isogloss.events.ingest import DuplicateIndex
from isogloss.events.link import Linker, LinkExplanation, LinkState, ProfileBuilder, explain_link
from isogloss.events.track import AgglomerationRules, EventTracker
from isogloss.similarity import DocumentModel

__all__ = ["StreamChanges", "EventStream", "ErrorHandler", "ArticleOutcome", "EventStreamSettings"]

ErrorHandler = Callable[[Article, Exception], bool]
"""Is told of an article that cannot be prepared, and why; whether to try again."""

_DAY_S = 86_400.0
_MAX_PAUSE_S = 3600.0
"""Seconds without an article after which events are brought up to date before time goes on."""
_EXPIRED_SHARE = 0.25
"""Articles of expired clusters that are kept while their events go on, as a share of `max_articles`."""


@dataclass(frozen=True)
class EventStreamSettings:
    """What decides how articles become events.

    Parameters
    ----------
    clusters : ClusterSettings
        Which articles of a language belong together.
    rules : AgglomerationRules
        When clusters become one event.
    update_every : int
        Articles after which clusters that changed are grouped to events.
    duplicates : float
        Similarity from which on a text repeats another, see :class:`~isogloss.events.ingest.DuplicateIndex`.
    """

    clusters: ClusterSettings = field(default_factory=ClusterSettings)
    rules: AgglomerationRules = field(default_factory=AgglomerationRules)
    update_every: int = 64
    duplicates: float = 0.5


class ArticleOutcome(NamedTuple):
    """What became of an article.

    Attributes
    ----------
    article : str
        Its id.
    cluster : int
        The cluster it is in.
    original : str or None
        The article that it repeats word for word, or nearly so; it is in no cluster itself.
    repeated : bool
        Whether it was known; nothing changed then.
    """

    article: str
    cluster: int
    original: str | None = None
    repeated: bool = False


@dataclass
class StreamChanges:
    """What changed between two updates of a stream.

    Attributes
    ----------
    clusters : set of int
        New or changed.
    merged : dict of int to int
        Clusters that went into others, or lost their articles to them.
    events : set of int
        New or changed.
    aliases : dict of int to int
        Events that went into others.
    ended : set of int
        Events that have no cluster any more and went into no other one.
    reprints : list of (str, str)
        Articles that repeat others, and those.
    """

    clusters: set[int] = field(default_factory=set)
    merged: dict[int, int] = field(default_factory=dict)
    events: set[int] = field(default_factory=set)
    aliases: dict[int, int] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    reprints: list[tuple[str, str]] = field(default_factory=list)


class EventStream:
    """Follows the news: articles of many languages in, events out.

    Memory: bounded by the articles of the window, see :class:`~isogloss.events.cluster.ClusterSettings`, and a
    quarter more for clusters that expired while their events go on.

    Parameters
    ----------
    settings : EventStreamSettings, optional
        What decides how articles become events.
    annotator : Annotator, optional
        Finds names, places, dates and keywords.
    linker : Linker, optional
        Tells whether clusters of two languages are one story; the one that comes with isogloss by default.
    model : DocumentModel, optional
        A common space of documents: articles near in it are candidates and count as similar.
    observer : callable, optional
        Is told the changes of every update, while all that changed can still be asked about; what it does is
        up to it.
    beat : callable, optional
        Is called before every article.
    n_jobs : int, optional
        Processes that look at the words of articles, while this one puts them together; None or 1 is none
        beside this one, -1 one per core. Events are the same. They are started when there are many articles,
        and end with :meth:`close`; articles are read some hundred ahead then.

    Attributes
    ----------
    current : str
        The id of the article that is being taken in; empty between articles.

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
        model: DocumentModel | None = None,
        observer: Callable[[StreamChanges], None] | None = None,
        heartbeat: Callable[[], None] = lambda: None,
        n_jobs: int | None = None,
    ) -> None:
        self.settings = settings or EventStreamSettings()
        self.annotator = annotator or Annotator()
        self.model = model
        self.analyser = ArticleAnalyser(self.annotator, model, n_jobs=n_jobs)
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
        """Take articles in, in the order in which they come.

        Parameters
        ----------
        articles : iterable of Article
            The articles.
        failed : callable, optional
            Is told of an article that cannot be prepared, and why. The article is tried again if it answers
            True and left out otherwise; either way nothing of the stream has changed. Without it, the
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
        """End the processes that were started; they start again when they are needed."""
        self.analyser.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def update(self) -> StreamChanges:
        """Bring events up to date with the articles that came, and tell what changed since the last time.

        It happens by itself after every ``update_every`` articles. To do it at other times is part of the
        order of things: a stream that was updated elsewhere may have come to other events.
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
        """All events of the window, the oldest id first."""
        return self.tracker.events()

    def event(self, number: int) -> Event:
        """An event by its id, or by one that it had before."""
        return self.tracker.event(number)

    def reprints(self, article: str) -> list[str]:
        """Ids of articles that repeat an article, in the order in which they came."""
        return list(self.reprints_of.get(article, ()))

    def explain(self, one: int, other: int) -> LinkExplanation:
        """Why two clusters were linked, or were not."""
        return explain_link(self.links.link(one, other), self.links.linker, self.links.articles)

    def assignment(self) -> dict[str, int]:
        """The event of every article of the window, reprints included."""
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
        """Find all that is needed of an article before anything changes; whether that could be done."""
        while True:
            try:
                if self._known(article.id) is None and not self._repeats(article, analysed):
                    _ = analysed.terms, analysed.profile, analysed.latent
                return True
            except Exception as error:
                if on_error is None:
                    raise
                if not on_error(article, error):
                    return False

    def _repeats(self, article: Article, analysed: AnalysedArticle) -> bool:
        """Whether an article repeats one of the window; nothing is remembered."""
        first = self.duplicates.find(article, analysed.fingerprint, remember=False)
        return first is not None and first in self.links.cluster_of

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
        profile = self.profile_builder.weigh(analysed.profile, analysed.latent)
        decision = transition(self.clusters, article, analysed.terms)
        self._record_moves(decision)
        self.links.apply(replace(decision, expired=()) if decision.expired else decision, profile)
        self.count += 1
        self.pending += 1
        if self.pending >= self.settings.update_every:
            self.update()
        return ArticleOutcome(article.id, self.clusters.members[article.id].cluster)

    def _known(self, article: str) -> ArticleOutcome | None:
        first = self.original_of.get(article)
        cluster = self.links.cluster_of.get(first or article)
        return None if cluster is None else ArticleOutcome(article, cluster, first, repeated=True)

    def _original(self, article: Article, analysed: AnalysedArticle) -> ArticleOutcome | None:
        """The step of an article that repeats one of the window."""
        first = self.duplicates.find(article, analysed.fingerprint)
        cluster = self.links.cluster_of.get(first) if first is not None else None
        if first is None or cluster is None:
            return None
        self.reprints_of.setdefault(first, []).append(article.id)
        self.original_of[article.id] = first
        self.changes.reprints.append((article.id, first))
        return ArticleOutcome(article.id, cluster, first)

    def _record_moves(self, decision: Decision) -> None:
        """Keep the books: what went where, and what is over."""
        self.expired_since.update(dict.fromkeys(decision.expired, self.clusters.now))
        self.newly_expired += decision.expired
        homes = {move.source: move.target for move in decision.moved}
        for source, target in [*decision.merged, *((one, homes[one]) for one in decision.emptied)]:
            self.changes.merged[source] = target
            self._record_departure(source, target)

    def _forget_expired(self) -> None:
        """Forget clusters that expired, when all of their event have, long after, or when there are many."""
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
        """Clusters that expired long ago and, where too many articles are kept, those that expired first."""
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
        """Events that may be over: a cluster of theirs expired since, or they changed."""
        ids, changed = self.tracker.ids, self.tracker.changed_events
        expired = self.expired_since if changed is None else self.newly_expired
        events = {ids.event_of[cluster] for cluster in expired if cluster in ids.event_of}
        return events | ((changed or set()) & ids.members.keys())

    def _record_departure(self, cluster: int, target: int | None) -> None:
        """A cluster is no more: its event goes on with another cluster, or may be over."""
        event = self.tracker.ids.event_of.get(cluster)
        if event is not None:
            self.successor_of[event] = target if target is not None else self.successor_of.get(event)

    def _record_ended(self) -> None:
        """Events that lost their last cluster: to another event, or because their time was over."""
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
