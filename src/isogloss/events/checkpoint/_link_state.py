"""Serialisation of the link state: article profiles, candidate index, cluster profiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.events.checkpoint._columns import (
    Arrays,
    pack_names,
    pack_strings,
    pack_table,
    pack_vectors,
    pack_weights,
    prefixed,
    split_rows,
    unpack_names,
    unpack_strings,
    unpack_table,
    unpack_vectors,
    unpack_weights,
    unprefixed,
)
from isogloss.events.link import ArticleProfile, Background, CandidateIndex, ClusterProfile, LinkState

_STRING_FIELDS = ("id", "title", "sentence")
_NAME_FIELDS = ("places", "numbers")
_WEIGHT_FIELDS = ("entities", "keywords")
_POINT_FIELDS: dict[str, type[np.floating[Any]]] = {"latent": np.float32, "embedding": np.float16}
_LISTS = ".lists"


def save_links(links: LinkState) -> tuple[dict[str, Any], Arrays]:
    """Return the state as JSON and arrays."""
    articles, profiles = list(links.articles.values()), list(links.profiles.values())
    places = {one.id: place for place, one in enumerate(articles)}
    members = [places[one] for profile in profiles for one in profile.articles]
    arrays = {
        **prefixed("signatures", _article_arrays(articles)),
        **prefixed("near", _near_arrays(links)),
        **prefixed("neighbours", _candidate_arrays(links.candidates)),
        "numbers": np.array([links.candidates.numbers[one.id] for one in articles], dtype=np.int64),
        "profiles.ids": np.array([profile.id for profile in profiles], dtype=np.int64),
        "profiles.sizes": np.array([len(profile) for profile in profiles], dtype=np.int32),
        "profiles.members": np.array(members, dtype=np.int32),
    }
    return {"last": links.candidates.last, "changed": sorted(links.changed)}, arrays


def load_links(links: LinkState, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Restore an empty link state from the result of :func:`save_links`."""
    articles = list(_articles(unprefixed(arrays, "signatures")))
    links.articles = {one.id: one for one in articles}
    members = split_rows(arrays["profiles.members"].tolist(), arrays["profiles.sizes"])
    for number, own in zip(arrays["profiles.ids"].tolist(), members, strict=True):
        links.profiles[number] = ClusterProfile(number, articles[own[0]].lang, [articles[one] for one in own])
        links.cluster_of.update((articles[one].id, number) for one in own)
    links.changed = set(header["changed"])
    _load_candidates(links, articles, header["last"], arrays)
    _load_near(links, unprefixed(arrays, "near"))


def _article_arrays(articles: Sequence[ArticleProfile]) -> Arrays:
    found: Arrays = {
        "times": np.array([one.time for one in articles], dtype=np.float64),
        "rates": np.array([one.rate for one in articles], dtype=np.float64),
        "backgrounds": np.array([one.background for one in articles], dtype=np.float64).reshape(-1, 2),
        "date_counts": np.array([len(one.dates) for one in articles], dtype=np.int32),
        "dates": np.array([day.toordinal() for one in articles for day in one.dates], dtype=np.int32),
        **prefixed("vectors", pack_vectors([one.vector for one in articles])),
        **prefixed("lang", pack_names([[one.lang] for one in articles])),
    }
    for name, precision in _POINT_FIELDS.items():
        points = [getattr(one, name) for one in articles]
        known = [point for point in points if point is not None]
        found[name] = np.array([point is not None for point in points], dtype=bool)
        found[f"{name}s"] = np.array(known, dtype=precision) if known else np.empty((0, 0), precision)
    for name in _STRING_FIELDS:
        found |= prefixed(name, pack_strings(getattr(one, name) for one in articles))
    for name in _NAME_FIELDS:
        found |= prefixed(name, pack_names([getattr(one, name) for one in articles]))
    for name in _WEIGHT_FIELDS:
        found |= prefixed(name, pack_weights([getattr(one, name) for one in articles]))
    return found


def _articles(arrays: Arrays) -> Iterator[ArticleProfile]:
    columns: dict[str, Any] = {name: unpack_strings(unprefixed(arrays, name)) for name in _STRING_FIELDS}
    columns |= {name: map(tuple, unpack_names(unprefixed(arrays, name))) for name in _NAME_FIELDS}
    columns |= {name: unpack_weights(unprefixed(arrays, name)) for name in _WEIGHT_FIELDS}
    columns["lang"] = chain.from_iterable(unpack_names(unprefixed(arrays, "lang")))
    columns["time"] = arrays["times"].tolist()
    columns["vector"] = unpack_vectors(unprefixed(arrays, "vectors"))
    days = list(map(date.fromordinal, arrays["dates"].tolist()))
    columns["dates"] = map(tuple, split_rows(days, arrays["date_counts"]))
    columns["rate"] = arrays["rates"].tolist()
    columns["background"] = (Background(*pair) for pair in arrays["backgrounds"].tolist())
    for name in _POINT_FIELDS:
        columns[name] = _points(arrays[name].tolist(), iter(arrays[f"{name}s"]))
    for row in zip(*columns.values(), strict=True):
        yield ArticleProfile(**dict(zip(columns, row, strict=True)))


def _points(known: Sequence[bool], points: Iterator[NDArray[Any]]) -> Iterator[Any]:
    """Yield the point of each article; None for one without."""
    return (next(points).copy() if one else None for one in known)


def _near_arrays(links: LinkState) -> Arrays:
    """Return the candidate pairs by serial number, in the order in which they were found."""
    later, earlier, similarities = links.near.of(links.numbers(links.articles))
    return {"later": later, "earlier": earlier, "similarities": similarities}


def _load_near(links: LinkState, arrays: Arrays) -> None:
    numbers = np.sort(links.numbers(links.articles))
    starts = np.searchsorted(arrays["later"], numbers, side="left").tolist()
    ends = np.searchsorted(arrays["later"], numbers, side="right").tolist()
    for number, start, end in zip(numbers.tolist(), starts, ends, strict=True):
        links.near.add(number, arrays["earlier"][start:end], arrays["similarities"][start:end])


def _candidate_arrays(candidates: CandidateIndex) -> Arrays:
    found: Arrays = {}
    for name, array in candidates.state_dict().items():
        found |= prefixed(name, pack_table(array)) if name.endswith(_LISTS) else {name: array}
    return found


def _load_candidates(links: LinkState, articles: Sequence[ArticleProfile], last: int, arrays: Arrays) -> None:
    groups = [links.cluster_of[one.id] for one in articles]
    numbered = sorted(
        zip(arrays["numbers"].tolist(), articles, groups, strict=True), key=lambda article: article[0]
    )
    saved = unprefixed(arrays, "neighbours")
    found = {name: array for name, array in saved.items() if f"{_LISTS}." not in name}
    for name in dict.fromkeys(name.rpartition(".")[0] for name in saved if f"{_LISTS}." in name):
        found[name] = unpack_table(unprefixed(saved, name))
    links.candidates.load_state(numbered, last, found)
