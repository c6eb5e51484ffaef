"""Links that a person has set or removed, as the HTML viewer saves them: a JSON object per sentence pair.

``{"pair": 3, "source": ["the", "house"], "target": ["la", "maison"], "add": [[0, 0]], "remove": [[1, 0]]}``
Pairs count from 1, words from 0. The words are there so that corrections of another text are noticed.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Sequence

import numpy as np

from isogloss.alignment.decoding import Links, link_keys, widths
from isogloss.alignment.models import LexiconRow
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, read_lines

Pair = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class CorrectedPair:
    """The corrections of one sentence pair, with its number from 1 and its words."""

    pair: int
    source: tuple[str, ...]
    target: tuple[str, ...]
    add: tuple[Pair, ...] = ()
    remove: tuple[Pair, ...] = ()


@dataclasses.dataclass(frozen=True)
class Corrections:
    """Corrected links of a text.

    Examples
    --------
    >>> pair = CorrectedPair(1, ("the", "house"), ("la", "maison"), add=((1, 1),), remove=((0, 1),))
    >>> corrections = Corrections((pair,))
    >>> corrections.apply(Links.from_sets([{(0, 0), (0, 1)}, {(0, 0)}])).to_lists()
    [[(0, 0), (1, 1)], [(0, 0)]]
    >>> corrections.translations
    [('house', 'maison', 1.0)]
    """

    pairs: tuple[CorrectedPair, ...]

    @property
    def translations(self) -> list[LexiconRow]:
        """The words of added links, each link counted once: prior counts for training."""
        return [(one.source[i], one.target[j], 1.0) for one in self.pairs for i, j in one.add]

    def check(self, text: Iterable[tuple[Sequence[str], Sequence[str]]]) -> None:
        """Refuse corrections that were made in another text, or with other words."""
        expected = {one.pair: one for one in self.pairs}
        for number, (source, target) in enumerate(text, 1):
            one = expected.pop(number, None)
            if one is not None and (tuple(source), tuple(target)) != (one.source, one.target):
                raise CorpusError(
                    f"corrections of pair {number} are for the words {' '.join(one.source)!r:.60}, but the "
                    f"text has {' '.join(source)!r:.60}; use the text that was corrected, split in the same "
                    "way"
                )
        for number in expected:
            raise CorpusError(
                f"corrections of pair {number}, but the text has fewer pairs; use the same text"
            )

    def apply(self, links: Links) -> Links:
        """The links with the corrections made; added ones have probability 1."""
        added, removed = (self._links(name, len(links)) for name in ("add", "remove"))
        width = widths(links, added, removed)
        keys = link_keys(links, width)
        kept = links.select(
            ~np.isin(keys, np.concatenate([link_keys(one, width) for one in (added, removed)]))
        )
        sentence, source, target = (
            np.concatenate([getattr(one, name) for one in (kept, added)])
            for name in ("sentence", "source", "target")
        )
        probability = None
        if kept.probability is not None:
            probability = np.concatenate([kept.probability, np.ones(added.n_links)])
        return Links.from_arrays(sentence, source, target, probability, n=len(links))

    def as_lists(self) -> list[tuple[int, list[tuple[str, bool]]]]:
        """Number of each pair, and its links as ``source-target`` with whether they are set."""
        return [
            (
                one.pair,
                [(f"{i}-{j}", on) for on, side in ((True, one.add), (False, one.remove)) for i, j in side],
            )
            for one in self.pairs
        ]

    def _links(self, name: str, n: int) -> Links:
        """All links added or removed, in a text of ``n`` pairs."""
        rows = [(one.pair - 1, i, j) for one in self.pairs for i, j in getattr(one, name)]
        sentence, source, target = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        return Links.from_arrays(sentence, source, target, n=n)


def read_corrections(path: PathLike) -> Corrections:
    """Read corrections that the viewer has saved."""
    pairs: dict[int, CorrectedPair] = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            one = _parsed(json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError) as reason:
            raise CorpusError(
                f"{os.fspath(path)}:{number}: {line[:60].decode(errors='replace')!r} is not a correction; "
                "expected a JSON object with pair, source, target, add and remove, as the viewer saves it"
            ) from reason
        if one.pair in pairs:
            raise CorpusError(
                f"{os.fspath(path)}:{number}: pair {one.pair} is corrected twice; merge the lines"
            )
        pairs[one.pair] = one
    return Corrections(tuple(pairs[number] for number in sorted(pairs)))


def _parsed(found: dict[str, object]) -> CorrectedPair:
    pair, sides = found["pair"], (found["source"], found["target"])
    if type(pair) is not int or pair < 1 or not all(isinstance(side, list) for side in sides):
        raise ValueError("not a pair")
    source, target = (tuple(side) for side in sides)  # type: ignore[arg-type, var-annotated]
    if not all(isinstance(word, str) for word in (*source, *target)):
        raise ValueError("not words")
    links = {}
    for name in ("add", "remove"):
        listed = found.get(name, [])
        if not isinstance(listed, list):
            raise ValueError("not links")
        links[name] = tuple((i, j) for i, j in listed)
        for i, j in links[name]:
            if (
                type(i) is not int
                or type(j) is not int
                or not (0 <= i < len(source) and 0 <= j < len(target))
            ):
                raise ValueError("no such words")
    if set(links["add"]) & set(links["remove"]):
        raise ValueError("added and removed")
    return CorrectedPair(pair, source, target, links["add"], links["remove"])
