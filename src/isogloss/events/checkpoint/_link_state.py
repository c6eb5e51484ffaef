"""What is known about links as JSON and arrays, and back: signatures, neighbours, profiles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import Any

import numpy as np

from isogloss.events.checkpoint._columns import (
    Arrays,
    cut,
    named,
    pack_names,
    pack_strings,
    pack_table,
    pack_vectors,
    pack_weights,
    part,
    unpack_names,
    unpack_strings,
    unpack_table,
    unpack_vectors,
    unpack_weights,
)
from isogloss.events.link import ArticleProfile, CandidateIndex, ClusterProfile, LinkState

__all__ = ["load_links", "save_links"]

_STRINGS = ("id", "title", "sentence")
_NAMES = ("places", "numbers")
_WEIGHTS = ("entities", "keywords")
_LISTS = ".lists"


def save_links(links: LinkState) -> tuple[dict[str, Any], Arrays]:
    """The state: what JSON can hold, and arrays."""
    kept, profiles = list(links.signatures.values()), list(links.profiles.values())
    places = {one.id: place for place, one in enumerate(kept)}
    members = [places[one] for profile in profiles for one in profile.articles]
    arrays = {
        **named("signatures", _signature_arrays(kept)),
        **named("near", _near_arrays(links)),
        **named("neighbours", _neighbour_arrays(links.neighbours)),
        "numbers": np.array([links.neighbours.numbers[one.id] for one in kept], dtype=np.int64),
        "profiles.ids": np.array([profile.id for profile in profiles], dtype=np.int64),
        "profiles.sizes": np.array([len(profile) for profile in profiles], dtype=np.int32),
        "profiles.members": np.array(members, dtype=np.int32),
    }
    return {"last": links.neighbours.last, "changed": sorted(links.changed)}, arrays


def load_links(links: LinkState, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Bring a state without articles to where :func:`save_links` was called."""
    kept = list(_signatures(part(arrays, "signatures")))
    links.signatures = {one.id: one for one in kept}
    members = cut(arrays["profiles.members"].tolist(), arrays["profiles.sizes"])
    for number, own in zip(arrays["profiles.ids"].tolist(), members, strict=True):
        links.profiles[number] = ClusterProfile(number, kept[own[0]].lang, [kept[one] for one in own])
        links.cluster_of.update((kept[one].id, number) for one in own)
    links.changed = set(header["changed"])
    _load_neighbours(links, kept, header["last"], arrays)
    _load_near(links, part(arrays, "near"))


def _signature_arrays(kept: Sequence[ArticleProfile]) -> Arrays:
    latents = [one.latent for one in kept if one.latent is not None]
    found = {
        "times": np.array([one.time for one in kept], dtype=np.float64),
        "latent": np.array([one.latent is not None for one in kept], dtype=bool),
        "latents": np.array(latents, dtype=np.float32) if latents else np.empty((0, 0), np.float32),
        "date_counts": np.array([len(one.dates) for one in kept], dtype=np.int32),
        "dates": np.array([day.toordinal() for one in kept for day in one.dates], dtype=np.int32),
        **named("vectors", pack_vectors([one.vector for one in kept])),
        **named("lang", pack_names([[one.lang] for one in kept])),
    }
    for name in _STRINGS:
        found |= named(name, pack_strings(getattr(one, name) for one in kept))
    for name in _NAMES:
        found |= named(name, pack_names([getattr(one, name) for one in kept]))
    for name in _WEIGHTS:
        found |= named(name, pack_weights([getattr(one, name) for one in kept]))
    return found


def _signatures(arrays: Arrays) -> Iterator[ArticleProfile]:
    latents = iter(arrays["latents"])
    columns: dict[str, Any] = {name: unpack_strings(part(arrays, name)) for name in _STRINGS}
    columns |= {name: map(tuple, unpack_names(part(arrays, name))) for name in _NAMES}
    columns |= {name: unpack_weights(part(arrays, name)) for name in _WEIGHTS}
    columns["lang"] = chain.from_iterable(unpack_names(part(arrays, "lang")))
    columns["time"] = arrays["times"].tolist()
    columns["vector"] = unpack_vectors(part(arrays, "vectors"))
    days = list(map(date.fromordinal, arrays["dates"].tolist()))
    columns["dates"] = map(tuple, cut(days, arrays["date_counts"]))
    columns["latent"] = (next(latents).copy() if known else None for known in arrays["latent"].tolist())
    for row in zip(*columns.values(), strict=True):
        yield ArticleProfile(**dict(zip(columns, row, strict=True)))


def _near_arrays(links: LinkState) -> Arrays:
    """Pairs of near articles by their numbers, in the order in which they were found."""
    later, earlier, similarities = links.near.of(links.numbers(links.signatures))
    return {"later": later, "earlier": earlier, "similarities": similarities}


def _load_near(links: LinkState, arrays: Arrays) -> None:
    numbers = np.sort(links.numbers(links.signatures))
    starts = np.searchsorted(arrays["later"], numbers, side="left").tolist()
    ends = np.searchsorted(arrays["later"], numbers, side="right").tolist()
    for number, start, end in zip(numbers.tolist(), starts, ends, strict=True):
        links.near.add(number, arrays["earlier"][start:end], arrays["similarities"][start:end])


def _neighbour_arrays(neighbours: CandidateIndex) -> Arrays:
    found: Arrays = {}
    for name, array in neighbours.state_dict().items():
        found |= named(name, pack_table(array)) if name.endswith(_LISTS) else {name: array}
    return found


def _load_neighbours(links: LinkState, kept: Sequence[ArticleProfile], last: int, arrays: Arrays) -> None:
    groups = [links.cluster_of[one.id] for one in kept]
    numbered = sorted(
        zip(arrays["numbers"].tolist(), kept, groups, strict=True), key=lambda article: article[0]
    )
    saved = part(arrays, "neighbours")
    found = {name: array for name, array in saved.items() if f"{_LISTS}." not in name}
    for name in dict.fromkeys(name.rpartition(".")[0] for name in saved if f"{_LISTS}." in name):
        found[name] = unpack_table(part(saved, name))
    links.neighbours.load_state(numbered, last, found)
