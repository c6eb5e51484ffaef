"""Ids of events that stay while events change.

When events merge, the oldest id lives on and the others become aliases of it; when an event splits, the part
with most of its articles keeps the id. Ids count up and are never given twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["EventIds"]


class EventIds:
    """Which clusters are in which event, and what events were called before.

    Attributes
    ----------
    event_of : dict of int to int
        The event of each cluster.
    members : dict of int to set of int
        The clusters of each event.
    aliases : dict of int to int
        For ids that went into others, the id that they went into, as long as the event lives.

    Examples
    --------
    >>> ids = EventIds()
    >>> ids.settle([[10, 11], [12]], {10: 3, 11: 2, 12: 4})
    [1, 2]
    >>> ids.settle([[10, 11, 12]], {10: 3, 11: 2, 12: 4}), ids.resolve(2)
    ([1], 1)
    >>> ids.settle([[10, 11], [12]], {10: 3, 11: 2, 12: 4})
    [1, 3]
    """

    def __init__(self) -> None:
        self.event_of: dict[int, int] = {}
        self.members: dict[int, set[int]] = {}
        self.aliases: dict[int, int] = {}
        self.last = 0
        self._former: dict[int, list[int]] | None = None

    def settle(self, groups: Sequence[Sequence[int]], sizes: Mapping[int, int]) -> list[int]:
        """Give ids to groups of clusters, which replace what was known of these clusters.

        Parameters
        ----------
        groups : sequence of sequences of int
            Clusters of each event. Of an event that was known, all clusters are expected that still exist.
        sizes : mapping of int to int
            Articles of each cluster.

        Returns
        -------
        list of int
            The id of each group.
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
        """Forget a cluster; an event without clusters is forgotten too."""
        event = self.event_of.pop(cluster, None)
        if event is not None:
            self.members[event].discard(cluster)
            if not self.members[event]:
                del self.members[event]

    def alias(self, old: int, new: int) -> None:
        """An event went into another one."""
        self._former_ids().setdefault(new, []).append(old)
        self.aliases[old] = new

    def forget(self, event: int) -> None:
        """An event ended: what it was called before is forgotten."""
        former = self._former_ids()
        names = former.pop(event, [])
        while names:
            old = names.pop()
            del self.aliases[old]
            names += former.pop(old, [])

    def resolve(self, event: int) -> int:
        """The id under which an event is known now."""
        while event in self.aliases:
            event = self.aliases[event]
        return event

    def _claims(self, groups: Sequence[Sequence[int]], sizes: Mapping[int, int]) -> dict[int, int]:
        """For each known event the place of the group that has most of its articles."""
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
        """For each id those that went into it; told by the aliases the first time."""
        if self._former is None:
            self._former = {}
            for old, new in self.aliases.items():
                self._former.setdefault(new, []).append(old)
        return self._former

    def _new(self) -> int:
        self.last += 1
        return self.last
