"""Looking at articles again, once others have come that may fit them better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from isogloss.events.article import Article
from isogloss.events.cluster._cluster import Cluster, Member
from isogloss.events.cluster._state import ClusterState
from isogloss.events.cluster._vectors import NOTHING

__all__ = ["Move", "repair"]


@dataclass(frozen=True, slots=True)
class Move:
    """An article that went from one cluster to another."""

    article: str
    source: int
    target: int


def repair(state: ClusterState, article: Article) -> tuple[tuple[Move, ...], tuple[int, ...]]:
    """Look at the last articles of a language again, when there are enough of them.

    Returns
    -------
    moved : tuple of Move
        Articles that another cluster fits better, or that no longer fit theirs and founded one.
    emptied : tuple of int
        Clusters that all articles moved away from.
    """
    recent = state.recent.setdefault(article.lang, [])
    recent.append(article.id)
    if len(recent) < max(1, state.settings.repair_every):
        return (), ()
    state.recent[article.lang] = []
    alive = [one for one in recent if one in state.members]
    moved = [move for one in alive if state.settings.repair_every and (move := _reconsider(state, one))]
    for one in alive:
        state.members[one].vector = NOTHING
    return tuple(moved), tuple(_drop_empty(state, moved))


def _drop_empty(state: ClusterState, moved: list[Move]) -> Iterator[int]:
    for number in dict.fromkeys(move.source for move in moved):
        if not len(state.clusters[number]):
            state.drop(state.clusters[number])
            yield number


def _reconsider(state: ClusterState, article_id: str) -> Move | None:
    """Take an article out and put it where it fits best; back if that is nowhere else."""
    member = state.members[article_id]
    home = state.take(article_id)
    target = _choose(state, member, home)
    state.put(article_id, member, target)
    return None if target is home else Move(article_id, home.id, target.id)


def _choose(state: ClusterState, member: Member, home: Cluster) -> Cluster:
    ranked = state.ranked(member, home.lang)
    own = next((score for score, cluster in ranked if cluster is home), 0.0)
    if ranked and ranked[0][0] > own + state.settings.margin:
        return ranked[0][1]
    return home if own or not len(home) else state.found(home.lang)
