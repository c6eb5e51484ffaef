"""Events of a stream with stable ids, updated incrementally.

When events merge, the oldest id is kept and the others become its aliases; when an event splits, the part
with most of its articles keeps the id. Ids count up and are never reused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum, sqrt

from isogloss.events.event import Event, describe_event
from isogloss.events.link import LinkState
from isogloss.events.track._agglomeration import AgglomerationRules, group_linked
from isogloss.events.track._follow_ups import split_follow_ups
from isogloss.kernels import replace_links

_MIN_PLAUSIBLE_SHARE = 0.5
"""Share of the merge threshold that the mean link of a cluster to an event must reach to be considered."""


class EventTracker:
    """Groups the clusters of a link state into events.

    An update considers the clusters that changed, the other clusters of their events, and the events that
    their links point to; the rest stays as it is. The caller decides how often to update: after every
    article, or after some hundred, which costs less.

    Parameters
    ----------
    links : LinkState
        The clusters and their links.
    rules : AgglomerationRules, optional
        When clusters become one event.

    Attributes
    ----------
    ids : EventIds
        Which cluster is in which event.
    probabilities : dict of int to dict of int to float
        Probabilities of the links that were considered, in both directions.
    changed_events : set of int or None
        Events whose clusters changed in the last update; None if that is not known.
    """

    def __init__(self, links: LinkState, rules: AgglomerationRules | None = None) -> None:
        self.links = links
        self.rules = rules or AgglomerationRules()
        self.ids = EventIds()
        self.probabilities: dict[int, dict[int, float]] = {}
        self.changed_events: set[int] | None = None

    def update(self) -> list[int]:
        """Update the events; return the ids of new and changed ones, ascending."""
        profiles = self.links.profiles
        changed_events = self._forget_removed()
        changed = {one for one in self.links.changed if one in profiles}
        self.links.changed.clear()
        self._refresh(changed)
        concerned = sorted(self._affected_clusters(changed))
        sizes = {one: len(profiles[one]) for one in concerned}
        languages = {one: profiles[one].lang for one in concerned}
        round_ups = {one for one in concerned if profiles[one].tells_many_stories}
        groups = group_linked(sizes, languages, self.probabilities, self.rules, round_ups)
        groups = split_follow_ups(groups, profiles, self.rules.new_name)
        found = sorted(self.ids.assign(groups, sizes))
        self.changed_events = changed_events.union(found)
        return found

    def event(self, number: int) -> Event:
        """Return an event by its id or an alias."""
        resolved = self.ids.resolve(number)
        if resolved not in self.ids.members:
            raise KeyError(f"no event {number}; its clusters have expired, or there never was one")
        members = sorted(self.ids.members[resolved])
        own = [self.links.profiles[one] for one in members]
        return describe_event(resolved, own, self.links.articles, self._confidence(members))

    def events(self) -> Iterator[Event]:
        """Yield all events, ascending by id."""
        for number in sorted(self.ids.members):
            yield self.event(number)

    def _refresh(self, changed: set[int]) -> None:
        """Recompute the links of changed clusters."""
        pairs, chances = self.links.probabilities(changed)
        first, second = pairs.T.copy()
        replace_links(self.probabilities, list(changed), first, second, chances)

    def _affected_clusters(self, changed: Iterable[int]) -> set[int]:
        """Return the changed clusters with all clusters of their events and of events that they may join."""
        ids, out = self.ids, set(changed)
        weights: dict[int, float] = {}
        for one in list(out):
            for event in self._plausible_events(self.probabilities[one], out, weights):
                out |= ids.members[event]
        for one in list(out):
            if one in ids.event_of:
                out |= ids.members[ids.event_of[one]]
        return out

    def _plausible_events(
        self, near: Mapping[int, float], known: set[int], weights: dict[int, float]
    ) -> list[int]:
        """Return the events that a cluster with these links may join as a whole."""
        event_of, profiles = self.ids.event_of, self.links.profiles
        likely = {
            event_of.get(other)
            for other, p in near.items()
            if p >= self.rules.threshold and other not in known
        }
        sums = dict.fromkeys(sorted(event for event in likely if event is not None), 0.0)
        if not sums:
            return []
        linked = dict.fromkeys(sums, 0.0)
        for other, p in near.items():
            event = event_of.get(other)
            if event in linked:
                weight = sqrt(len(profiles[other].articles))
                sums[event] += p * weight
                linked[event] += weight
        for event in sums:
            if event not in weights:
                weights[event] = fsum(sqrt(len(profiles[one].articles)) for one in self.ids.members[event])
        minimum, unlinked = _MIN_PLAUSIBLE_SHARE * self.rules.threshold, self.rules.unlinked
        return [
            event
            for event, total in sums.items()
            if total >= minimum * (linked[event] + unlinked * (weights[event] - linked[event]))
        ]

    def _confidence(self, members: list[int]) -> float:
        own = set(members)
        known = [p for a in members for b, p in self.probabilities[a].items() if a < b and b in own]
        return sum(known) / len(known) if known else 1.0

    def _forget_removed(self) -> set[int]:
        """Forget removed clusters, and return their events; the first call checks all clusters."""
        removed = self.links.removed if self.changed_events is not None else self.ids.event_of
        lost = sorted(one for one in removed if one in self.ids.event_of and one not in self.links.profiles)
        events = {self.ids.event_of[one] for one in lost}
        for cluster in lost:
            self._forget(cluster)
        self.links.removed.clear()
        return events

    def _forget(self, cluster: int) -> None:
        self.ids.remove(cluster)
        for other in self.probabilities.pop(cluster, {}):
            self.probabilities[other].pop(cluster, None)


class EventIds:
    """Assignment of clusters to events, and aliases of events.

    Attributes
    ----------
    event_of : dict of int to int
        The event of each cluster.
    members : dict of int to set of int
        The clusters of each event.
    aliases : dict of int to int
        For ids that were merged, the id they were merged into, as long as the event exists.

    Examples
    --------
    >>> ids = EventIds()
    >>> ids.assign([[10, 11], [12]], {10: 3, 11: 2, 12: 4})
    [1, 2]
    >>> ids.assign([[10, 11, 12]], {10: 3, 11: 2, 12: 4}), ids.resolve(2)
    ([1], 1)
    >>> ids.assign([[10, 11], [12]], {10: 3, 11: 2, 12: 4})
    [1, 3]
    """

    def __init__(self) -> None:
        self.event_of: dict[int, int] = {}
        self.members: dict[int, set[int]] = {}
        self.aliases: dict[int, int] = {}
        self.last = 0
        self._former: dict[int, list[int]] | None = None

    def assign(self, groups: Sequence[Sequence[int]], sizes: Mapping[int, int]) -> list[int]:
        """Assign event ids to groups of clusters, replacing the previous assignment of these clusters.

        All remaining clusters of a known event must be among the groups. Returns the id of each group.
        """
        claims = self._claims(groups, sizes)
        for group in groups:
            for one in group:
                self.remove(one)
        holds: dict[int, list[int]] = {}
        for event, place in sorted(claims.items()):
            holds.setdefault(place, []).append(event)
        out = []
        for place, group in enumerate(groups):
            held = holds.get(place, [])
            event = held[0] if held else self._new()
            for old in held[1:]:
                self.alias(old, event)
            self.members[event] = set(group)
            self.event_of.update(dict.fromkeys(group, event))
            out.append(event)
        return out

    def remove(self, cluster: int) -> None:
        """Remove a cluster; an event without clusters is removed too."""
        event = self.event_of.pop(cluster, None)
        if event is not None:
            self.members[event].discard(cluster)
            if not self.members[event]:
                del self.members[event]

    def alias(self, old: int, new: int) -> None:
        """Record that an event was merged into another."""
        self._former_ids().setdefault(new, []).append(old)
        self.aliases[old] = new

    def forget(self, event: int) -> None:
        """Forget the aliases of an event that ended."""
        former = self._former_ids()
        names = former.pop(event, [])
        while names:
            old = names.pop()
            del self.aliases[old]
            names += former.pop(old, [])

    def resolve(self, event: int) -> int:
        """Return the current id of an event."""
        while event in self.aliases:
            event = self.aliases[event]
        return event

    def _claims(self, groups: Sequence[Sequence[int]], sizes: Mapping[int, int]) -> dict[int, int]:
        """Return for each known event the position of the group that has most of its articles."""
        shares: dict[int, dict[int, int]] = {}
        for place, group in enumerate(groups):
            for one in group:
                event = self.event_of.get(one)
                if event is not None:
                    share = shares.setdefault(event, {})
                    share[place] = share.get(place, 0) + sizes[one]
        return {
            event: min(share, key=lambda place: (-share[place], min(groups[place])))
            for event, share in shares.items()
        }

    def _former_ids(self) -> dict[int, list[int]]:
        """Return the former ids of each id; computed from the aliases at first access."""
        if self._former is None:
            self._former = {}
            for old, new in self.aliases.items():
                self._former.setdefault(new, []).append(old)
        return self._former

    def _new(self) -> int:
        self.last += 1
        return self.last
