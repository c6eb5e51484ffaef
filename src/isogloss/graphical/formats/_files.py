"""Read and write networks in any supported file format, chosen by the file extension."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from isogloss.exceptions import NetworkFileError
from isogloss.graphical.formats._bif import read_bif, write_bif
from isogloss.graphical.formats._reading import read_text, write_text
from isogloss.graphical.formats._xmlbif import read_xmlbif, write_xmlbif
from isogloss.graphical.network import BayesianNetwork
from isogloss.io import PathLike


def read_network(path: PathLike) -> BayesianNetwork:
    """Read a network from BIF, XMLBIF, JSON or a model file of isogloss.

    Parameters
    ----------
    path : path
        A name that ends in ``.bif``, ``.xml``, ``.xmlbif`` or ``.bifxml``, ``.json`` or ``.isogloss``; with
        ``.gz`` after it, the file is packed. JSON holds what :meth:`BayesianNetwork.to_dict` gives.

    Examples
    --------
    >>> from isogloss.graphical import student
    >>> write_network(student(), "student.json")
    >>> read_network("student.json") == student()
    True
    """
    return _kind_of(path).read(path)


def write_network(network: BayesianNetwork, path: PathLike) -> None:
    """Write a network to BIF, XMLBIF, JSON or a model file, as the name ends."""
    _kind_of(path).write(network, path)


def check_ending(path: PathLike) -> None:
    """Refuse a name that :func:`write_network` could not write to."""
    _kind_of(path)


def _read_json(path: PathLike) -> BayesianNetwork:
    try:
        return BayesianNetwork.from_dict(json.loads(read_text(path)))
    except json.JSONDecodeError as error:
        raise NetworkFileError(f"{path}:{error.lineno}: is not JSON ({error.msg})") from error
    except RecursionError as error:
        raise NetworkFileError(f"{path}: is nested too deeply; expected a network") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise NetworkFileError(f"{path}: {error}") from error


def _write_json(network: BayesianNetwork, path: PathLike) -> None:
    write_text(path, json.dumps(network.to_dict(), ensure_ascii=False, indent=1) + "\n")


def _read_model(path: PathLike) -> BayesianNetwork:
    from isogloss.io import load

    return load(path, expected=BayesianNetwork)


def _write_model(network: BayesianNetwork, path: PathLike) -> None:
    from isogloss.io import save

    save(network, path)


class _Kind(NamedTuple):
    read: Callable[[PathLike], BayesianNetwork]
    write: Callable[[BayesianNetwork, PathLike], None]


_XML = _Kind(read_xmlbif, write_xmlbif)
_FORMATS = {
    ".bif": _Kind(read_bif, write_bif),
    ".xml": _XML,
    ".xmlbif": _XML,
    ".bifxml": _XML,
    ".json": _Kind(_read_json, _write_json),
    ".isogloss": _Kind(_read_model, _write_model),
}


def _kind_of(path: PathLike) -> _Kind:
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() != ".gz"]
    kind = _FORMATS.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise NetworkFileError(
            f"{path}: a network is kept in a file whose name ends in {', '.join(_FORMATS)}"
        )
    return kind
