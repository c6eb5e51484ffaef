"""The encoder of model files: values to JSON and tensors.

None, bool, int, finite float, str and list are written as in JSON; everything else is an object with one
key, its kind, which :mod:`~isogloss.io._decoding` decodes. Arrays become named tensors, and so do long
sequences of one type, such as vocabularies.
"""

from __future__ import annotations

import dataclasses
import io
import logging
import math
import struct
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from isogloss.io._classes import is_estimator, is_state, kind_of, public_name

logger = logging.getLogger(__name__)

Node: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, list, dict."""

_NUMBERS = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
DTYPES = {dtype.str: dtype for order in "<>" for dtype in map(np.dtype, (order + n for n in _NUMBERS))}
"""The numeric types that a file may hold, by their NumPy strings."""

SPARSE_CLASSES = {
    cls.__name__: cls for cls in (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array)
}

MAX_NESTING = 48
_MAX_INTEGER_BITS = 2048
_MIN_TENSOR_LENGTH = 64
"""A sequence of one type and at least this length becomes a tensor."""


class ModelEncoder:
    """Encode one model; its arrays are collected in ``tensors``."""

    def __init__(self) -> None:
        self.tensors: dict[str, NDArray[Any]] = {}

    def encode_model(self, model: Any) -> Node:
        """Return the description of a model."""
        name = type(model).__name__
        if kind_of(type(model)) is None:
            raise TypeError(
                f"got a {name}; a model is an estimator, statistic or frozen dataclass of isogloss"
            )
        return self._object(model, name, 0)

    def _encode(self, value: Any, path: str, depth: int) -> Node:
        if depth > MAX_NESTING:
            raise TypeError(f"{path:.200} is nested more than {MAX_NESTING} deep, or contains itself")
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return _plain(value, path)
        if kind in (list, tuple):
            return self._sequence(value, path, depth, range(len(value)))
        if kind is dict:
            return self._dict(value, path, depth)
        if kind in (slice, range):
            parts = [value.start, value.stop, value.step]
            return {kind.__name__: [self._encode(part, path, depth + 1) for part in parts]}
        if kind is np.ndarray:
            return self._array(value, path)
        if isinstance(value, np.generic):
            return _scalar(value, path)
        if kind in SPARSE_CLASSES.values():
            parts = [self._array(getattr(value, p), f"{path}.{p}") for p in ("data", "indices", "indptr")]
            return {"sparse": [kind.__name__, [int(n) for n in value.shape], *parts]}
        return self._object(value, path, depth)

    def _sequence(self, value: Any, path: str, depth: int, labels: Iterable[Any]) -> Node:
        packed = _packed(value) if len(value) >= _MIN_TENSOR_LENGTH else None
        if packed is not None:
            return {"packed": [type(value).__name__, self._array(packed, path)]}
        nodes = [
            self._encode(item, f"{path}[{label!r:.40}]", depth + 1)
            for item, label in zip(value, labels, strict=True)
        ]
        return nodes if type(value) is list else {"tuple": nodes}

    def _dict(self, value: dict[Any, Any], path: str, depth: int) -> Node:
        for key in value:
            if type(key) not in (str, int):
                raise TypeError(f"{path} has the key {key!r:.80}; keys in a model file are str or int")
        keys = self._sequence(list(value), f"{path}.keys", depth + 1, range(len(value)))
        return {"dict": [keys, self._sequence(list(value.values()), path, depth + 1, value)]}

    def _array(self, value: NDArray[Any], path: str) -> Node:
        if value.dtype.str in DTYPES:
            order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
            stored = value.T if order == "F" else value
            return {"array": [self._keep(stored, path), value.dtype.str, order]}
        if value.dtype.kind == "U":
            letters = value.astype(value.dtype.newbyteorder("<"), order="C", copy=False)
            codes = letters.reshape(-1).view("<u4").reshape(*value.shape, value.dtype.itemsize // 4)
            return {"unicode": [self._keep(codes, path), value.dtype.str]}
        if value.dtype == object and all(type(item) is str for item in value.flat):
            texts = [item.encode("utf-8", "surrogatepass") for item in value.flat]
            letters = np.frombuffer(b"".join(texts), dtype=np.uint8)
            lengths = np.array([len(text) for text in texts], dtype=np.int64)
            names = [self._keep(letters, f"{path}.letters"), self._keep(lengths, f"{path}.lengths")]
            return {"text": [*names, list(value.shape)]}
        raise TypeError(
            f"{path} is an array of {value.dtype}; a model file holds arrays of bool, integers, float16 to "
            "float64 and str: convert it"
        )

    def _keep(self, array: NDArray[Any], path: str) -> str:
        path = path.encode("utf-8", "backslashreplace").decode()
        name, copies = path, len(self.tensors)
        while name in self.tensors:
            copies += 1
            name = f"{path}#{copies}"
        self.tensors[name] = array.astype(array.dtype.newbyteorder("<"), order="C", copy=False)
        return name

    def _object(self, value: Any, path: str, depth: int) -> Node:
        kind, name = kind_of(type(value)), public_name(type(value))
        if kind is None or name is None:
            raise TypeError(f"{path} is {_refusal(value, path.rpartition('.')[2])}")
        if kind == "estimator":
            params = {key: _without_engine(key, v, path) for key, v in value.get_params(deep=False).items()}
            state = {key: v for key, v in vars(value).items() if is_state(type(value), key)}
            parts = {"params": params, "state": state}
        elif kind == "statistic":
            parts = {"arrays": {key: np.asarray(array) for key, array in value.arrays().items()}}
        else:
            fields = [field.name for field in dataclasses.fields(value) if field.init]
            parts = {"fields": {key: getattr(value, key) for key in fields}}
        nodes = {
            part: {key: self._encode(v, f"{path}.{key}", depth + 1) for key, v in values.items()}
            for part, values in parts.items()
        }
        return {kind: {"class": name, **nodes}}


def _plain(value: Any, path: str) -> Node:
    if type(value) is int and value.bit_length() > _MAX_INTEGER_BITS:
        raise TypeError(
            f"{path} is an integer of {value.bit_length()} bits; at most {_MAX_INTEGER_BITS} are kept"
        )
    if type(value) is float and not math.isfinite(value):
        return {"float": struct.pack(">d", value).hex()}
    if type(value) is str and not _is_utf8(value):
        return {"str": value.encode("utf-8", "surrogatepass").hex()}
    return value


def _is_utf8(text: str) -> bool:
    """Return whether a text has no lone surrogates; JSON would join two of them into one character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _scalar(value: np.generic, path: str) -> Node:
    if isinstance(value, np.str_):
        return {"str_": _plain(str(value), path)}
    if value.dtype.str not in DTYPES:
        raise TypeError(f"{path} is a NumPy {value.dtype}; a model file holds bool, integers and floats")
    return {"scalar": [value.dtype.str, value.tobytes().hex()]}


def _packed(values: Iterable[Any]) -> NDArray[Any] | None:
    """Convert values of one plain type to an array without loss, or return None."""
    kinds = set(map(type, values))
    dtype = {str: object, float: np.float64, bool: np.bool_, int: np.int64}.get(kinds.pop())
    if kinds or dtype is None:
        return None
    try:
        return np.array(values, dtype=dtype)
    except OverflowError:
        return None


def _without_engine(key: str, value: Any, path: str) -> Any:
    if key == "engine" and value is not None:
        logger.info("%s.engine is not saved: an engine is where a model is fitted, not part of it", path)
        return None
    return value


def _refusal(value: Any, attribute: str) -> str:
    """Describe a value that a model file cannot hold, and what to do."""
    cls = type(value)
    name = f"{cls.__module__}.{cls.__qualname__}"
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return "a random generator, whose state a model file does not hold; use an integer seed"
    if isinstance(value, io.IOBase):
        return "an open file, which a model file cannot hold; keep its path"
    if hasattr(value, "map_reduce"):
        return f"an engine ({name}), which is not part of a model; set it to None"
    if sparse.issparse(value):
        return f"a sparse matrix in {value.format} format; convert it with .tocsr()"
    if cls.__module__.startswith("isogloss."):
        return f"a {name}, which is not a public estimator, statistic or frozen dataclass of isogloss"
    if is_estimator(type(value)):
        return f"a {name}, an estimator of another package; keep the arrays that are needed of it"
    if callable(value):
        return f"a Python function, which a model file cannot hold; use a named {attribute}"
    return f"a {name}, which a model file cannot hold; keep numbers, text, arrays, lists, tuples or dicts"
