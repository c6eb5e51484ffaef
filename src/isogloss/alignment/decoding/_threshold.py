r"""The threshold of links, chosen from the posteriors themselves.

If a posterior :math:`p` is the probability that a link is right, then links above a threshold have the
expected F-measure :math:`2 \sum_{p > t} p / (|\{p > t\}| + \sum p)`. Its maximum :math:`F` is reached at
:math:`t = F / 2`: where the posteriors are spread over many words, a lower threshold loses less (Lipton,
Elkan and Narayanaswamy, 2014, for the F-measure of any classifier).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DEFAULT_THRESHOLD = 0.5
"""Where nothing can be learned from the text."""

MIN_THRESHOLD = 0.25
"""Less probable links are never made unasked."""

RAISED_BY = 0.075
"""Added to the optimum, because the error rate of alignments forgives the lack of doubtful links; chosen on
development sentences."""


def choose_threshold(likely: NDArray[np.float32], total: float) -> float:
    """The threshold for links of the highest expected F-measure, raised by a constant; two decimals.

    Parameters
    ----------
    likely : array
        Posteriors of cells that may be links: of all above ``MIN_THRESHOLD``.
    total : float
        Sum of the posteriors of all cells.

    Examples
    --------
    >>> import numpy as np
    >>> sure, spread = np.full(100, 0.98, np.float32), np.full(200, 0.4, np.float32)
    >>> choose_threshold(sure, 100), choose_threshold(np.append(sure, spread), 200)
    (0.57, 0.43)
    """
    if not len(likely):
        return DEFAULT_THRESHOLD
    descending = -np.sort(-likely.astype(np.float64))
    expected = 2 * np.cumsum(descending) / (np.arange(1, len(descending) + 1) + total)
    return round(max(MIN_THRESHOLD, float(expected.max()) / 2 + RAISED_BY), 2)
