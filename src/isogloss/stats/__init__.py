"""Statistics that add: a model sees its data only through one of these.

Adding a batch, adding what somebody else has seen, and resuming after a stop are the same operation.
"""

from isogloss.stats.base import Statistic, fingerprint
from isogloss.stats.counts import Counts, CountTable
from isogloss.stats.expected import ExpectedCounts
from isogloss.stats.moments import ViewMoments
from isogloss.stats.patterns import Pattern, PatternMoments
from isogloss.stats.sketch import Sketch

__all__ = [
    "CountTable",
    "Counts",
    "ExpectedCounts",
    "Pattern",
    "PatternMoments",
    "Sketch",
    "Statistic",
    "ViewMoments",
    "fingerprint",
]
