"""Pages as they were written last, for as long as what they show is the same."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

__all__ = ["KeptPages"]


class KeptPages:
    """Texts of pages, each with all that it was written from.

    Who asks has looked at the store already: a page is used again only if it would be written the same.

    Parameters
    ----------
    most : int
        Pages that are kept: the ones that were last asked for.

    Examples
    --------
    >>> pages = KeptPages(most=10)
    >>> pages.text("/", ["rain"], lambda: "<p>rain</p>")
    '<p>rain</p>'
    >>> pages.text("/", ["rain"], lambda: "not written again")
    '<p>rain</p>'
    >>> pages.text("/", ["snow"], lambda: "<p>snow</p>")
    '<p>snow</p>'
    """

    def __init__(self, most: int = 64) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._pages: OrderedDict[Hashable, tuple[object, str]] = OrderedDict()

    def text(self, name: Hashable, shown: object, write: Callable[[], str]) -> str:
        """A page that shows something: as it was written before, or else as it is written now.

        Parameters
        ----------
        name : hashable
            What tells the page from others.
        shown : object
            All that the page is written from besides its name; it must not be changed afterwards.
        write : callable
            Gives the text.
        """
        kept = self._pages.get(name)
        text = kept[1] if kept is not None and kept[0] == shown else write()
        with self._lock:
            self._pages[name] = shown, text
            self._pages.move_to_end(name)
            while len(self._pages) > self.most:
                self._pages.popitem(last=False)
        return text
