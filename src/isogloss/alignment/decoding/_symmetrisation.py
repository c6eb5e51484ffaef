"""One alignment from the two directions: what both say, what either says, and what lies between.

``forward`` holds the links of the model p(target given source), in which every target word has at most
one source word; ``backward`` those of the other direction, written as (source, target) too. Any other
two sets of links are taken as well.

===========================  ===========================================================================
``intersection``             links in both
``union``                    links in either
``grow-diag``                the intersection, and then links of the union beside those already there,
                             as long as one of their words has none
``grow-diag-final``          after that, links of one direction of which a word has none
``grow-diag-final-and``      after that, links of one direction of which both words have none
``posterior``                links with a mean probability of at least ``threshold``
===========================  ===========================================================================

Where the order matters (a link that is added covers its words), it is that of Moses: links are looked at
by target and then by source position, their neighbours in the order left, up, right, down and diagonal,
those of ``forward`` come before those of ``backward`` at the end (Koehn, Och and Marcu 2003; Koehn et al.
2005). A link that both directions give a probability has their mean; for a link that one direction does
not have, the other counts as zero.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment.decoding._links import Links, link_keys, widths

Heuristic: TypeAlias = Literal[
    "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and", "posterior"
]
Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]

NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
"""Steps in (target, source), in the order in which they are tried."""


def symmetrise(
    forward: Links,
    backward: Links,
    method: Heuristic = "grow-diag-final-and",
    *,
    threshold: float = 0.5,
) -> Links:
    """Join the links of the two directions.

    Parameters
    ----------
    forward, backward : Links
        Links of the two directions, both as (source, target), of the same sentence pairs.
    method : str
        One of the rules above.
    threshold : float
        The least mean probability of ``posterior``, for which both need probabilities.

    Examples
    --------
    >>> forward = Links.from_sets([{(0, 0), (1, 1), (1, 2)}])
    >>> backward = Links.from_sets([{(0, 0), (1, 1), (4, 4)}])
    >>> for method in ("intersection", "grow-diag", "grow-diag-final-and"):
    ...     symmetrise(forward, backward, method).to_lists()
    [[(0, 0), (1, 1)]]
    [[(0, 0), (1, 1), (1, 2)]]
    [[(0, 0), (1, 1), (1, 2), (4, 4)]]
    """
    if method not in get_args(Heuristic):
        raise ValueError(f"method={method!r}; expected one of {', '.join(get_args(Heuristic))}")
    if len(forward) != len(backward):
        raise ValueError(
            f"{len(forward)} sentence pairs forward and {len(backward)} backward; expected as many"
        )
    joined = _join(forward, backward)
    if method == "posterior":
        if joined.links.probability is None:
            raise ValueError("links without probabilities; method='posterior' needs those of both directions")
        return joined.links.select(joined.links.probability >= threshold)
    if method == "union":
        return joined.links
    current = joined.forward & joined.backward
    if method != "intersection":
        _Growth(joined, current).grow(method)
    return joined.links.select(current)


@dataclasses.dataclass(frozen=True)
class _Union:
    """Links of either direction, and which direction has them."""

    links: Links
    forward: Mask
    backward: Mask


def _join(forward: Links, backward: Links) -> _Union:
    width = widths(forward, backward)
    keys = link_keys(forward, width), link_keys(backward, width)
    every = np.sort(np.concatenate(keys), kind="stable")
    union = every[_changes(every)]
    at = [np.searchsorted(union, key) for key in keys]
    masks = [np.zeros(len(union), dtype=bool) for _ in keys]
    for mask, where in zip(masks, at, strict=True):
        mask[where] = True
    probability = None
    if forward.probability is not None and backward.probability is not None:
        probability = np.zeros(len(union))
        probability[at[0]] += forward.probability / 2
        probability[at[1]] += backward.probability / 2
    rest, target = np.divmod(union, width[1])
    sentence, source = np.divmod(rest, width[0])
    offsets = np.searchsorted(sentence, np.arange(len(forward) + 1))
    return _Union(Links(offsets, source, target, probability), *masks)


class _Growth:
    """Adds links to ``current`` in place, all sentence pairs side by side.

    What Moses does to a sentence pair is a fixed list of events, "if this link is there, try that one",
    gone through again and again until nothing changes. Here event number r of every sentence pair is done
    at once. Sentence pairs do not touch each other, so the result is the same.
    """

    def __init__(self, union: _Union, current: Mask) -> None:
        self.union, self.current = union, current
        links = union.links
        self.sentence = links.sentence
        self.order = np.lexsort((links.source, links.target, self.sentence))
        self.source_word = np.cumsum(_changes(self.sentence, links.source)) - 1
        self.target_word = np.empty_like(self.order)
        self.target_word[self.order] = (
            np.cumsum(_changes(self.sentence[self.order], links.target[self.order])) - 1
        )
        self.source_covered, self.target_covered = (
            np.bincount(words, weights=current).astype(bool) for words in (self.source_word, self.target_word)
        )

    def grow(self, method: Heuristic) -> None:
        """Neighbours first, then what the method does at the end."""
        parents, links = self._events()
        changing: Mask = np.ones(len(self.union.links), dtype=bool)
        while changing.any():
            live = changing[self.sentence[links]]
            added = self._run(links[live], parents[live])
            changing = np.zeros_like(changing)
            changing[self.sentence[added]] = True
        if method != "grow-diag":
            for side in (self.union.forward, self.union.backward):
                left = self.order[(side & ~self.current)[self.order]]
                self._run(left, left, alone=method == "grow-diag-final-and")

    def _events(self) -> tuple[Ints, Ints]:
        """Links and their neighbours that are not in the intersection, in the order they are tried."""
        found = np.column_stack([self._beside(*step) for step in NEIGHBOURS])[self.order].ravel()
        open_ = np.append(~self.current, False)[found]
        return np.repeat(self.order, len(NEIGHBOURS))[open_], found[open_]

    def _beside(self, down: int, right: int) -> Ints:
        """For each link, the number of the link at this offset in target and source positions, or -1."""
        links = self.union.links
        rows, columns = (width + 2 for width in widths(links))
        keys = (self.sentence * rows + links.source + 1) * columns + links.target + 1
        wanted = keys + right * columns + down
        at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        return np.where(keys[at] == wanted, at, -1) if len(keys) else at

    def _run(self, links: Ints, parents: Ints, *, alone: bool = False) -> Ints:
        """Go through events once and return the links added."""
        added = [np.zeros(0, dtype=np.int64)]
        for now in _rounds(self.sentence[links]):
            link = links[now]
            source, target = self.source_word[link], self.target_word[link]
            covered = self.source_covered[source], self.target_covered[target]
            free = ~(covered[0] | covered[1]) if alone else ~(covered[0] & covered[1])
            new = link[free & (self.current[parents[now]] | (parents[now] == link))]
            self.current[new] = True
            self.source_covered[self.source_word[new]] = True
            self.target_covered[self.target_word[new]] = True
            added.append(new)
        return np.concatenate(added)


def _rounds(sentence: Ints) -> list[Ints]:
    """Positions of a sorted array, grouped by how many equal ones come before."""
    if not len(sentence):
        return []
    starts = np.flatnonzero(_changes(sentence))
    within = np.arange(len(sentence)) - np.repeat(starts, np.diff([*starts, len(sentence)]))
    short = within.astype(np.min_scalar_type(int(within.max())))  # sorts in linear time
    return np.split(np.argsort(short, kind="stable"), np.cumsum(np.bincount(within))[:-1])


def _changes(*columns: NDArray[np.integer[Any]]) -> Mask:
    """Return a mask of the first row and of every row that differs from the one before."""
    new = np.ones(len(columns[0]), dtype=bool)
    new[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return new
