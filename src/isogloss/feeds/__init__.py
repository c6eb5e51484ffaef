"""Feeds: fetch and parse untrusted pages of the public internet, within limits.

:class:`Watcher` polls feeds and yields the new entries of each as plain records, which
:func:`isogloss.events.parse_article` turns into articles. :class:`Fetcher` is an HTTP client that connects to
public addresses only (``_urls`` is the SSRF guard) and limits time and size. :class:`FeedReader` parses in a
child process with limits on CPU time and memory. Nothing here stores anything; ``isogloss watch`` does.

Errors are :class:`~isogloss.exceptions.FeedError`. Parsing needs the extra ``feeds``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
