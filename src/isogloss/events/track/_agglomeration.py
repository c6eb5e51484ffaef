r"""From links between clusters to events: constrained agglomeration.

Groups of clusters are merged, the most probable pair first, while the mean probability of the links between
two groups,

.. math::

    p(G, H) = \frac{\sum_{c \in G, d \in H} u_{cd} w_c w_d\, p_{cd}}
                   {\pi + \sum_{c \in G, d \in H} u_{cd} w_c w_d},
    \qquad w_c = \sqrt{\text{articles of } c},

is at least a threshold. A pair of clusters that were never candidates of each other has probability 0 there,
so one wrong link between two stories of several clusters is outvoted by all the pairs that are not linked.
Between languages that share few names, clusters of one story are often not found as candidates either: such a
pair counts less, :math:`u_{cd} = \mu`, than one that is linked, :math:`u_{cd} = 1`. Most wrong events are
single articles with one weak link between them, so every mean also has a prior: a pair without a link, of
weight :math:`\pi`, which two articles must outweigh by a strong link and large groups hardly notice.
A wrong link does not come first because it is strong: :math:`p_{cd}` is discounted by the support of third
clusters, which are linked to both or to neither if c and d are one story,

.. math::

    p_{cd} \left(1 - \lambda + \lambda\,
    \frac{\kappa + \sum_e \min(p_{ce}, p_{de})}{\kappa + \sum_e v_e \max(p_{ce}, p_{de})}\right),
    \qquad \kappa = \tfrac12,

with :math:`v_e = \mu` for a cluster e that is linked to one of the two only, and 1 for others.

Three further rules keep stories apart: a pair whose probability is almost 0 keeps its groups apart whatever
the others say; groups that share a language are merged only if the clusters of that language are linked
themselves; and the mean between two groups must reach a share of the smaller of the means within them, so
that two stories that are each told alike everywhere do not merge because they have much in common. The mean
within a group has the same form as that between two, and is 0 for a single cluster. Clusters of round-ups,
which tell many stories, are added last, each to the group it fits best, so that they never connect two.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from isogloss.kernels import join_clusters

Pair = tuple[int, int]


@dataclass(frozen=True)
class AgglomerationRules:
    r"""Rules for merging groups of clusters into one event."""

    threshold: float = 0.2
    """Minimum mean probability of the links between two groups."""
    impossible: float = 0.001
    """Probability of a link below which its clusters are never in one event."""
    same_language: float = 0.25
    """Minimum mean probability of the links between clusters of a language that both groups have."""
    doubt: float = 0.9
    r"""The share of a probability, :math:`\lambda`, that third clusters must support."""
    unlinked: float = 0.4
    r"""Weight :math:`\mu` of a pair of clusters without a link, relative to one with a link."""
    prior: float = 1.5
    r"""Weight :math:`\pi` of the prior, relative to a link between two articles."""
    cohesion: float = 0.5
    """Minimum mean probability between two groups, relative to that within the less probable of both."""
    new_name: float = 0.6
    """How clearly a new name must appear for a follow-up to be an event of its own; 1 or more for never."""


def agglomerate(
    sizes: Mapping[int, int],
    languages: Mapping[int, str],
    probabilities: Mapping[Pair, float],
    rules: AgglomerationRules | None = None,
) -> list[list[int]]:
    """Group clusters into events; the result does not depend on the order of the mappings.

    Clusters have sizes in articles; links have the smaller id first. Returns the clusters of each event, both
    ascending.

    Examples
    --------
    Two stories of three languages each, and one wrong link between them:

    >>> links = {(1, 2): 0.9, (1, 3): 0.9, (2, 3): 0.8, (4, 5): 0.9, (4, 6): 0.9, (5, 6): 0.8, (3, 4): 0.95}
    >>> languages = {1: "en", 2: "de", 3: "fr", 4: "en", 5: "de", 6: "ru"}
    >>> agglomerate(dict.fromkeys(languages, 4), languages, links)
    [[1, 2, 3], [4, 5, 6]]
    """
    linked: dict[int, dict[int, float]] = {one: {} for one in sizes}
    for (a, b), p in probabilities.items():
        linked[a][b] = linked[b][a] = p
    return group_linked(sizes, languages, linked, rules or AgglomerationRules())


def group_linked(
    sizes: Mapping[int, int],
    languages: Mapping[int, str],
    linked: Mapping[int, dict[int, float]],
    rules: AgglomerationRules,
    round_ups: Collection[int] = (),
) -> list[list[int]]:
    """Group clusters into events, as :func:`agglomerate` does, by links given per cluster in both directions.

    Links to clusters that are not in ``sizes`` are ignored. A cluster of ``round_ups`` is added to the group
    of other clusters that it fits best, if the rules allow it, after these groups are complete.
    """
    groups = _join(sorted(sizes.keys() - set(round_ups)), sizes, languages, linked, rules)
    place_of = {one: place for place, group in enumerate(groups) for one in group}
    added: dict[int, list[int]] = {}
    alone: list[list[int]] = []
    for one in sorted(round_ups):
        means = {
            place: _mean_link(one, groups[place], sizes, languages, linked[one], rules)
            for place in sorted({place_of[other] for other in linked[one] if other in place_of})
        }
        best = max(means, key=means.__getitem__, default=0)
        if means.get(best, 0.0) >= rules.threshold:
            added.setdefault(best, []).append(one)
        else:
            alone.append([one])
    whole = (sorted([*group, *added.get(place, ())]) for place, group in enumerate(groups))
    return sorted([*whole, *alone])


def _mean_link(
    one: int,
    group: list[int],
    sizes: Mapping[int, int],
    languages: Mapping[int, str],
    near: Mapping[int, float],
    rules: AgglomerationRules,
) -> float:
    """Return the mean probability of the links of a cluster to a group; 0 if a rule keeps them apart."""
    total = own_total = own_weights = 0.0
    weights = rules.prior / sqrt(sizes[one])
    for other in group:
        p = near.get(other)
        if p is not None and p < rules.impossible:
            return 0.0
        weight = sqrt(sizes[other]) * (rules.unlinked if p is None else 1.0)
        total, weights = total + weight * (p or 0.0), weights + weight
        if languages[other] == languages[one]:
            own_total, own_weights = own_total + weight * (p or 0.0), own_weights + sqrt(sizes[other])
    return 0.0 if own_total < rules.same_language * own_weights else total / weights


def _join(
    ids: Sequence[int],
    sizes: Mapping[int, int],
    languages: Mapping[int, str],
    linked: Mapping[int, dict[int, float]],
    rules: AgglomerationRules,
) -> list[list[int]]:
    """Join clusters by the rules, without regard to round-ups."""
    codes = {lang: code for code, lang in enumerate(dict.fromkeys(languages.values()))}
    first = np.empty(len(ids), dtype=np.int32)
    join_clusters(
        np.array(ids, dtype=np.int64),
        np.sqrt([sizes[one] for one in ids], dtype=np.float64),
        np.array([codes[languages[one]] for one in ids], dtype=np.int32),
        [linked[one] for one in ids],
        rules.threshold,
        rules.impossible,
        rules.same_language,
        rules.doubt,
        rules.unlinked,
        rules.prior,
        rules.cohesion,
        first,
    )
    groups: dict[int, list[int]] = {}
    for place, one in zip(first.tolist(), ids, strict=True):
        groups.setdefault(place, []).append(one)
    return list(groups.values())
