r"""Online clustering of a stream of articles, one language at a time.

An article joins the most similar cluster, if the similarity reaches a threshold, and creates a new one
otherwise. The similarity of article a and cluster c is the cosine of the article and the centroid, decayed by
time:

.. math::

    s(a, c) = \frac{a^T \sum_{b \in c} b}{\|\sum_{b \in c} b\|}\, 2^{-\Delta / h},

with :math:`\Delta` the time between the article and the cluster and h the half-life. Only candidates from a
bounded inverted index are compared. Where both name places but none in common, the threshold is higher: a
stream with few articles cannot know yet that *killed* and *injured* say little. Clusters that an article
shows to be one are merged, recent articles are reassigned every so often, and clusters without news expire.

:func:`transition` is a fold: the state after a stream depends on the articles and their order, and on nothing
else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from isogloss.events.article import Article
from isogloss.events.cluster._state import Cluster, ClusterState, Member
from isogloss.events.cluster._terms import Terms, article_terms
from isogloss.events.cluster._vectors import EMPTY_VECTOR

__all__ = ["Decision", "Move", "repair", "transition"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The changes that an article makes to the clusters."""

    article: str
    """Id of the article."""
    cluster: int
    created: bool = False
    """Whether the cluster is new."""
    repeated: bool = False
    """Whether the article was known; nothing changed then."""
    similarity: float = 0.0
    """Similarity to the cluster it joined; 0 for a new one."""
    merged: tuple[tuple[int, int], ...] = ()
    """Merged clusters: source and target, in the order of the merges."""
    moved: tuple[Move, ...] = ()
    """Articles that were reassigned to another cluster, after all merges, in this order."""
    emptied: tuple[int, ...] = ()
    """Clusters that all articles moved away from."""
    expired: tuple[int, ...] = ()
    """Clusters that expired before the article came."""


def transition(
    state: ClusterState, article: Article, terms: Terms | None = None, places: tuple[str, ...] = ()
) -> Decision:
    """Assign an article to a cluster, and update the state.

    The state is changed, unless the article is known and has not expired. ``terms`` are its
    :func:`~isogloss.events.cluster.article_terms`, if the caller has them, and ``places`` the ids of the
    places that it names, with their countries.

    Notes
    -----
    Articles may come out of order. Similarity decays with time in both directions; but terms are counted on
    the latest day seen, and clusters expire by the latest time seen. An article that is older than the window
    creates a cluster that expires when the next article comes.

    Examples
    --------
    >>> from datetime import UTC, datetime, timedelta
    >>> titles = ["Storm floods the harbour of Veldmar", "Kaltenau elects a mayor",
    ...           "Veldmar harbour under water"]
    >>> start, state = datetime(2031, 3, 5, tzinfo=UTC), ClusterState()
    >>> for i, title in enumerate(titles):
    ...     article = Article(str(i), "en", title, "", start + timedelta(hours=i))
    ...     print(transition(state, article).cluster)
    1
    2
    1
    >>> state.clusters[1].article_ids
    ['0', '2']
    """
    known = state.members.get(article.id)
    if known is not None:
        return Decision(article.id, known.cluster, repeated=True)
    state.now = max(state.now, article.time.timestamp())
    expired = tuple(state.expire())
    member = _member(state, article, terms or article_terms(article), places)
    ranked = state.ranked(member, article.lang)
    similarity, cluster = ranked[0] if ranked else (0.0, state.create_cluster(article.lang))
    state.assign(article.id, member, cluster)
    merged = tuple(_merge(state, cluster, [other for _, other in ranked[1:]]))
    moved, emptied = repair(state, article)
    return Decision(
        article.id,
        member.cluster,
        created=not ranked,
        similarity=similarity,
        merged=merged,
        moved=moved,
        emptied=emptied,
        expired=expired,
    )


def _member(state: ClusterState, article: Article, terms: Terms, places: tuple[str, ...]) -> Member:
    vector = state.terms.add(terms, article.lang, article.time.date())
    settings = state.settings
    threshold = settings.body_threshold if len(terms.body[0]) >= settings.body_terms else settings.threshold
    return Member(0, article.time.timestamp(), vector, threshold, places)


def _merge(state: ClusterState, cluster: Cluster, others: list[Cluster]) -> list[tuple[int, int]]:
    """Merge similar clusters among the candidates of an article; the oldest id is kept."""
    merged = []
    for other in others:
        if state.merges(cluster, other):
            target, source = sorted((cluster, other), key=lambda one: one.id)
            state.merge(source, target)
            merged.append((source.id, target.id))
            cluster = target
    return merged


@dataclass(frozen=True, slots=True)
class Move:
    """Reassignment of an article from one cluster to another."""

    article: str
    source: int
    target: int


def repair(state: ClusterState, article: Article) -> tuple[tuple[Move, ...], tuple[int, ...]]:
    """Reassign the recent articles of a language, when there are enough of them.

    Returns the articles that another cluster fits better, or that no longer fit theirs and created one, and
    the clusters that all articles moved away from.
    """
    recent = state.recent.setdefault(article.lang, [])
    recent.append(article.id)
    if len(recent) < max(1, state.settings.repair_every):
        return (), ()
    state.recent[article.lang] = []
    alive = [one for one in recent if one in state.members]
    moved = [move for one in alive if state.settings.repair_every and (move := _reconsider(state, one))]
    for one in alive:
        state.members[one].vector, state.members[one].places = EMPTY_VECTOR, ()
    return tuple(moved), tuple(_drop_empty(state, moved))


def _drop_empty(state: ClusterState, moved: list[Move]) -> Iterator[int]:
    for number in dict.fromkeys(move.source for move in moved):
        if not len(state.clusters[number]):
            state.delete(state.clusters[number])
            yield number


def _reconsider(state: ClusterState, article_id: str) -> Move | None:
    """Move an article to the cluster that fits it best, if that is another one."""
    member = state.members[article_id]
    home = state.unassign(article_id)
    target = _choose(state, member, home)
    state.assign(article_id, member, target)
    return None if target is home else Move(article_id, home.id, target.id)


def _choose(state: ClusterState, member: Member, home: Cluster) -> Cluster:
    ranked = state.ranked(member, home.lang)
    own = next((score for score, cluster in ranked if cluster is home), 0.0)
    if ranked and ranked[0][0] > own + state.settings.margin:
        return ranked[0][1]
    return home if own or not len(home) else state.create_cluster(home.lang)
