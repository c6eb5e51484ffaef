r"""The length of the translation of a sentence.

As in Gale and Church (1993), *A program for aligning sentences in bilingual corpora*, the target side of a
bead has :math:`c` characters for each of the source side. Here the logarithm of the ratio is normal, with a
variance :math:`v_0 + v_1 / \ell` that falls with the length :math:`\ell` of the source side, and it is
compared with the lengths of target sentences at large: a bead scores
:math:`\log p(\ell_t \mid \ell_s) - \log p(\ell_t)`, so that beads of all kinds are comparable, and an
untranslated sentence scores nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST = 3
"""Sentences of one side in a bead."""

FIRST_VARIANCE = (0.01, 4.0)
"""Constant part of the variance, and the part per character, before anything is known."""

PSEUDO_BEADS = 10
"""Weight of the initial variance, in beads of the text."""

MIN_VARIANCE = 0.004


@dataclass(frozen=True)
class LengthModel:
    """Parameters of the model of lengths."""

    log_ratio: float
    """Target characters per source character, as a logarithm."""
    constant: float
    per_character: float
    """The variance of that logarithm: its constant part, and the part that is divided by the length."""
    mean: float
    deviation: float
    """Mean and standard deviation of the lengths of target sentences."""

    @classmethod
    def first(cls, source: Array, target: Array) -> LengthModel:
        """From the lengths of all sentences, before any are aligned."""
        ratio = float(target.sum() / source.sum())
        deviation = max(float(target.std()), 0.1 * float(target.mean()))
        return cls(float(np.log(ratio)), *FIRST_VARIANCE, float(target.mean()), deviation)

    def fit(self, source: Array, target: Array) -> LengthModel:
        """The model that fits the lengths of both sides of beads best, those far off left out."""
        off = np.log(target) - np.log(source)
        log_ratio = float(np.median(off)) if len(off) >= PSEUDO_BEADS else self.log_ratio
        squares = np.minimum((off - log_ratio) ** 2, 9 * (self.constant + self.per_character / source))
        design = np.stack([np.ones(len(source)), 1 / source], axis=1)
        prior = np.stack([np.ones(PSEUDO_BEADS), np.geomspace(0.005, 0.1, PSEUDO_BEADS)], axis=1)
        design, squares = (
            np.vstack([design, prior]),
            np.append(squares, prior @ [self.constant, self.per_character]),
        )
        weights = 1 / (design @ [self.constant, self.per_character])
        constant, per_character = _non_negative(design * weights[:, None], squares * weights)
        return LengthModel(log_ratio, max(constant, MIN_VARIANCE), per_character, self.mean, self.deviation)

    def source_arrays(self, lengths: Array) -> tuple[Array, Array]:
        """Log-length and precision of one to three source sentences, from each sentence on."""
        sums = _sums(lengths)
        return np.log(sums), 1 / (self.constant + self.per_character / sums)

    def target_arrays(self, lengths: Array) -> tuple[Array, Array]:
        """Log-length of one to three target sentences, from each on, and minus its marginal log-density."""
        logs = np.log(_sums(lengths))
        numbers = np.arange(1, MOST + 1)
        variance = np.log1p(self.deviation**2 / (numbers * self.mean**2))
        means = np.log(numbers * self.mean) - variance / 2
        return logs, 0.5 * (np.log(variance) + (logs - means) ** 2 / variance)


def _sums(lengths: Array) -> Array:
    """Sums over one to three sentences, from each sentence on; beyond the last one nothing is added."""
    padded = np.append(lengths, np.zeros(MOST))
    shifted = np.stack([padded[k : k + len(lengths)] for k in range(MOST)], axis=1)
    return np.cumsum(shifted, axis=1)


def _non_negative(design: Array, values: Array) -> tuple[float, float]:
    from scipy.optimize import nnls

    constant, per_character = nnls(design, values)[0].tolist()
    return constant, per_character
