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
``textCosSim``       cosine of the sums of vectors (:mod:`~isogloss.events.link._profiles`)
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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.events.link._candidates import MIN_SIMILARITY
from isogloss.events.link._profiles import COMPARED_FIELDS, PROFILE_STATISTICS, ClusterProfile
from isogloss.kernels import PackedProfile, measure_profiles, overlap_pairs

__all__ = ["FEATURES", "THESIS_FEATURES", "feature_rows", "pair_features"]

Array = NDArray[np.float64]
Ids = NDArray[np.int32]
Columns = dict[str, NDArray[Any]]

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

_MEASURES = (*PROFILE_STATISTICS, *COMPARED_FIELDS, *(f"{part} squared" for part in COMPARED_FIELDS))
_HOUR_S = 3600.0
_MAX_NEIGHBOURS = 10


class PairSupport(NamedTuple):
    """What binds pairs of clusters.

    Attributes
    ----------
    links : array
        For each pair how many pairs of articles are near; those near in a latent space only do not count.
    sums : array
        The sums of their similarities.
    """

    links: Array
    sums: Array


def pair_support(similarities: Sequence[Sequence[float]]) -> PairSupport:
    """What binds pairs of clusters, by the similarities of their pairs of near articles."""
    similar = [[similarity for similarity in known if similarity >= MIN_SIMILARITY] for known in similarities]
    links, sums = list(map(len, similar)), list(map(sum, similar))
    return PairSupport(np.array(links, dtype=np.float64), np.array(sums, dtype=np.float64))


def pair_features(
    one: ClusterProfile, other: ClusterProfile, similarities: Sequence[float]
) -> dict[str, float]:
    """Features of a pair of clusters.

    Parameters
    ----------
    one, other : ClusterProfile
        The clusters.
    similarities : sequence of float
        Of their pairs of articles that are near; those that are near in a latent space only are passed over.

    Examples
    --------
    >>> from isogloss.events.link import ClusterProfile
    >>> from isogloss.events.link import ArticleProfile
    >>> from isogloss.events.cluster import Vector
    >>> vector = Vector(np.array([4], dtype=np.int32), np.ones(1))
    >>> de = ClusterProfile(1, "de", [ArticleProfile("a", "de", "Beben", 0.0, "", vector, places=("Q1",))])
    >>> en = ClusterProfile(2, "en", [ArticleProfile("b", "en", "Quake", 7200.0, "", vector, places=("Q1",))])
    >>> features = pair_features(de, en, [0.8])
    >>> features["linkCount"], features["timeDiff"], features["hasSameLocation"], features["entityCosSim"]
    (1.0, 2.0, 1.0, nan)
    """
    pairs = np.array([[0, 1]], dtype=np.int32)
    row = feature_rows([one, other], pairs, pair_support([similarities]))[0]
    return dict(zip(FEATURES, row.tolist(), strict=True))


def feature_rows(profiles: Sequence[ClusterProfile], pairs: Ids, support: PairSupport) -> Array:
    """Features of many pairs of clusters at once.

    Parameters
    ----------
    profiles : sequence of ClusterProfile
        The clusters.
    pairs : array (pairs x 2) of int32
        Places of two of them in ``profiles``.
    bound : PairSupport
        What binds each pair.

    Returns
    -------
    array (pairs x features)
        Columns are in the order of :data:`FEATURES`.
    """
    first, second = pairs.T.copy()
    packed = [profile.packed for profile in profiles]
    measures, marks = _measures(packed)
    one, other = (dict(zip(_MEASURES, measures[rows].T, strict=True)) for rows in (first, second))
    language, place = (marks[first] == marks[second]).T
    inner, shared = _overlaps(packed, first, second)
    columns = {
        "linkCount": support.links,
        "avgSimScore": support.sums / np.maximum(support.links, 1.0),
        "entityCosSim": _cosine("entities", inner, one, other),
        "keywordCosSim": _cosine("keywords", inner, one, other),
        "entityJaccardSim": _jaccard("entities", shared, one, other),
        "keywordJaccardSim": _jaccard("keywords", shared, one, other),
        "hasSameLocation": np.where(np.minimum(one["places"], other["places"]) > 0, place, nan),
        "timeDiff": np.abs(one["mean_time"] - other["mean_time"]) / _HOUR_S,
        "sharedDates": _jaccard("dates", shared, one, other),
        "textCosSim": _cosine("vector", inner, one, other),
        "latentCosSim": _latent_cosine(profiles, first, second),
        "sharedNumbers": _ratio(shared["numbers"], np.minimum(one["numbers"], other["numbers"])),
        "sharedPlaces": _ratio(shared["places"], np.minimum(one["places"], other["places"])),
        "timeGap": np.maximum(
            0.0, np.maximum(one["first"], other["first"]) - np.minimum(one["last"], other["last"])
        )
        / _HOUR_S,
        "linkRatio": support.links / (_MAX_NEIGHBOURS * (one["articles"] + other["articles"])),
        "sameLanguage": language.astype(np.float64),
        "titlesAlone": (one["bare"] + other["bare"]) / (one["articles"] + other["articles"]),
    }
    return np.column_stack([columns[name] for name in FEATURES])


def _measures(packed: list[PackedProfile]) -> tuple[Array, NDArray[np.int64]]:
    """Of each profile what :data:`_MEASURES` names, and marks of its language and its place."""
    measures, marks = np.empty((len(packed), len(_MEASURES))), np.empty((len(packed), 2), dtype=np.int64)
    measure_profiles(packed, measures, marks)
    return measures, marks


def _overlaps(packed: list[PackedProfile], first: Ids, second: Ids) -> tuple[Columns, Columns]:
    """For each part of pairs of profiles the inner product, and how many keys both have."""
    shape = len(first), len(COMPARED_FIELDS)
    inner, shared = np.empty(shape), np.empty(shape, dtype=np.int32)
    overlap_pairs(packed, first, second, inner, shared)
    return dict(zip(COMPARED_FIELDS, inner.T, strict=True)), dict(zip(COMPARED_FIELDS, shared.T, strict=True))


def _ratio(part: NDArray[Any], whole: Array) -> Array:
    """A share; NaN where there is nothing to share."""
    out = np.full(len(whole), nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def _cosine(part: str, inner: Columns, one: Columns, other: Columns) -> Array:
    return _ratio(inner[part], np.sqrt(one[f"{part} squared"] * other[f"{part} squared"]))


def _jaccard(part: str, shared: Columns, one: Columns, other: Columns) -> Array:
    both = _ratio(shared[part], one[part] + other[part] - shared[part])
    return np.where(np.minimum(one[part], other[part]) > 0, both, nan)


def _latent_cosine(profiles: Sequence[ClusterProfile], first: Ids, second: Ids) -> Array:
    found = [profile.latent for profile in profiles]
    dims = next((len(latent) for latent in found if latent is not None), 0)
    none = np.zeros(dims)
    latents = np.array([none if latent is None else latent for latent in found])
    lengths = np.sqrt(np.einsum("ij,ij->i", latents, latents))
    inner = np.einsum("ij,ij->i", latents[first], latents[second])
    return _ratio(inner, lengths[first] * lengths[second])
