"""Checkpoints: the whole state of a stream as bytes, restored to the bit.

A checkpoint is a safetensors file with a JSON header; reading it runs no code. Text is compressed, and a
checksum over all arrays detects damage.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from isogloss.events.annotate import Annotator
from isogloss.events.checkpoint._cluster_state import from_state, state_dict
from isogloss.events.checkpoint._columns import (
    Arrays,
    pack_numbers,
    pack_strings,
    prefixed,
    split_rows,
    unpack_strings,
    unprefixed,
)
from isogloss.events.checkpoint._link_state import load_links, save_links
from isogloss.events.cluster import ClusterSettings
from isogloss.events.ingest import DuplicateIndex
from isogloss.events.link import Linker, ProfileBuilder
from isogloss.events.stream import EventStream, EventStreamSettings, StreamChanges
from isogloss.events.track import AgglomerationRules, EventTracker
from isogloss.exceptions import ModelFileError
from isogloss.similarity import Encoder, TextModel

_FORMAT_VERSION = 7
_HEADER = "header"
_COMPRESSED = (".text", _HEADER)
"""Suffixes of the names of arrays that are compressed."""


def save_stream(stream: EventStream) -> bytes:
    """Save the state of a stream; annotator, linker, model and encoder are not part of it."""
    clusters = state_dict(stream.clusters)
    duplicates, seen = _save_duplicates(stream.duplicates)
    windows, counted = _save_windows(stream.profile_builder)
    centring = stream.profile_builder.centring
    sample = stream.profile_builder.sample.state_dict()
    links, linked = save_links(stream.links)
    tracker, tracked = _save_tracker(stream.tracker)
    arrays = {
        **prefixed("clusters", clusters["arrays"]),
        **prefixed("duplicates", seen),
        **prefixed("windows", counted),
        **prefixed("embeddings", centring.sums),
        "embedding_total": centring.total,
        **prefixed("sample", sample["arrays"]),
        **prefixed("links", linked),
        **prefixed("tracker", tracked),
    }
    header = {
        "format": _FORMAT_VERSION,
        "settings": asdict(stream.settings),
        "clusters": clusters["header"],
        "duplicates": duplicates,
        "windows": windows,
        "arrivals": stream.profile_builder.arrivals.counts,
        "embeddings": centring.counts,
        "sample": sample["header"],
        "links": links,
        "tracker": tracker,
        "copies": stream.reprints_of,
        "dormant": list(stream.expired_since.items()),
        "left": list(stream.successor_of.items()),
        "pending": stream.pending,
        "count": stream.count,
        "merged": list(stream.changes.merged.items()),
        "reprints": stream.changes.reprints,
    }
    return _pack(header, arrays)


def restore_stream(
    saved: bytes,
    *,
    annotator: Annotator | None = None,
    linker: Linker | None = None,
    model: TextModel | None = None,
    encoder: Encoder | str | None = "auto",
    n_jobs: int | None = None,
    scheduler: str = "",
) -> EventStream:
    """Restore a stream; annotator, linker, model and encoder must be those that it had.

    Parameters are those of :class:`~isogloss.events.EventStream`. Raises ModelFileError if the
    checkpoint is damaged or has another version, or the encoder has other dimensions.
    """
    header, arrays = _unpack(saved)
    try:
        stream = EventStream(
            _settings(header["settings"]),
            annotator=annotator,
            linker=linker,
            model=model,
            encoder=encoder,
            n_jobs=n_jobs,
            scheduler=scheduler,
        )
        _load(stream, header, arrays)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        message = f"{type(error).__name__}: {error}"
        raise ModelFileError(f"the checkpoint cannot be restored ({message})") from error
    sums = stream.profile_builder.centring.sums
    if stream.encoder is not None and any(len(one) != stream.encoder.dimension for one in sums.values()):
        raise ModelFileError(
            f"the checkpoint has embeddings of {len(next(iter(sums.values())))} dimensions, and the encoder "
            f"gives {stream.encoder.dimension}; use the encoder of the checkpoint, or make the events again"
        )
    return stream


def _load(stream: EventStream, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Load a saved state into an empty stream."""
    stream.clusters = from_state(header["clusters"], unprefixed(arrays, "clusters"))
    stream.duplicates = _load_duplicates(header["duplicates"], unprefixed(arrays, "duplicates"))
    _load_windows(stream.profile_builder, header["windows"], unprefixed(arrays, "windows"))
    builder = stream.profile_builder
    builder.arrivals.counts = {lang: (count, last) for lang, (count, last) in header["arrivals"].items()}
    sums = unprefixed(arrays, "embeddings")
    builder.centring.counts = header["embeddings"]
    builder.centring.total = arrays["embedding_total"]
    builder.centring.sums = {lang: sums[lang] for lang in header["embeddings"]}
    builder.sample.load_state(header["sample"], unprefixed(arrays, "sample"))
    load_links(stream.links, header["links"], unprefixed(arrays, "links"))
    _load_tracker(stream.tracker, header["tracker"], unprefixed(arrays, "tracker"))
    stream.reprints_of = header["copies"]
    stream.original_of = {
        reprint: original for original, reprints in stream.reprints_of.items() for reprint in reprints
    }
    stream.expired_since = dict(header["dormant"])
    stream.successor_of = dict(header["left"])
    stream.pending, stream.count = header["pending"], header["count"]
    stream.changes = StreamChanges(
        merged=dict(header["merged"]), reprints=[(copy, first) for copy, first in header["reprints"]]
    )


def _pack(header: Mapping[str, Any], arrays: Arrays) -> bytes:
    """Encode header and arrays."""
    text = json.dumps(
        {**header, "sum": _checksum(arrays)}, ensure_ascii=False, separators=(",", ":")
    ).encode()
    everything = {**arrays, _HEADER: np.frombuffer(text, dtype=np.uint8)}
    packed: bytes = safetensors.numpy.save(
        {
            name: _compressed(array) if name.endswith(_COMPRESSED) else np.ascontiguousarray(array)
            for name, array in everything.items()
        }
    )
    return packed


def _unpack(saved: bytes) -> tuple[dict[str, Any], Arrays]:
    """Decode the result of :func:`_pack`."""
    try:
        arrays = {
            name: _decompressed(array) if name.endswith(_COMPRESSED) else array
            for name, array in safetensors.numpy.load(saved).items()
        }
        header = json.loads(arrays.pop(_HEADER).tobytes())
    except (zlib.error, safetensors.SafetensorError, KeyError, ValueError) as error:
        raise ModelFileError(f"the checkpoint cannot be read ({error})") from error
    if header.get("format") != _FORMAT_VERSION:
        raise ModelFileError(
            f"the checkpoint has format {header.get('format')!r}, expected {_FORMAT_VERSION}"
        )
    if header.pop("sum") != _checksum(arrays):
        raise ModelFileError("the checkpoint is damaged: the checksum of its arrays does not match")
    return header, arrays


def _checksum(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Return a checksum of arrays."""
    found = 0
    for name in sorted(arrays):
        found = zlib.crc32(np.ascontiguousarray(arrays[name]).view(np.uint8).data, found)
    return found


def _compressed(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.compress(array.tobytes(), 1), dtype=np.uint8)


def _decompressed(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.frombuffer(zlib.decompress(array.tobytes()), dtype=np.uint8)


def _settings(header: Mapping[str, Any]) -> EventStreamSettings:
    parts = {
        "clusters": ClusterSettings(**header["clusters"]),
        "rules": AgglomerationRules(**header["rules"]),
    }
    return EventStreamSettings(**{**header, **parts})


def _save_duplicates(duplicates: DuplicateIndex) -> tuple[dict[str, Any], Arrays]:
    header = duplicates.state_dict()
    arrays = {name: header.pop(name) for name in ("signatures", "times")}
    return header, {**arrays, **prefixed("ids", pack_strings(header.pop("ids")))}


def _load_duplicates(header: Mapping[str, Any], arrays: Arrays) -> DuplicateIndex:
    return DuplicateIndex.from_state({**header, **arrays, "ids": unpack_strings(unprefixed(arrays, "ids"))})


def _save_windows(profile_builder: ProfileBuilder) -> tuple[dict[str, Any], Arrays]:
    headers, arrays = {}, {}
    for lang, window in profile_builder.windows.items():
        state = window.state_dict()
        headers[lang] = state["header"]
        arrays.update(prefixed(lang, state["arrays"]))
    return headers, arrays


def _load_windows(profile_builder: ProfileBuilder, headers: Mapping[str, Any], arrays: Arrays) -> None:
    for lang, header in headers.items():
        profile_builder.window(lang).load_state(header, unprefixed(arrays, lang))


def _save_tracker(tracker: EventTracker) -> tuple[dict[str, Any], Arrays]:
    ids = tracker.ids
    header = {
        "event_of": list(ids.event_of.items()),
        "aliases": list(ids.aliases.items()),
        "last": ids.last,
        "clusters": list(tracker.probabilities),
    }
    return header, pack_numbers(list(tracker.probabilities.values()))


def _load_tracker(tracker: EventTracker, header: Mapping[str, Any], arrays: Arrays) -> None:
    ids = tracker.ids
    ids.event_of, ids.aliases, ids.last = dict(header["event_of"]), dict(header["aliases"]), header["last"]
    for cluster, event in ids.event_of.items():
        ids.members.setdefault(event, set()).add(cluster)
    numbers, weights = (
        split_rows(arrays[name].tolist(), arrays["lengths"]) for name in ("numbers", "weights")
    )
    rows = (dict(zip(*pair, strict=True)) for pair in zip(numbers, weights, strict=True))
    tracker.probabilities = dict(zip(header["clusters"], rows, strict=True))
