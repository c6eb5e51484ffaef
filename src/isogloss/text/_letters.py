"""Fast tests for letters of some kind in a text, without a loop in Python."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from isogloss.kernels import letter_kinds

_TABLE_CHARS = 1 << 18
"""Characters of tables; none beyond belongs to a word."""


def matching_letters(pattern: re.Pattern[str]) -> NDArray[np.uint8]:
    """For each character, whether a pattern of ranges of characters matches it.

    Examples
    --------
    >>> np.flatnonzero(matching_letters(re.compile("[a-c]+")))
    array([97, 98, 99])
    """
    table = np.zeros(_TABLE_CHARS, np.uint8)
    for run in pattern.finditer("".join(map(chr, range(_TABLE_CHARS)))):
        table[run.start() : run.end()] = 1
    return table


def has_letters(text: str, table: NDArray[np.uint8]) -> bool:
    """Return whether a text has one of the characters of a table, none of which is ASCII.

    Examples
    --------
    >>> cyrillic = matching_letters(re.compile("[а-я]+"))
    >>> has_letters("a storm", cyrillic), has_letters("a шторм", cyrillic)
    (False, True)
    """
    return not text.isascii() and letter_kinds(text, table) > 0
