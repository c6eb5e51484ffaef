r"""Features of a pair of clusters (thesis, section 7.2), and some more.

With c and d two clusters, and links the pairs of articles of theirs of which one is among the nearest of the
other in its language, and whose texts have something in common:

==================== ==============================================================================
``linkCount``        number of links
``avgSimScore``      mean similarity of the links
``entityCosSim``     cosine of the sums of weights of entities
``keywordCosSim``    the same of keywords
``entityJaccardSim`` entities of both, as a share of those of either
``keywordJaccardSim`` the same of keywords
``hasSameLocation``  1 if the place that most articles of c name is that of d, 0 if not
``timeDiff``         hours between the mean times of the articles
``sharedDates``      dates mentioned in both, as a share of those in either
``textCosSim``       cosine of the sums of vectors (:mod:`~isogloss.events.signature`)
``latentCosSim``     cosine of the sums of latent vectors
``sharedNumbers``    numbers mentioned in both, as a share of the shorter list
``sharedPlaces``     places named in both, as a share of the shorter list
``timeGap``          hours between the end of one and the beginning of the other; 0 when they overlap
``linkRatio``        links as a share of those that were possible, ten for each article
``sameLanguage``     1 if the clusters are of one language
==================== ==============================================================================

Pairs that only a latent space calls near are looked at too, but are no links here: with a latent space and
without one, the features say the same, ``latentCosSim`` aside. The first nine are those of the thesis. What
cannot be said is NaN: entities where one of the clusters has none, for example.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.events.candidates import LEAST
from isogloss.events.profile import PARTS, Measures, Profile
from isogloss.kernels import overlap_pairs

__all__ = ["FEATURES", "THESIS_FEATURES", "feature_rows", "pair_features"]

Array = NDArray[np.float64]
Ids = NDArray[np.int32]

THESIS_FEATURES = (
    "linkCount",
    "avgSimScore",
    "entityCosSim",
    "keywordCosSim",
    "entityJaccardSim",
    "keywordJaccardSim",
    "hasSameLocation",
    "timeDiff",
    "sharedDates",
)
"""Features of the thesis."""

FEATURES = (
    *THESIS_FEATURES,
    "textCosSim",
    "latentCosSim",
    "sharedNumbers",
    "sharedPlaces",
    "timeGap",
    "linkRatio",
    "sameLanguage",
    "titlesAlone",
)
"""All features, in the order in which they are shown."""

_HOUR = 3600.0
_NEAREST = 10


def pair_features(one: Profile, other: Profile, similarities: Sequence[float]) -> dict[str, float]:
    """Features of a pair of clusters.

    Parameters
    ----------
    one, other : Profile
        The clusters.
    similarities : sequence of float
        Of their pairs of articles that are near; those that are near in a latent space only are passed over.

    Examples
    --------
    >>> from isogloss.events.profile import Profile
    >>> from isogloss.events.signature import Signature
    >>> from isogloss.events.vectors import Vector
    >>> vector = Vector(np.array([4], dtype=np.int32), np.ones(1))
    >>> de = Profile(1, "de", [Signature("a", "de", "Beben", 0.0, "", vector, places=("Q1",))])
    >>> en = Profile(2, "en", [Signature("b", "en", "Quake", 7200.0, "", vector, places=("Q1",))])
    >>> features = pair_features(de, en, [0.8])
    >>> features["linkCount"], features["timeDiff"], features["hasSameLocation"], features["entityCosSim"]
    (1.0, 2.0, 1.0, nan)
    """
    row = feature_rows([one, other], [(0, 1)], [similarities])[0]
    return dict(zip(FEATURES, row.tolist(), strict=True))


def feature_rows(
    profiles: Sequence[Profile], pairs: Sequence[tuple[int, int]], similarities: Sequence[Sequence[float]]
) -> Array:
    """Features of many pairs of clusters at once.

    Parameters
    ----------
    profiles : sequence of Profile
        The clusters.
    pairs : sequence of (int, int)
        Places of two of them in ``profiles``.
    similarities : sequence of sequences of float
        As in :func:`pair_features`, for each pair.

    Returns
    -------
    array (pairs x features)
        Columns are in the order of :data:`FEATURES`.
    """
    first, second = np.array(pairs, dtype=np.int32).reshape(-1, 2).T.copy()
    measures = np.array([profile.measures for profile in profiles], dtype=np.float64)
    one, other = (dict(zip(Measures._fields, measures[rows].T, strict=True)) for rows in (first, second))
    alike = [[similarity for similarity in known if similarity >= LEAST] for known in similarities]
    links = np.array(list(map(len, alike)), dtype=np.float64)
    inner, shared = _overlaps(profiles, first, second)
    columns = {
        "linkCount": links,
        "avgSimScore": np.array(list(map(sum, alike))) / np.maximum(links, 1.0),
        "entityCosSim": _ratio(inner["entities"], np.sqrt(one["entity_squares"] * other["entity_squares"])),
        "keywordCosSim": _ratio(
            inner["keywords"], np.sqrt(one["keyword_squares"] * other["keyword_squares"])
        ),
        "entityJaccardSim": _jaccard(shared["entities"], one["entities"], other["entities"]),
        "keywordJaccardSim": _jaccard(shared["keywords"], one["keywords"], other["keywords"]),
        "hasSameLocation": _same_location(profiles, pairs),
        "timeDiff": np.abs(one["mean_time"] - other["mean_time"]) / _HOUR,
        "sharedDates": _jaccard(shared["dates"], one["dates"], other["dates"]),
        "textCosSim": _ratio(inner["vector"], one["norm"] * other["norm"]),
        "latentCosSim": _latent_cosine(profiles, pairs),
        "sharedNumbers": _ratio(shared["numbers"], np.minimum(one["numbers"], other["numbers"])),
        "sharedPlaces": _ratio(shared["places"], np.minimum(one["places"], other["places"])),
        "timeGap": np.maximum(
            0.0, np.maximum(one["first"], other["first"]) - np.minimum(one["last"], other["last"])
        )
        / _HOUR,
        "linkRatio": links / (_NEAREST * (one["articles"] + other["articles"])),
        "sameLanguage": np.array([float(profiles[a].lang == profiles[b].lang) for a, b in pairs]),
        "titlesAlone": (one["bare"] + other["bare"]) / (one["articles"] + other["articles"]),
    }
    return np.column_stack([columns[name] for name in FEATURES])


def _overlaps(
    profiles: Sequence[Profile], first: Ids, second: Ids
) -> tuple[dict[str, Array], dict[str, Ids]]:
    """For each part of pairs of profiles the inner product, and how many keys both have."""
    shape = len(first), len(PARTS)
    inner, shared = np.empty(shape), np.empty(shape, dtype=np.int32)
    overlap_pairs([profile.parts for profile in profiles], first, second, inner, shared)
    return dict(zip(PARTS, inner.T, strict=True)), dict(zip(PARTS, shared.T, strict=True))


def _ratio(part: NDArray[Any], whole: Array) -> Array:
    """A share; NaN where there is nothing to share."""
    out = np.full(len(whole), nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def _jaccard(shared: Ids, one: Array, other: Array) -> Array:
    return np.where(np.minimum(one, other) > 0, _ratio(shared, one + other - shared), nan)


def _same_location(profiles: Sequence[Profile], pairs: Sequence[tuple[int, int]]) -> Array:
    named = [profile.most_named for profile in profiles]
    known = ((named[a], named[b]) for a, b in pairs)
    return np.array([nan if a is None or b is None else float(a == b) for a, b in known])


def _latent_cosine(profiles: Sequence[Profile], pairs: Sequence[tuple[int, int]]) -> Array:
    latents = [profile.latent for profile in profiles]
    return np.array([_cosine(latents[a], latents[b]) for a, b in pairs])


def _cosine(one: Array | None, other: Array | None) -> float:
    if one is None or other is None:
        return nan
    lengths = np.linalg.norm(one) * np.linalg.norm(other)
    return float(one @ other / lengths) if lengths else nan
