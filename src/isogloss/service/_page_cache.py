"""A cache of rendered pages."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable


class PageCache:
    """A bounded cache of rendered pages, each with the content that it was rendered from.

    The caller has read the content from the store; the cache saves only the rendering. The most recently used
    pages are kept.

    Examples
    --------
    >>> cache = PageCache(max_pages=10)
    >>> cache.get("/", ["rain"], lambda: "<p>rain</p>")
    '<p>rain</p>'
    >>> cache.get("/", ["rain"], lambda: "not rendered again")
    '<p>rain</p>'
    >>> cache.get("/", ["snow"], lambda: "<p>snow</p>")
    '<p>snow</p>'
    """

    def __init__(self, max_pages: int = 64) -> None:
        self.max_pages = max_pages
        self._lock = threading.Lock()
        self._pages: OrderedDict[Hashable, tuple[object, str]] = OrderedDict()

    def get(self, key: Hashable, content: object, render: Callable[[], str]) -> str:
        """Return a page from the cache, or render it if its content has changed.

        The content is everything else than the key that the page depends on; it must not be changed
        afterwards.
        """
        cached = self._pages.get(key)
        page = cached[1] if cached is not None and cached[0] == content else render()
        with self._lock:
            self._pages[key] = content, page
            self._pages.move_to_end(key)
            while len(self._pages) > self.max_pages:
                self._pages.popitem(last=False)
        return page
