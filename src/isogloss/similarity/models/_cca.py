"""CCA of the documents of two languages (thesis, section 6.7)."""

from __future__ import annotations

from isogloss.similarity.fitting import Shards
from isogloss.similarity.models._base import FittedDirections
from isogloss.similarity.models._hub import HubSimilarity


class CCASimilarity(HubSimilarity):
    """Canonical correlation analysis of a pair of languages.

    With one language beside the hub the problem of hub CCA is that of CCA, so this is
    :class:`HubSimilarity` for exactly two languages, with the same parameters and attributes.

    Examples
    --------
    >>> CCASimilarity(100).get_params()["ridge"]
    2.0
    """

    def _solve(self, documents: Shards) -> FittedDirections:
        if len(documents.names) != 2:
            raise ValueError(
                f"CCA compares two languages and the corpus has {', '.join(documents.names)}; choose two "
                "with corpus.select(languages=[...]), or use HubSimilarity"
            )
        return super()._solve(documents)
