"""How much a body of JSON would become, before it is parsed.

Eight megabytes of ``{},{},...`` are three million objects, and ten thousand opening brackets are as many
calls of a parser. Both are seen from the bytes alone, at a cost that grows with their number and no more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Outline", "outline"]

_CHUNK = 1 << 16
_STEPS = np.zeros(256, dtype=np.int64)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
_BEGINS = np.isin(np.arange(256), list(b"[{,"))


class Outline(NamedTuple):
    """How deeply JSON is nested, and how many values it has at most."""

    depth: int
    values: int


def outline(body: bytes, max_depth: int | None = None, max_values: int | None = None) -> Outline:
    """Return the outline of JSON in UTF-8; of anything else it is what it would be as JSON.

    Parameters
    ----------
    body : bytes
        The JSON.
    max_depth, max_values : int, optional
        Limits; what comes after one of them is exceeded is not looked at.

    Examples
    --------
    >>> outline(b'{"a": [1, {"b": "[[["}]}')
    Outline(depth=3, values=5)
    """
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    depth = deepest = quotes = values = 0
    for start in range(0, len(plain), _CHUNK):
        part = np.frombuffer(plain[start : start + _CHUNK], dtype=np.uint8)
        seen = quotes + np.cumsum(part == ord('"'))
        outside = seen % 2 == 0
        levels = depth + np.cumsum(np.where(outside, _STEPS[part], 0))
        deepest = max(deepest, int(levels.max()))
        values += int(np.count_nonzero(outside & _BEGINS[part]))
        depth, quotes = int(levels[-1]), int(seen[-1])
        if (max_depth is not None and deepest > max_depth) or (
            max_values is not None and values >= max_values
        ):
            break
    return Outline(deepest, values + 1)
