r"""Dimensionality drift: whether the two sides of a pair of languages tell as much.

For the rows that a pair of languages shares, the share of the highest possible rank that either matrix has,

.. math:: \frac{\operatorname{rank}(A)}{\min(\operatorname{rows}(A), \operatorname{cols}(A))}

(thesis, section 8.3.2, Table 8.7), and how many of the documents differ from all others. Pages made from a
template leave rank and number low on one side; no model can tell such documents apart, so a low figure
explains a poor retrieval score that more training would not mend.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from isogloss.corpora import Corpus


class Drift(NamedTuple):
    """Both sides of a pair of languages.

    Attributes
    ----------
    rows : int
        Rows that the pair shares.
    ranks : tuple of float
        Numerical rank of either matrix, as a share of the highest possible.
    distinct : tuple of int
        Documents of either side that differ from all before them.
    """

    rows: int
    ranks: tuple[float, float]
    distinct: tuple[int, int]

    @property
    def gap(self) -> float:
        """Return the difference of the ranks; 0 is best."""
        return abs(self.ranks[0] - self.ranks[1])


def find_drift(
    corpus: Corpus,
    pairs: Sequence[tuple[str, str]] | None = None,
    *,
    hub: str | None = None,
    max_rows: int = 1000,
    random_state: int | None = 0,
) -> dict[tuple[str, str], Drift]:
    """Ranks and numbers of distinct documents of pairs of languages.

    Parameters
    ----------
    corpus : Corpus
        Counts of words.
    pairs : sequence of (str, str), optional
        Pairs to look at; by default the hub with every other language, as in the thesis.
    hub : str, optional
        The language with most documents by default.
    max_rows : int
        Ranks of more rows are estimated from so many of them, which makes them rather too high.
    random_state : int or None
        Where the random numbers begin.

    Returns
    -------
    dict of (str, str) to Drift
        Without the pairs that share no row.

    Examples
    --------
    >>> from isogloss.corpora import InMemoryCorpus
    >>> en, ht = ["a town in the north", "a river", "an old poet"], ["yon vil", "yon vil", "yon vil"]
    >>> find_drift(InMemoryCorpus({"en": en, "ht": ht}, tokenise=str.split))
    {('en', 'ht'): Drift(rows=3, ranks=(1.0, 0.5), distinct=(3, 1))}
    """
    if max_rows < 1:
        raise ValueError(f"max_rows={max_rows}; expected at least one row to find ranks of")
    out = {}
    for a, b in _hub_pairs(corpus, hub) if pairs is None else pairs:
        pair = corpus.select(corpus.rows([a, b]), [a, b])
        if len(pair):
            ratio = pair.info(hub=a, max_rows=max_rows, random_state=random_state).ranks[b]
            distinct = (_distinct(pair.matrix(a)), _distinct(pair.matrix(b)))
            out[a, b] = Drift(len(pair), (ratio.hub, ratio.language), distinct)
    return out


def _hub_pairs(corpus: Corpus, hub: str | None) -> list[tuple[str, str]]:
    largest = corpus.languages[int(corpus.presence.sum(axis=0).argmax())]
    centre = largest if hub is None else corpus.languages[corpus.index(hub)]
    return [(centre, name) for name in corpus.languages if name != centre]


def _distinct(counts: Any) -> int:
    """Rows that differ from all before them."""
    indices, data = np.asarray(counts.indices), np.asarray(counts.data)
    edges = zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    return len({(indices[a:b].tobytes(), data[a:b].tobytes()) for a, b in edges})
