"""Events of a stream, kept up to date: stable ids, and only what changed is looked at again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import fsum, sqrt

from isogloss.events.event import Event, describe_event
from isogloss.events.link import LinkState
from isogloss.events.track._agglomeration import Rules, group_linked
from isogloss.events.track._identity import EventIds
from isogloss.kernels import replace_links

__all__ = ["EventTracker"]

_PLAUSIBLE = 0.5
"""The part of the threshold of joining that the mean link of a cluster to an event must have to be tried."""


class EventTracker:
    """Groups the clusters of a link state to events.

    An update looks at the clusters that changed, at the clusters of their events, and at the events that the
    links of a cluster speak for; the rest stays as it is. How often to update is up to the caller: after
    every article, or after some hundred of them, which costs less.

    Parameters
    ----------
    links : LinkState
        The clusters and their links.
    rules : Rules, optional
        When clusters become one event.

    Attributes
    ----------
    ids : EventIds
        Which cluster is in which event.
    probabilities : dict of int to dict of int to float
        Of the links that were looked at, both ways.
    shaken : set of int or None
        Events whose clusters are not what they were before the last update; None if that is not known.
    """

    def __init__(self, links: LinkState, rules: Rules | None = None) -> None:
        self.links = links
        self.rules = rules or Rules()
        self.ids = EventIds()
        self.probabilities: dict[int, dict[int, float]] = {}
        self.shaken: set[int] | None = None

    def update(self) -> list[int]:
        """Bring events up to date; the ids of those that changed or are new, ascending."""
        profiles = self.links.profiles
        shaken = self._forget_gone()
        changed = {one for one in self.links.changed if one in profiles}
        self.links.changed.clear()
        self._refresh(changed)
        concerned = sorted(self._concerned(changed))
        sizes = {one: len(profiles[one]) for one in concerned}
        languages = {one: profiles[one].lang for one in concerned}
        groups = group_linked(sizes, languages, self.probabilities, self.rules)
        found = sorted(self.ids.settle(groups, sizes))
        self.shaken = shaken.union(found)
        return found

    def event(self, number: int) -> Event:
        """An event by its id, or by one that it had before."""
        resolved = self.ids.resolve(number)
        if resolved not in self.ids.members:
            raise KeyError(f"no event {number}; its clusters have expired, or there never was one")
        members = sorted(self.ids.members[resolved])
        own = [self.links.profiles[one] for one in members]
        return describe_event(resolved, own, self.links.signatures, self._confidence(members))

    def events(self) -> Iterator[Event]:
        """All events, ascending by id."""
        for number in sorted(self.ids.members):
            yield self.event(number)

    def _refresh(self, changed: set[int]) -> None:
        """Look at the links of clusters that changed."""
        pairs, chances = self.links.probabilities(changed)
        first, second = pairs.T.copy()
        replace_links(self.probabilities, list(changed), first, second, chances)

    def _concerned(self, changed: Iterable[int]) -> set[int]:
        """Clusters that changed, all of their events, and the events that they may join."""
        ids, out = self.ids, set(changed)
        weights: dict[int, float] = {}
        for one in list(out):
            for event in self._plausible(self.probabilities[one], out, weights):
                out |= ids.members[event]
        for one in list(out):
            if one in ids.event_of:
                out |= ids.members[ids.event_of[one]]
        return out

    def _plausible(self, near: Mapping[int, float], known: set[int], weights: dict[int, float]) -> list[int]:
        """Events that a cluster with these links is linked to as a whole, not by a single cluster of many."""
        event_of, profiles = self.ids.event_of, self.links.profiles
        likely = {
            event_of.get(other)
            for other, p in near.items()
            if p >= self.rules.threshold and other not in known
        }
        linked = dict.fromkeys(sorted(event for event in likely if event is not None), 0.0)
        if not linked:
            return []
        for other, p in near.items():
            event = event_of.get(other)
            if event in linked:
                linked[event] += p * sqrt(len(profiles[other].articles))
        for event in linked:
            if event not in weights:
                weights[event] = fsum(sqrt(len(profiles[one].articles)) for one in self.ids.members[event])
        least = _PLAUSIBLE * self.rules.threshold
        return [event for event, sum_ in linked.items() if sum_ >= least * weights[event]]

    def _confidence(self, members: list[int]) -> float:
        own = set(members)
        known = [p for a in members for b, p in self.probabilities[a].items() if a < b and b in own]
        return sum(known) / len(known) if known else 1.0

    def _forget_gone(self) -> set[int]:
        """Forget the clusters that are no more, and give their events; the first time, all are looked at."""
        gone = self.links.gone if self.shaken is not None else self.ids.event_of
        lost = sorted(one for one in gone if one in self.ids.event_of and one not in self.links.profiles)
        events = {self.ids.event_of[one] for one in lost}
        for cluster in lost:
            self._forget(cluster)
        self.links.gone.clear()
        return events

    def _forget(self, cluster: int) -> None:
        self.ids.remove(cluster)
        for other in self.probabilities.pop(cluster, {}):
            self.probabilities[other].pop(cluster, None)
