"""Feeds: fetch and parse untrusted pages of the public internet, within limits.

:class:`Watcher` visits feeds and sitemaps regularly and returns new entries. :class:`Fetcher` downloads one
page within :class:`FetchLimits` of time, size and address. :class:`FeedReader` parses in a child process with
a deadline; :func:`parse_feed` and :func:`parse_sitemap` parse in this one, after the XML was scanned for
attacks.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
