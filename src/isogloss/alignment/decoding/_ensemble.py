"""Links from the posteriors of several models that read the same text, averaged cell by cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment._bitext import Bitext
from isogloss.alignment.decoding._decode import Reader, sentence_of
from isogloss.alignment.decoding._links import Links
from isogloss.alignment.decoding._threshold import MIN_THRESHOLD

Single = NDArray[np.float32]

MEANS = ("geometric", "arithmetic")
"""Ways to combine the posteriors of the two directions."""


def joint_posterior(forward: Single, backward: Single, mean: str) -> Single:
    """The geometric or arithmetic mean of the posteriors of both directions.

    The geometric one is high only where both directions agree. The arithmetic one also finds words with
    several translations, which one direction has to share between them.

    Examples
    --------
    >>> import numpy as np
    >>> forward, backward = np.array([0.9, 0.9], np.float32), np.array([0.9, 0.2], np.float32)
    >>> joint_posterior(forward, backward, "geometric").round(2)
    array([0.9 , 0.42], dtype=float32)
    >>> joint_posterior(forward, backward, "arithmetic").round(2)
    array([0.9 , 0.55], dtype=float32)
    """
    if mean == "geometric":
        return np.asarray(np.sqrt(forward * backward))
    return (forward + backward) / np.float32(2)


class EnsembleReader:
    """Reads text with several models.

    Each bitext is the same text as one of them numbers its words.
    """

    def __init__(self, readers: Sequence[Reader], bitexts: Sequence[Bitext]) -> None:
        self.readers, self.bitexts = readers, bitexts

    def posteriors(self, rows: slice) -> tuple[Single, Single]:
        """The mean posterior of every cell in each direction."""
        found = [
            reader.posteriors(reader.index(bitext[rows]))
            for reader, bitext in zip(self.readers, self.bitexts, strict=True)
        ]
        if len(found) == 1:
            return found[0]
        forward, backward = (sum(side) / np.float32(len(found)) for side in zip(*found, strict=True))
        return np.asarray(forward), np.asarray(backward)

    def likely(self, mean: str) -> tuple[Single, float]:
        """Joint posteriors of the cells that may be links, and the sum of those of all cells."""
        likely, total = [np.empty(0, dtype=np.float32)], 0.0
        for rows in self.bitexts[0].blocks():
            joint = joint_posterior(*self.posteriors(rows), mean)
            likely.append(joint[joint > MIN_THRESHOLD])
            total += float(joint.sum(dtype=np.float64))
        return np.concatenate(likely), total

    def agreed(self, threshold: float, mean: str) -> Links:
        """Links whose mean of the two posteriors exceeds ``threshold``, with that mean."""
        parts = [self._agreed(rows, threshold, mean) for rows in self.bitexts[0].blocks()]
        return Links.concatenate(parts) if parts else Links([0], [], [], [])

    def best(self) -> tuple[Links, Links]:
        """The best alignment of each direction: each generated word has one link or none.

        One model finds the best alignment of a sentence as a whole. Of several, the likeliest origin of each
        word counts, if it is likelier than none.
        """
        if len(self.readers) == 1:
            return self.readers[0].best(self.bitexts[0])
        parts = [self._best(rows) for rows in self.bitexts[0].blocks()]
        forward, backward = zip(*parts, strict=True) if parts else ((), ())
        return Links.concatenate(forward), Links.concatenate(backward)

    def _agreed(self, rows: slice, threshold: float, mean: str) -> Links:
        joint, bitext = joint_posterior(*self.posteriors(rows), mean), self.bitexts[0][rows]
        found = np.flatnonzero(joint > threshold)
        return _links(bitext, found, joint[found])

    def _best(self, rows: slice) -> tuple[Links, Links]:
        bitext = self.bitexts[0][rows]
        cells, n_target = bitext.cells, bitext.target.lengths
        at = np.arange(cells[-1])
        sentence = sentence_of(cells, at)
        i, j = np.divmod(at - cells[sentence], n_target[sentence])
        generated = bitext.target.offsets[sentence] + j, bitext.source.offsets[sentence] + i
        forward, backward = (
            _links(bitext, _likeliest(posterior, words))
            for posterior, words in zip(self.posteriors(rows), generated, strict=True)
        )
        return forward, backward


def _likeliest(posterior: Single, words: NDArray[np.int64]) -> NDArray[np.int64]:
    """The likeliest cell of every word, for words that are likelier to have an origin than none; in order."""
    n = int(words.max(initial=-1)) + 1
    best, total = np.zeros(n, dtype=np.float32), np.bincount(words, weights=posterior, minlength=n)
    np.maximum.at(best, words, posterior)
    cells = np.flatnonzero((posterior == best[words]) & (best > 1 - total)[words])
    _, first = np.unique(words[cells], return_index=True)
    return np.sort(cells[first])


def _links(bitext: Bitext, found: NDArray[np.int64], probability: Single | None = None) -> Links:
    """Links at cells of a text, in ascending order."""
    cells = bitext.cells
    sentence = sentence_of(cells, found)
    source, target = np.divmod(found - cells[sentence], bitext.target.lengths[sentence])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(sentence, minlength=len(bitext)))])
    return Links(offsets, source, target, probability)
