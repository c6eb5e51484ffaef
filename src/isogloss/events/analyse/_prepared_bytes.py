"""What an article alone tells, as bytes that may wait on a disk or come from another host.

A digest of the article and of the rest, a head of JSON, and arrays. Reading them runs no code; bytes that are
damaged, cut, or of another article are refused.
"""

from __future__ import annotations

import json
import struct
from datetime import date
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.events.analyse._analysed_article import PROFILE_FIELDS, AnalysedArticle
from isogloss.events.article import Article
from isogloss.events.cluster import N_TERMS, Terms
from isogloss.events.link import UnweightedProfile

__all__ = ["from_bytes", "to_bytes"]

_DIGEST = 16
_LENGTH = struct.Struct("<I")
_SMALL = np.dtype("u1")
_LARGE = np.dtype("<f8")
_FLOATS = ("<f4", "<f8")


def to_bytes(article: Article, prepared: AnalysedArticle) -> bytes:
    """What is known of an article, all of which is found for it.

    Examples
    --------
    >>> from isogloss.events.annotate import Annotator
    >>> from isogloss.events.ingest import sample_news
    >>> one, other = sample_news().articles[:2]
    >>> told = to_bytes(one, AnalysedArticle(one, Annotator(), None))
    >>> from_bytes(one, told).profile.title == one.title
    True
    >>> from_bytes(other, told)
    Traceback (most recent call last):
        ...
    ValueError: the bytes are damaged, or of another article; prepare it again
    """
    terms, latent = [*prepared.terms, *prepared.profile.terms], prepared.latent
    counts = np.concatenate([weights for _, weights in terms])
    small = counts.astype(_SMALL)
    exact = np.array_equal(small, counts)
    head = {
        "draft": _plain(prepared.profile),
        "lengths": [len(ids) for ids, _ in terms],
        "small": bool(exact),
        "fingerprint": len(prepared.fingerprint),
        "latent": [len(latent), latent.dtype.str] if latent is not None else None,
    }
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":")).encode()
    arrays = [
        np.concatenate([ids for ids, _ in terms]).astype("<i4"),
        small if exact else counts.astype(_LARGE),
        prepared.fingerprint.astype("<u4"),
        *((latent,) if latent is not None else ()),
    ]
    rest = b"".join([_LENGTH.pack(len(text)), text, *(array.tobytes() for array in arrays)])
    return _digest(article, rest) + rest


def from_bytes(article: Article, data: bytes) -> AnalysedArticle:
    """What is known of an article.

    Raises
    ------
    ValueError
        The bytes are damaged, or were made of another article.
    """
    rest = data[_DIGEST:]
    try:
        if data[:_DIGEST] != _digest(article, rest):
            raise ValueError("another digest")
        (length,) = _LENGTH.unpack_from(rest)
        start = _LENGTH.size + length
        return _read(json.loads(rest[_LENGTH.size : start]), memoryview(rest)[start:])
    except (ValueError, TypeError, KeyError, AttributeError, struct.error) as error:
        raise ValueError("the bytes are damaged, or of another article; prepare it again") from error


def _read(head: dict[str, Any], data: memoryview) -> AnalysedArticle:
    """What the head and the arrays say."""
    lengths = head["lengths"]
    n = sum(lengths)
    ids, data = _array(data, "<i4", n)
    counts, data = _array(data, _SMALL if head["small"] else _LARGE, n)
    fingerprint, data = _array(data, "<u4", head["fingerprint"])
    n_latent, kind = head["latent"] or (0, _FLOATS[0])
    latent, data = _array(data, _FLOATS[_FLOATS.index(kind)], n_latent)
    if (
        len(lengths) != 4
        or min(lengths) < 0
        or len(data)
        or (n and not 0 <= ids.min() <= ids.max() < N_TERMS)
    ):
        raise ValueError("other arrays than an article has")
    weights = counts.astype(np.float64, copy=False)
    spans = pairwise(accumulate(lengths, initial=0))
    parts = [(ids[start:end], weights[start:end]) for start, end in spans]
    return AnalysedArticle.of(
        fingerprint,
        Terms(*parts[:2]),
        _draft(head["draft"], Terms(*parts[2:])),
        None if head["latent"] is None else latent,
    )


def _array(data: memoryview, dtype: Any, n: int) -> tuple[NDArray[Any], memoryview]:
    """The numbers that data begin with, as an array of its own, and what is left."""
    size = n * np.dtype(dtype).itemsize
    return np.frombuffer(data[:size], dtype, n).copy() if n else np.empty(0, dtype), data[size:]


def _plain(draft: UnweightedProfile) -> dict[str, Any]:
    annotated = dict(draft.annotated)
    if "dates" in annotated:
        annotated["dates"] = [day.isoformat() for day in annotated["dates"]]
    told = {name: getattr(draft, name) for name in PROFILE_FIELDS}
    return told | {"day": draft.day.isoformat(), "annotated": annotated}


def _draft(plain: dict[str, Any], terms: Terms) -> UnweightedProfile:
    annotated = plain["annotated"]
    if "dates" in annotated:
        annotated["dates"] = map(date.fromisoformat, annotated["dates"])
    for name in annotated.keys() & {"places", "dates", "numbers"}:
        annotated[name] = tuple(annotated[name])
    return UnweightedProfile(**{**plain, "day": date.fromisoformat(plain["day"])}, terms=terms)


def _digest(article: Article, rest: bytes) -> bytes:
    """Of an article and of what is told of it."""
    told = (article.id, article.lang, article.title, article.body, article.time.isoformat())
    digest = blake2b("\0".join(told).encode("utf-8", "surrogatepass"), digest_size=_DIGEST)
    digest.update(rest)
    return digest.digest()
