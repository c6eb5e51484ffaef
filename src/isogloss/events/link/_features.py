r"""Features of a pair of clusters (thesis, section 7.2, and thirteen more).

For two clusters c and d, links are the pairs of their articles of which one is a candidate of the other
(:mod:`isogloss.events.link._candidates`) with similar texts:

==================== ==============================================================================
``linkCount``        number of links
``avgSimScore``      mean similarity of the links
``entityCosSim``     cosine of the sums of weights of entities
``keywordCosSim``    the same of keywords
``entityJaccardSim`` Jaccard index of entities
``keywordJaccardSim`` the same of keywords
``hasSameLocation``  1 if the place that most articles of c name is that of d, 0 if not
``timeDiff``         hours between the mean times of the articles
``sharedDates``      Jaccard index of the dates mentioned
``textCosSim``       cosine of the sums of vectors (:mod:`~isogloss.events.link._profiles`)
``latentCosSim``     cosine of the sums of latent vectors
``sharedNumbers``    overlap coefficient of the numbers mentioned
``sharedPlaces``     overlap coefficient of the places named
``timeGap``          hours between the end of one and the beginning of the other; 0 when they overlap
``linkRatio``        links as a share of those that were possible, ten for each article
``sameLanguage``     1 if the clusters have the same language
``titlesAlone``      share of articles without a body
``sameLanguageSim``  ``textCosSim`` of clusters of the same language, 0 for others
``encoderCosSim``    cosine of the sums of sentence embeddings
``alternatives``     log(1 + r (h + 6)), with r the articles per hour of a language and h ``timeDiff``; the
                     mean of both languages
``encoderContrast``  ``encoderCosSim`` less the larger of what the two clusters find at other times by
                     embedding (:mod:`~isogloss.events.link._background`), in the language of the other
``nameConflict``     log(1 + n), with n the entities of the cluster with fewer that the other does not have
==================== ==============================================================================

Pairs that are near in the latent space or by their embeddings only are not links here, so all features but
``latentCosSim``, ``encoderCosSim`` and ``encoderContrast`` are the same with and without them.
``alternatives`` tells how dense a stream is: with many articles between the two, many pairs are as similar by
chance. The first nine are those of the thesis. A feature is NaN where it is not defined, such as the cosine
of entities of clusters without.
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
    "sameLanguageSim",
    "encoderCosSim",
    "alternatives",
    "encoderContrast",
    "nameConflict",
)
"""All features, in display order."""

LINKER_FEATURES = tuple(
    name
    for name in FEATURES
    if name not in {"linkCount", "avgSimScore", "linkRatio", "timeGap", "titlesAlone"}
)
"""Features of the linker that comes with isogloss: those that add something to the others."""

_MEASURES = (*PROFILE_STATISTICS, *COMPARED_FIELDS, *(f"{part} squared" for part in COMPARED_FIELDS))
_HOUR_S = 3600.0
_MAX_NEIGHBOURS = 10
_SAME_MOMENT_H = 6.0
"""Hours within which stories count as alternatives of each other, however near in time they are."""


class PairSupport(NamedTuple):
    """Links between the articles of pairs of clusters."""

    links: Array
    """Number of links of each pair; pairs of articles that are near in the latent space only do not count."""
    sums: Array
    """Sum of the similarities of the links."""


def pair_support(similarities: Sequence[Sequence[float]]) -> PairSupport:
    """Summarise the similarities of candidate articles for each pair of clusters."""
    similar = [[similarity for similarity in known if similarity >= MIN_SIMILARITY] for known in similarities]
    links, sums = list(map(len, similar)), list(map(sum, similar))
    return PairSupport(np.array(links, dtype=np.float64), np.array(sums, dtype=np.float64))


def pair_features(
    one: ClusterProfile, other: ClusterProfile, similarities: Sequence[float]
) -> dict[str, float]:
    """Compute the features of a pair of clusters.

    The similarities are of their candidate articles; those near in the latent space only are ignored.

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
    """Compute the features of many pairs of clusters.

    Pairs are positions in ``profiles``, with their links in ``support``. The columns of the result are in the
    order of :data:`FEATURES`.
    """
    first, second = pairs.T.copy()
    packed = [profile.packed for profile in profiles]
    measures, marks = _measures(packed)
    one, other = (dict(zip(_MEASURES, measures[rows].T, strict=True)) for rows in (first, second))
    language, place = (marks[first] == marks[second]).T
    inner, shared = _overlaps(packed, first, second)
    hours = np.abs(one["mean_time"] - other["mean_time"]) / _HOUR_S
    text = _cosine("vector", inner, one, other)
    encoder = _point_cosine([profile.embedding for profile in profiles], first, second)
    found_elsewhere = np.where(
        language, np.maximum(one["own"], other["own"]), np.maximum(one["foreign"], other["foreign"])
    )
    fewer_names = np.minimum(one["entities"], other["entities"])
    columns = {
        "linkCount": support.links,
        "avgSimScore": support.sums / np.maximum(support.links, 1.0),
        "entityCosSim": _cosine("entities", inner, one, other),
        "keywordCosSim": _cosine("keywords", inner, one, other),
        "entityJaccardSim": _jaccard("entities", shared, one, other),
        "keywordJaccardSim": _jaccard("keywords", shared, one, other),
        "hasSameLocation": np.where(np.minimum(one["places"], other["places"]) > 0, place, nan),
        "timeDiff": hours,
        "sharedDates": _jaccard("dates", shared, one, other),
        "textCosSim": text,
        "latentCosSim": _point_cosine([profile.latent for profile in profiles], first, second),
        "sharedNumbers": _ratio(shared["numbers"], np.minimum(one["numbers"], other["numbers"])),
        "sharedPlaces": _ratio(shared["places"], np.minimum(one["places"], other["places"])),
        "timeGap": np.maximum(
            0.0, np.maximum(one["first"], other["first"]) - np.minimum(one["last"], other["last"])
        )
        / _HOUR_S,
        "linkRatio": support.links / (_MAX_NEIGHBOURS * (one["articles"] + other["articles"])),
        "sameLanguage": language.astype(np.float64),
        "titlesAlone": (one["bare"] + other["bare"]) / (one["articles"] + other["articles"]),
        "sameLanguageSim": np.where(language, text, 0.0),
        "encoderCosSim": encoder,
        "alternatives": (
            np.log1p(one["rate"] * (hours + _SAME_MOMENT_H))
            + np.log1p(other["rate"] * (hours + _SAME_MOMENT_H))
        )
        / 2,
        "encoderContrast": encoder - found_elsewhere,
        "nameConflict": np.where(fewer_names > 0, np.log1p(fewer_names - shared["entities"]), nan),
    }
    return np.column_stack([columns[name] for name in FEATURES])


def _measures(packed: list[PackedProfile]) -> tuple[Array, NDArray[np.int64]]:
    """Return the statistics of each profile, and codes of its language and its place."""
    measures, marks = np.empty((len(packed), len(_MEASURES))), np.empty((len(packed), 2), dtype=np.int64)
    measure_profiles(packed, measures, marks)
    return measures, marks


def _overlaps(packed: list[PackedProfile], first: Ids, second: Ids) -> tuple[Columns, Columns]:
    """Return the inner products and the number of common keys of each field of pairs of profiles."""
    shape = len(first), len(COMPARED_FIELDS)
    inner, shared = np.empty(shape), np.empty(shape, dtype=np.int32)
    overlap_pairs(packed, first, second, inner, shared)
    return dict(zip(COMPARED_FIELDS, inner.T, strict=True)), dict(zip(COMPARED_FIELDS, shared.T, strict=True))


def _ratio(part: NDArray[Any], whole: Array) -> Array:
    """Divide; NaN where the divisor is 0."""
    out = np.full(len(whole), nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


def _cosine(part: str, inner: Columns, one: Columns, other: Columns) -> Array:
    return _ratio(inner[part], np.sqrt(one[f"{part} squared"] * other[f"{part} squared"]))


def _jaccard(part: str, shared: Columns, one: Columns, other: Columns) -> Array:
    both = _ratio(shared[part], one[part] + other[part] - shared[part])
    return np.where(np.minimum(one[part], other[part]) > 0, both, nan)


def _point_cosine(points: Sequence[NDArray[Any] | None], first: Ids, second: Ids) -> Array:
    """Return the cosines of pairs of points; NaN where one is missing."""
    dims = next((len(point) for point in points if point is not None), 0)
    table = np.zeros((len(points), dims))
    for row, point in enumerate(points):
        if point is not None:
            table[row] = point
    lengths = np.sqrt(np.einsum("ij,ij->i", table, table))
    inner = np.einsum("ij,ij->i", table[first], table[second])
    return _ratio(inner, lengths[first] * lengths[second])
