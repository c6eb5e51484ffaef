"""How words are written in most places, and which are proper names."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.lexicon.aligned._text import Ints, TextSide

MIN_CAPITALS = 0.9
"""The least share of capitals, where a sentence does not begin, of a name."""
MAX_NAMES = 0.25
"""In a language that writes more of its frequent words so, capitals do not mean names."""
_FREQUENT = 20


class NameSigns(NamedTuple):
    """Of each unit whether its capitals say that it is a name; None for a language where they say nothing."""

    capitals: NDArray[np.bool_]
    telling: bool

    @classmethod
    def of(cls, side: TextSide, units: Ints) -> NameSigns:
        """Look at the occurrences of units that do not begin a sentence."""
        n, inside = len(side.words), side.gaps < 2
        upper = np.fromiter(
            (side.surface(token)[:1].isupper() for token in range(len(side.tokens))), bool, len(side.tokens)
        )
        seen = np.bincount(units[inside], minlength=n)
        capitals = np.bincount(units[inside & upper], minlength=n)
        long = np.fromiter((len(word) > 1 for word in side.words), bool, n)
        found = (seen > 0) & (capitals >= MIN_CAPITALS * seen) & long
        frequent = seen >= _FREQUENT
        share = found[frequent].mean() if frequent.any() else found[seen > 0].mean() if seen.any() else 0
        return cls(found, bool(upper.any()) and share <= MAX_NAMES)


def common_surfaces(side: TextSide, tokens: Ints, lengths: Ints, terms: Ints) -> dict[int, str]:
    """How each term is written most often, by preference where no sentence begins."""
    inside = np.where(side.gaps[tokens] < 2, 1.0, 0.01)
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    columns = (tokens.tolist(), lengths.tolist(), terms.tolist(), inside.tolist())
    for token, length, term, weight in zip(*columns, strict=True):
        found[term][side.surface(token, length)] += weight
    return {term: " ".join(max(written, key=written.__getitem__).split()) for term, written in found.items()}
