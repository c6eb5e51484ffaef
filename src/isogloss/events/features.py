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

from collections.abc import Mapping, Sequence, Set
from math import nan, sqrt

import numpy as np

from isogloss.events.candidates import LEAST
from isogloss.events.profile import Profile
from isogloss.events.vectors import product

__all__ = ["FEATURES", "THESIS_FEATURES", "pair_features"]

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
    alike = [similarity for similarity in similarities if similarity >= LEAST]
    links = len(alike)
    return {
        "linkCount": float(links),
        "avgSimScore": sum(alike) / links if links else 0.0,
        "entityCosSim": _cosine(one, other, "entities"),
        "keywordCosSim": _cosine(one, other, "keywords"),
        "entityJaccardSim": _jaccard(one.entities.keys(), other.entities.keys()),
        "keywordJaccardSim": _jaccard(one.keywords.keys(), other.keywords.keys()),
        "hasSameLocation": _same_location(one.places, other.places),
        "timeDiff": abs(one.mean_time - other.mean_time) / _HOUR,
        "sharedDates": _jaccard(one.dates.keys(), other.dates.keys()),
        "textCosSim": _text_cosine(one, other),
        "latentCosSim": _latent_cosine(one, other),
        "sharedNumbers": _overlap(one.numbers.keys(), other.numbers.keys()),
        "sharedPlaces": _overlap(one.places.keys(), other.places.keys()),
        "timeGap": max(0.0, max(one.first, other.first) - min(one.last, other.last)) / _HOUR,
        "linkRatio": links / (_NEAREST * (len(one.articles) + len(other.articles))),
        "sameLanguage": float(one.lang == other.lang),
    }


def _cosine(one: Profile, other: Profile, name: str) -> float:
    if len(getattr(other, name)) < len(getattr(one, name)):
        one, other = other, one
    few, many = getattr(one, name), getattr(other, name)
    if not few:
        return nan
    inner = sum(weight * many[key] for key, weight in few.items() if key in many)
    return float(inner / sqrt(one.squares(name) * other.squares(name)))


def _jaccard(one: Set[object], other: Set[object]) -> float:
    if not one or not other:
        return nan
    both = len(one & other)
    return both / (len(one) + len(other) - both)


def _overlap(one: Set[object], other: Set[object]) -> float:
    return len(one & other) / min(len(one), len(other)) if one and other else nan


def _same_location(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    if not one or not other:
        return nan
    return float(_most_named(one) == _most_named(other))


def _most_named(places: Mapping[str, int]) -> str:
    return min(places, key=lambda place: (-places[place], place))


def _text_cosine(one: Profile, other: Profile) -> float:
    lengths = one.norm * other.norm
    return product(one.vector, other.vector) / lengths if lengths else nan


def _latent_cosine(one: Profile, other: Profile) -> float:
    if one.latent is None or other.latent is None:
        return nan
    lengths = np.linalg.norm(one.latent) * np.linalg.norm(other.latent)
    return float(one.latent @ other.latent / lengths) if lengths else nan
