"""Columnar encoding of many short rows: strings, names, weights by name, vectors, sparse tables.

Saving thousands of small objects one by one has a cost for each; a column of all of them costs little more
than its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from isogloss.corpora import StringTable
from isogloss.events.cluster import Vector

Arrays = dict[str, NDArray[Any]]
T = TypeVar("T")


def prefixed(name: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Add a prefix to the names of arrays."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


def unprefixed(arrays: Mapping[str, NDArray[Any]], name: str) -> Arrays:
    """Return the arrays with a prefix, without it.

    Examples
    --------
    >>> unprefixed(prefixed("times", {"first": np.zeros(1)}), "times")
    {'first': array([0.])}
    """
    return {key[len(name) + 1 :]: array for key, array in arrays.items() if key.startswith(f"{name}.")}


def split_rows(flat: Sequence[T], lengths: NDArray[Any]) -> Iterator[Sequence[T]]:
    """Yield consecutive rows of given lengths.

    Examples
    --------
    >>> list(split_rows([1, 2, 3], np.array([2, 0, 1])))
    [[1, 2], [], [3]]
    """
    for start, end in pairwise([0, *np.cumsum(lengths).tolist()]):
        yield flat[start:end]


def pack_strings(strings: Iterable[str]) -> Arrays:
    """Encode strings.

    Examples
    --------
    >>> unpack_strings(pack_strings(["hiša", "", "dom"]))
    ['hiša', '', 'dom']
    """
    table = StringTable.of(strings)
    return {"text": table.text, "offsets": table.offsets}


def unpack_strings(arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    """Decode the result of :func:`pack_strings`."""
    return list(StringTable(arrays["text"], arrays["offsets"]))


def pack_names(rows: Sequence[Sequence[str] | Mapping[str, Any]]) -> Arrays:
    """Encode rows of repeated strings: each distinct string once, and its positions.

    Examples
    --------
    >>> list(unpack_names(pack_names([["wind", "sea"], [], ["sea"]])))
    [['wind', 'sea'], [], ['sea']]
    """
    flat: list[str] = list(chain.from_iterable(rows))
    places = {name: place for place, name in enumerate(dict.fromkeys(flat))}
    return {
        "lengths": _lengths(rows),
        "places": np.fromiter(map(places.__getitem__, flat), np.int32, len(flat)),
        **pack_strings(places),
    }


def unpack_names(arrays: Mapping[str, NDArray[Any]]) -> Iterator[Sequence[str]]:
    """Decode the result of :func:`pack_names`; equal strings are one object."""
    names = unpack_strings(arrays)
    return split_rows([names[place] for place in arrays["places"].tolist()], arrays["lengths"])


def pack_weights(rows: Sequence[Mapping[str, float]]) -> Arrays:
    """Encode rows of weights by repeated names.

    Examples
    --------
    >>> list(unpack_weights(pack_weights([{"wind": 1.0, "sea": 0.5}, {"sea": 2.0}])))
    [{'wind': 1.0, 'sea': 0.5}, {'sea': 2.0}]
    """
    names = pack_names(rows)
    return {**names, "weights": _flat((row.values() for row in rows), np.float64, len(names["places"]))}


def unpack_weights(arrays: Mapping[str, NDArray[Any]]) -> Iterator[dict[str, float]]:
    """Decode the result of :func:`pack_weights`."""
    weights = split_rows(arrays["weights"].tolist(), arrays["lengths"])
    return map(_dict, unpack_names(arrays), weights)


def pack_numbers(rows: Sequence[Mapping[int, float]]) -> Arrays:
    """Encode rows of weights by number.

    Examples
    --------
    >>> packed = pack_numbers([{7: 0.5, 3: 1.0}, {}])
    >>> packed["lengths"].tolist(), packed["numbers"].tolist(), packed["weights"].tolist()
    ([2, 0], [7, 3], [0.5, 1.0])
    """
    lengths = _lengths(rows)
    total = int(lengths.sum())
    return {
        "lengths": lengths,
        "numbers": _flat(rows, np.int32, total),
        "weights": _flat((row.values() for row in rows), np.float64, total),
    }


def pack_vectors(vectors: Sequence[Vector]) -> Arrays:
    """Encode sparse vectors.

    Examples
    --------
    >>> storm = Vector(np.array([3, 7], dtype=np.int32), np.array([0.8, 0.6]))
    >>> unpack_vectors(pack_vectors([storm]))[0].weights
    array([0.8, 0.6])
    """
    return {
        "lengths": np.fromiter((len(vector.ids) for vector in vectors), np.int32, len(vectors)),
        "terms": np.concatenate([np.empty(0, dtype=np.int32), *(vector.ids for vector in vectors)]),
        "weights": np.concatenate([np.empty(0), *(vector.weights for vector in vectors)]),
    }


def unpack_vectors(arrays: Mapping[str, NDArray[Any]]) -> list[Vector]:
    """Decode the result of :func:`pack_vectors`; each vector has its own memory."""
    terms, weights = arrays["terms"], arrays["weights"]
    bounds = pairwise([0, *np.cumsum(arrays["lengths"]).tolist()])
    return [Vector(terms[start:end].copy(), weights[start:end].copy()) for start, end in bounds]


def pack_table(table: NDArray[Any]) -> Arrays:
    """Encode a sparse table of integers: a bit mask and the non-zero values.

    Examples
    --------
    >>> table = np.array([[1, 0, 7], [0, 0, 0]], dtype=np.int32)
    >>> packed = pack_table(table)
    >>> packed["values"].tolist(), bool((unpack_table(packed) == table).all())
    ([1, 7], True)
    """
    there = table != 0
    return {
        "width": np.array([table.shape[1]]),
        "there": np.packbits(there, axis=1),
        "values": table[there],
    }


def unpack_table(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Decode the result of :func:`pack_table`."""
    values, width = arrays["values"], int(arrays["width"][0])
    there = np.unpackbits(arrays["there"], axis=1, count=width).astype(bool)
    table = np.zeros(there.shape, values.dtype)
    table[there] = values
    return table


def _lengths(rows: Sequence[Any]) -> NDArray[np.int32]:
    return np.fromiter(map(len, rows), np.int32, len(rows))


def _flat(rows: Iterable[Iterable[float]], dtype: type, total: int) -> NDArray[Any]:
    return np.fromiter(chain.from_iterable(rows), dtype, total)


def _dict(names: Iterable[str], weights: Iterable[float]) -> dict[str, float]:
    return dict(zip(names, weights, strict=True))
