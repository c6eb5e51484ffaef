"""What a dictionary is called, whose languages it is of, and how it was made."""

from __future__ import annotations

import dataclasses
import unicodedata
from collections.abc import Iterable
from itertools import islice

_SAMPLE = 20_000


@dataclasses.dataclass(frozen=True)
class SiteLanguage:
    """A language: its code, which names its folder, its name and the direction of its script."""

    code: str
    name: str
    direction: str = "ltr"


@dataclasses.dataclass(frozen=True)
class Description:
    """What pages and files say about a dictionary."""

    title: str
    source: SiteLanguage
    target: SiteLanguage
    date: str
    """Day on which it was made, as 2026-02-28."""
    facts: tuple[tuple[str, str], ...] = ()
    """Names and values for the page about the dictionary: texts, counts, options."""
    warnings: tuple[str, ...] = ()
    """Sentences about the text that a reader should know."""

    @property
    def heading(self) -> str:
        """The title and the direction."""
        return f"{self.title}: {self.source.name} \u2013 {self.target.name}"

    def swapped(self) -> Description:
        """Source and target exchanged."""
        return dataclasses.replace(self, source=self.target, target=self.source)


def direction_of(texts: Iterable[str]) -> str:
    """The direction of most letters of a text: ltr or rtl.

    Examples
    --------
    >>> direction_of(["the house"]), direction_of(["בראשית (en)"])
    ('ltr', 'rtl')
    """
    letters = islice((c for text in texts for c in text if c.isalpha()), _SAMPLE)
    kinds = [unicodedata.bidirectional(letter) in ("R", "AL") for letter in letters]
    return "rtl" if sum(kinds) * 2 > len(kinds) else "ltr"
