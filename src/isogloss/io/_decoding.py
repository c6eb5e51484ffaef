"""The decoder of model files: JSON and tensors to values.

The description is untrusted: anything that differs from what :mod:`~isogloss.io._encoding` writes is refused,
and nothing is allocated that the file does not hold.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.exceptions import ModelFileError
from isogloss.io._classes import is_state, resolve_class
from isogloss.io._encoding import DTYPES, MAX_NESTING, SPARSE_CLASSES, Node

_LEAF_NESTING = 3
"""Levels inside one value: the text of the packed keys of a dict."""


class ModelDecoder:
    """Decode one model; each tensor is used once."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self._tensors = dict(tensors)
        self._depth = 0

    def decode(self, node: Node) -> Any:
        """Return the value that a node describes."""
        if self._depth > MAX_NESTING + _LEAF_NESTING:
            raise ModelFileError(f"is nested more than {MAX_NESTING} deep; isogloss writes no such file")
        self._depth += 1
        try:
            return self._decode(node)
        finally:
            self._depth -= 1

    def check_all_used(self) -> None:
        """Refuse tensors that the description does not mention."""
        if self._tensors:
            raise ModelFileError(f"has arrays that nothing refers to, such as {min(self._tensors)!r:.80}")

    def _decode(self, node: Node) -> Any:
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if len(node) != 1:
            raise ModelFileError(f"has a value with the keys {list(node)!r:.80}; expected one, its kind")
        ((kind, content),) = node.items()
        if kind not in _DECODERS:
            raise ModelFileError(
                f"has a value of the unknown kind {kind!r:.80}; a newer isogloss may know it"
            )
        return _DECODERS[kind](self, content)

    def _take(self, name: Any) -> NDArray[Any]:
        if name not in self._tensors:
            raise ModelFileError(f"lacks the array {name!r:.80}, or refers to it twice")
        return self._tensors.pop(name)

    def _tuple(self, content: Node) -> tuple[Any, ...]:
        return tuple(self.decode(item) for item in content)

    def _packed(self, content: Node) -> Any:
        sequence, node = content
        values = self._array_of(node, ndim=1).tolist()
        return {"list": list, "tuple": tuple}[sequence](values)

    def _dict(self, content: Node) -> dict[str | int, Any]:
        keys, values = (self.decode(part) for part in content)
        if any(type(key) not in (str, int) for key in keys):
            raise ModelFileError("has a dict with keys that are neither str nor int")
        out = dict(zip(keys, values, strict=True))
        if len(out) != len(keys):
            raise ModelFileError("has a dict with a key that occurs twice")
        return out

    def _slice(self, content: Node) -> slice:
        return slice(*self._bounds(content))

    def _range(self, content: Node) -> range:
        return range(*self._bounds(content))

    def _bounds(self, content: Node) -> list[Any]:
        bounds = [self.decode(part) for part in content]
        if len(bounds) != 3 or any(bound is not None and type(bound) is not int for bound in bounds):
            raise ModelFileError("has a slice or range whose start, stop and step are not three integers")
        return bounds

    def _float(self, content: Node) -> float:
        return float(struct.unpack(">d", bytes.fromhex(content))[0])

    def _str(self, content: Node) -> str:
        return bytes.fromhex(content).decode("utf-8", "surrogatepass")

    def _numpy_str(self, content: Node) -> np.str_:
        return np.str_(self.decode(content))

    def _scalar(self, content: Node) -> Any:
        dtype, data = content
        (value,) = _checked(np.frombuffer(bytes.fromhex(data), dtype=DTYPES[dtype]))
        return value

    def _array(self, content: Node) -> NDArray[Any]:
        name, dtype, order = content
        array, wanted = _checked(self._take(name)), DTYPES[dtype]
        if array.dtype != wanted.newbyteorder("=") or order not in ("C", "F"):
            raise ModelFileError(f"describes the array {name!r:.80} as another than the one it holds")
        array = array.astype(wanted, copy=False)
        return array.T if order == "F" else array

    def _unicode(self, content: Node) -> NDArray[Any]:
        name, dtype = content
        codes = self._take(name)
        wanted = np.dtype(f"<U{codes.shape[-1]}")
        if codes.dtype != np.uint32 or dtype not in (wanted.str, wanted.newbyteorder(">").str):
            raise ModelFileError(f"describes the text {name!r:.80} as another than the one it holds")
        if codes.size and int(codes.max()) > 0x10FFFF:
            raise ModelFileError(f"has invalid Unicode code points in {name!r:.80}")
        return codes.reshape(-1).view(wanted).reshape(codes.shape[:-1]).astype(dtype, copy=False)

    def _text(self, content: Node) -> NDArray[Any]:
        letters_name, lengths_name, shape = content
        letters, lengths = self._take(letters_name).tobytes(), self._take(lengths_name)
        bounds = [0, *accumulate(lengths.tolist())]  # Python integers, which do not overflow
        if lengths.dtype != np.int64 or (lengths < 0).any() or bounds[-1] != len(letters):
            raise ModelFileError(f"has lengths in {lengths_name!r:.80} that do not fit the text")
        out = np.empty(lengths.size, dtype=object)
        out[:] = [letters[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(bounds)]
        return out.reshape(shape)

    def _sparse(self, content: Node) -> Any:
        name, shape, *parts = content
        data, indices, indptr = (self._array_of(part, ndim=1) for part in parts)
        if indices.dtype not in (np.int32, np.int64) or indices.dtype != indptr.dtype:
            raise ModelFileError("has a sparse matrix whose indices are no integers")
        matrix = SPARSE_CLASSES[name]((data, indices, indptr), shape=tuple(shape))
        matrix.indices, matrix.indptr = indices, indptr  # the constructor may have narrowed them
        matrix.check_format(full_check=True)
        return matrix

    def _array_of(self, node: Node, ndim: int | None = None) -> NDArray[Any]:
        array = self.decode(node)
        if not isinstance(array, np.ndarray) or ndim not in (None, array.ndim):
            raise ModelFileError("has another value where an array belongs")
        return array

    def _estimator(self, content: Node) -> Any:
        name, params, state = _parts(content, "class", "params", "state")
        cls = resolve_class(name, "estimator")
        given = {key: self.decode(node) for key, node in params.items()}
        # A file of an older version may have parameters that have moved into groups since.
        model = cls(**getattr(cls, "_grouped", dict)(given))
        for key, node in state.items():
            if not is_state(cls, key):
                raise ModelFileError(f"sets {key!r:.80}, which is not a fitted attribute of {name}")
            vars(model)[key] = self.decode(node)
        return model

    def _statistic(self, content: Node) -> Any:
        name, arrays = _parts(content, "class", "arrays")
        cls: Any = resolve_class(name, "statistic")
        statistic = cls.from_arrays({key: self._array_of(node) for key, node in arrays.items()})
        if not isinstance(statistic, cls):
            raise ModelFileError(f"names {name}, which is not a statistic that can be loaded")
        return statistic

    def _dataclass(self, content: Node) -> Any:
        name, fields = _parts(content, "class", "fields")
        return resolve_class(name, "dataclass")(**{key: self.decode(node) for key, node in fields.items()})


_DECODERS: dict[str, Callable[[ModelDecoder, Node], Any]] = {
    "tuple": ModelDecoder._tuple,
    "packed": ModelDecoder._packed,
    "dict": ModelDecoder._dict,
    "slice": ModelDecoder._slice,
    "range": ModelDecoder._range,
    "float": ModelDecoder._float,
    "str": ModelDecoder._str,
    "str_": ModelDecoder._numpy_str,
    "scalar": ModelDecoder._scalar,
    "array": ModelDecoder._array,
    "unicode": ModelDecoder._unicode,
    "text": ModelDecoder._text,
    "sparse": ModelDecoder._sparse,
    "estimator": ModelDecoder._estimator,
    "statistic": ModelDecoder._statistic,
    "dataclass": ModelDecoder._dataclass,
}


def _parts(content: Node, *names: str) -> list[Any]:
    if content.keys() != set(names):
        raise ModelFileError(f"has an object with the parts {sorted(content)!r:.80}; expected {names}")
    return [content[name] for name in names]


def _checked(array: NDArray[Any]) -> NDArray[Any]:
    """Refuse booleans other than 0 and 1, which would crash compiled code."""
    if array.dtype == np.bool_ and (array.view(np.uint8) > 1).any():
        raise ModelFileError("has booleans that are neither 0 nor 1")
    return array
