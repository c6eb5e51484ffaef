"""What a function gives for words, remembered: most words of an article were seen a moment ago."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["Remembered"]

V = TypeVar("V")


class Remembered(dict[str, V]):
    """Values of a function by word, made when they are first asked for.

    It is a dictionary, so that ``map(remembered.__getitem__, words)`` runs without a call of Python for each
    word.

    Parameters
    ----------
    make : callable
        Gives the value of a word; the same whenever it is asked.
    most : int
        Words after which those that were not asked for in the meantime are forgotten; at most twice as many
        are kept.

    Examples
    --------
    >>> lengths = Remembered(len, 1000)
    >>> list(map(lengths.__getitem__, ["storm", "at", "sea", "at"])), len(lengths)
    ([5, 2, 3, 2], 3)
    """

    def __init__(self, make: Callable[[str], V], most: int) -> None:
        super().__init__()
        self._make, self._most = make, most
        self._older: dict[str, V] = {}

    def __missing__(self, word: str) -> V:
        value = self._older[word] if word in self._older else self._make(word)
        if len(self) >= self._most:
            self._older = dict(self)
            self.clear()
        self[word] = value
        return value
