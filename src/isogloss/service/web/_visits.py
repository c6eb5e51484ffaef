"""The last visit of a reader: where the journal stood then, in a cookie.

The cookie has two journal lines with their times and nothing else: those of the last visit, and those of the
latest page of this visit. A visit ends half an hour after its last page. Nothing is stored on the server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

VISIT_COOKIE = "isogloss_visit"
VISIT_COOKIE_DAYS = 180
VISIT_GAP_S = 30 * 60
"""Seconds without a page after which a visit has ended."""

_FORMAT = re.compile(r"([0-9]{1,18})\.([0-9]{1,12})\.([0-9]{1,18})\.([0-9]{1,12})", re.ASCII)


@dataclass(frozen=True)
class Visits:
    """The last visit of a reader and the present one.

    Attributes
    ----------
    last_line, last_time : int
        The journal line that the reader saw last before this visit, and when, in seconds since 1970. The time
        is 0 if there was no earlier visit.
    line, time : int
        The same of the latest page.

    Examples
    --------
    >>> first = Visits.parse("").at(line=7, now=1000)
    >>> str(first), first.is_first
    ('0.0.7.1000', True)
    >>> str(first.at(line=9, now=1600))
    '0.0.9.1600'
    >>> later = Visits.parse("0.0.9.1600").at(line=20, now=90_000)
    >>> str(later), later.is_first
    ('9.1600.20.90000', False)
    """

    last_line: int = 0
    last_time: int = 0
    line: int = 0
    time: int = 0

    @classmethod
    def parse(cls, cookie: str) -> Self:
        """Parse the value of the cookie; one that is invalid is as good as none."""
        found = _FORMAT.fullmatch(cookie)
        return cls(*map(int, found.groups())) if found else cls()

    def __str__(self) -> str:
        return f"{self.last_line}.{self.last_time}.{self.line}.{self.time}"

    @property
    def is_first(self) -> bool:
        """Whether there was no earlier visit."""
        return self.last_time == 0

    def at(self, *, line: int, now: int) -> Visits:
        """Return the visits after a page that shows the journal up to a line.

        Lines beyond that are of another store, which this reader has not visited.
        """
        if max(self.last_line, self.line) > line or self.time > now:
            return Visits(line=line, time=now)
        if now - self.time > VISIT_GAP_S:
            return Visits(self.line, self.time, line, now)
        return Visits(self.last_line, self.last_time, line, now)
