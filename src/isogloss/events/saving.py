"""The whole state of a stream as bytes, and back: going on from them is going on from the stream, to the bit.

The bytes are compressed JSON and arrays; reading them runs no code.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from isogloss.events.agglomeration import Rules
from isogloss.events.annotation import Annotator
from isogloss.events.duplicates import Duplicates
from isogloss.events.linker import Linker
from isogloss.events.linking import LinkState
from isogloss.events.profile import Profile
from isogloss.events.signature import Signature, Signatures
from isogloss.events.snapshot import from_state, state_dict
from isogloss.events.state import ClusterSettings
from isogloss.events.stream import Changes, EventStream, StreamSettings
from isogloss.events.tracking import EventTracker
from isogloss.events.vectors import Vector
from isogloss.exceptions import ModelFileError
from isogloss.similarity.base import DocumentModel

__all__ = ["restore_stream", "save_stream"]

Arrays = dict[str, NDArray[Any]]
_FORMAT = 1


def save_stream(stream: EventStream) -> bytes:
    """The state of a stream; annotator, linker and model are not part of it."""
    clusters = state_dict(stream.clusters)
    arrays: Arrays = {f"clusters.{name}": array for name, array in clusters["arrays"].items()}
    duplicates = stream.duplicates.state_dict()
    arrays |= {f"duplicates.{name}": duplicates.pop(name) for name in ("signatures", "times")}
    header = {
        "format": _FORMAT,
        "settings": asdict(stream.settings),
        "clusters": clusters["header"],
        "duplicates": duplicates,
        "windows": _save_windows(stream.signatures, arrays),
        "links": _save_links(stream.links, arrays),
        "tracker": _save_tracker(stream.tracker),
        "copies": stream.copies,
        "dormant": list(stream.dormant.items()),
        "left": list(stream.left.items()),
        "pending": stream.pending,
        "count": stream.count,
        "merged": list(stream.changes.merged.items()),
        "reprints": stream.changes.reprints,
    }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    arrays["header"] = np.frombuffer(text, dtype=np.uint8)
    packed = safetensors.numpy.save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    return zlib.compress(packed, 1)


def restore_stream(
    saved: bytes,
    *,
    annotator: Annotator | None = None,
    linker: Linker | None = None,
    model: DocumentModel | None = None,
    n_jobs: int | None = None,
) -> EventStream:
    """The stream whose state was saved, with the annotator, the linker and the model that it had.

    Parameters are those of :class:`~isogloss.events.stream.EventStream`.

    Raises
    ------
    ModelFileError
        The bytes are damaged, or of another version.
    """
    try:
        arrays = safetensors.numpy.load(zlib.decompress(saved))
        header = json.loads(arrays["header"].tobytes())
    except (zlib.error, safetensors.SafetensorError, KeyError, ValueError) as error:
        raise ModelFileError(
            f"the saved state of the stream cannot be read ({error}); replay the journal"
        ) from error
    if header.get("format") != _FORMAT:
        raise ModelFileError(
            f"the saved state has format {header.get('format')!r}, expected {_FORMAT}; replay the journal"
        )
    stream = EventStream(
        _settings(header["settings"]), annotator=annotator, linker=linker, model=model, n_jobs=n_jobs
    )
    stream.clusters = from_state(header["clusters"], _part(arrays, "clusters"))
    stream.duplicates = Duplicates.from_state(header["duplicates"] | _part(arrays, "duplicates"))
    _load_windows(stream.signatures, header["windows"], arrays)
    _load_links(stream.links, header["links"], arrays)
    _load_tracker(stream.tracker, header["tracker"])
    stream.copies = header["copies"]
    stream.original_of = {copy: first for first, copies in stream.copies.items() for copy in copies}
    stream.dormant = dict(header["dormant"])
    stream.left = dict(header["left"])
    stream.pending, stream.count = header["pending"], header["count"]
    stream.changes = Changes(
        merged=dict(header["merged"]), reprints=[(copy, first) for copy, first in header["reprints"]]
    )
    return stream


def _settings(told: Mapping[str, Any]) -> StreamSettings:
    parts = {"clusters": ClusterSettings(**told["clusters"]), "rules": Rules(**told["rules"])}
    return StreamSettings(**{**told, **parts})


def _save_windows(signatures: Signatures, arrays: Arrays) -> dict[str, Any]:
    headers = {}
    for lang, window in signatures.windows.items():
        state = window.state_dict()
        headers[lang] = state["header"]
        arrays.update({f"windows.{lang}.{name}": array for name, array in state["arrays"].items()})
    return headers


def _load_windows(signatures: Signatures, headers: Mapping[str, Any], arrays: Arrays) -> None:
    for lang, header in headers.items():
        signatures.window(lang).load_state(header, _part(arrays, f"windows.{lang}"))


def _save_links(links: LinkState, arrays: Arrays) -> dict[str, Any]:
    numbers = links.neighbours.numbers
    kept = list(links.signatures.values())
    vectors = [one.vector for one in kept]
    latents = [one.latent for one in kept if one.latent is not None]
    arrays["links.lengths"] = np.array([len(vector.ids) for vector in vectors], dtype=np.int64)
    arrays["links.terms"] = np.concatenate([np.empty(0, np.int32), *(vector.ids for vector in vectors)])
    arrays["links.weights"] = np.concatenate([np.empty(0), *(vector.weights for vector in vectors)])
    arrays["links.latents"] = np.array(latents, dtype=np.float32) if latents else np.empty((0, 0), np.float32)
    arrays |= {f"links.neighbours.{name}": array for name, array in links.neighbours.state_dict().items()}
    return {
        "signatures": [_plain(one) for one in kept],
        "numbers": [numbers[one.id] for one in kept],
        "last": links.neighbours.last,
        "profiles": [[one.id, one.lang, one.articles] for one in links.profiles.values()],
        "near": [list(links.near[one.id].items()) for one in kept],
        "changed": sorted(links.changed),
    }


def _load_links(links: LinkState, header: Mapping[str, Any], arrays: Arrays) -> None:
    ends = np.cumsum(arrays["links.lengths"])[:-1]
    terms, weights = np.split(arrays["links.terms"], ends), np.split(arrays["links.weights"], ends)
    latents = iter(arrays["links.latents"])
    for plain, ids, values in zip(header["signatures"], terms, weights, strict=False):
        latent = next(latents).copy() if plain.pop("latent") else None
        signature = _signature(plain, Vector(ids.copy(), values.copy()), latent)
        links.signatures[signature.id] = signature
    for number, lang, articles in header["profiles"]:
        links.profiles[number] = Profile(number, lang, [links.signatures[one] for one in articles])
        links.cluster_of.update(dict.fromkeys(articles, number))
    links.near = {article: dict(near) for article, near in zip(links.signatures, header["near"], strict=True)}
    links.changed = set(header["changed"])
    numbered = sorted(
        zip(header["numbers"], links.signatures.values(), strict=True), key=lambda pair: pair[0]
    )
    links.neighbours.load_state(numbered, header["last"], _part(arrays, "links.neighbours"))


def _plain(signature: Signature) -> dict[str, Any]:
    return {
        "id": signature.id,
        "lang": signature.lang,
        "title": signature.title,
        "time": signature.time,
        "sentence": signature.sentence,
        "entities": dict(signature.entities),
        "keywords": dict(signature.keywords),
        "places": signature.places,
        "numbers": signature.numbers,
        "dates": [day.isoformat() for day in signature.dates],
        "latent": signature.latent is not None,
    }


def _signature(plain: dict[str, Any], vector: Vector, latent: NDArray[np.float32] | None) -> Signature:
    for name in ("places", "numbers"):
        plain[name] = tuple(plain[name])
    plain["dates"] = tuple(map(date.fromisoformat, plain["dates"]))
    return Signature(**plain, vector=vector, latent=latent)


def _save_tracker(tracker: EventTracker) -> dict[str, Any]:
    ids = tracker.ids
    return {
        "event_of": list(ids.event_of.items()),
        "aliases": list(ids.aliases.items()),
        "last": ids.last,
        "probabilities": [[one, list(others.items())] for one, others in tracker.probabilities.items()],
    }


def _load_tracker(tracker: EventTracker, header: Mapping[str, Any]) -> None:
    ids = tracker.ids
    ids.event_of, ids.aliases, ids.last = dict(header["event_of"]), dict(header["aliases"]), header["last"]
    for cluster, event in ids.event_of.items():
        ids.members.setdefault(event, set()).add(cluster)
    tracker.probabilities = {one: dict(others) for one, others in header["probabilities"]}


def _part(arrays: Mapping[str, NDArray[Any]], name: str) -> Arrays:
    return {key[len(name) + 1 :]: array for key, array in arrays.items() if key.startswith(f"{name}.")}
