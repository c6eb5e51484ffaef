"""Save, load and describe fitted models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, TypeVar, overload

import numpy as np

from isogloss.exceptions import ModelFileError
from isogloss.io import _container as container
from isogloss.io._classes import resolve_class
from isogloss.io._decoding import ModelDecoder
from isogloss.io._encoding import DTYPES, ModelEncoder

T = TypeVar("T")
Path = str | os.PathLike[str]

_PARTS = {"estimator": "state", "dataclass": "fields", "statistic": "arrays"}
"""The kinds of object a file may hold, and the key of their contents in the description."""


def save(model: Any, path: Path) -> None:
    """Write a model to a file, atomically.

    Parameters
    ----------
    model : estimator, statistic or frozen dataclass of isogloss
        Constructor parameters are saved, and the attributes whose names end in an underscore, and the
        private ones listed in the class attribute ``_saved_state``. They may be None, bool, int, float,
        str, NumPy numbers and arrays of these, CSR and CSC matrices, lists, tuples, dicts with str or
        int keys, and objects of the kinds that ``model`` may be. An ``engine`` parameter is left out.
    path : path
        The file to write or replace; its directory must exist.

    Raises
    ------
    TypeError
        The model holds something that a file cannot; the message names the attribute.
    ModelFileError
        The file cannot be written.

    Notes
    -----
    The whole file is held in memory once while it is written.

    Examples
    --------
    >>> import os, tempfile
    >>> from isogloss.stats import CountTable
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "counts.isogloss")
    ...     save(CountTable((2, 2)).update([[0, 1], [1, 1]]), path)
    ...     load(path, expected=CountTable).table
    array([[0, 1],
           [0, 1]])
    """
    encoder = ModelEncoder()
    node = encoder.encode_model(model)
    with container.model_file_errors(path, "cannot be written"):
        container.write(path, {"written_by": version("isogloss"), "model": node}, encoder.tensors)


@overload
def load(path: Path, *, expected: type[T], mapped: bool = False) -> T: ...
@overload
def load(path: Path, *, expected: None = None, mapped: bool = False) -> Any: ...
def load(path: Path, *, expected: type | None = None, mapped: bool = False) -> Any:
    """Read a model that :func:`save` wrote.

    Parameters
    ----------
    path : path
        The model file.
    expected : type, optional
        Refuse a file that holds anything else.
    mapped : bool
        Whether arrays are mapped into memory, to be read from the file when they are used, and shared with
        other processes. They are read-only, and only the header is verified.

    Raises
    ------
    ModelFileError
        The file is missing, damaged, of a newer format, no model file, or not the ``expected`` model.

    Notes
    -----
    Needs memory for twice the size of the file, whatever the file claims; mapped, for the header.
    """
    if not (expected is None or isinstance(expected, type)):
        raise TypeError(f"expected={expected!r} is not a class; give the class the file should hold")
    with container.model_file_errors(path, "is damaged or no model file"):
        header, tensors = (container.read_mapped if mapped else container.read)(path)
        kind, content = _root(header)
        found = resolve_class(content["class"], kind)
        if expected is not None and not issubclass(found, expected):
            raise ModelFileError(
                f"holds {found.__name__}; expected {expected.__name__}: give the path of another file"
            )
        decoder = ModelDecoder(tensors)
        model = decoder.decode({kind: content})
        decoder.check_all_used()
        return model


def describe(path: Path) -> dict[str, Any]:
    """Describe a model file from its header; no class is imported and no array is read.

    The digest of the header is verified, that of the arrays is not.

    Returns
    -------
    dict
        ``class``, ``kind``, ``format``, ``isogloss`` (the version that wrote the file), ``parameters``,
        ``attributes`` (arrays as a short text), ``n_arrays``, ``array_bytes`` and ``file_bytes``.
    """
    with container.model_file_errors(path, "is damaged or no model file"):
        header = container.read_header(path)
        kind, content = _root(header)
        return {
            "class": str(content["class"]),
            "kind": kind,
            "format": header.description["format"],
            "isogloss": str(header.description["written_by"]),
            "parameters": _summaries(content.get("params", {}), header),
            "attributes": _summaries(content[_PARTS[kind]], header),
            "n_arrays": len(header.tensors),
            "array_bytes": header.array_bytes,
            "file_bytes": header.file_bytes,
        }


def _root(header: container.Header) -> tuple[str, dict[str, Any]]:
    node = header.description["model"]
    if not isinstance(node, dict) or len(node) != 1 or not _PARTS.keys() >= node.keys():
        raise ModelFileError("describes no model; save it again with isogloss.io.save")
    ((kind, content),) = node.items()
    return kind, content


def _summaries(nodes: Mapping[str, Any], header: container.Header) -> dict[str, Any]:
    return {name: _summary(node, header) for name, node in nodes.items()}


def _summary(node: Any, header: container.Header) -> Any:
    """Return a plain value unchanged, and a short description of anything else."""
    if not isinstance(node, dict):
        return node if not isinstance(node, list) else f"list of {len(node)}"
    ((kind, content),) = node.items()
    if kind in _PARTS:
        return str(content["class"])
    if kind == "array":
        tensor, dtype, order = content
        shape = header.tensors[tensor]["shape"][:: -1 if order == "F" else 1]
        return f"{DTYPES[dtype].name} array of shape {tuple(shape)}"
    if kind in ("float", "str", "str_", "scalar"):
        value = ModelDecoder({}).decode(node)
        return value.item() if isinstance(value, np.generic) else value
    if kind == "sparse":
        return f"{content[0]} of shape {tuple(content[1])}"
    return {"unicode": "array of text", "text": "array of text", "packed": "sequence"}.get(kind, kind)
