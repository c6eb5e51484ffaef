"""Feeds: pages of the public internet, fetched within bounds and read without trust.

===============  ==============================================================
``addresses``    which addresses may be connected to
``targets``      which URLs may be asked for
``unpacking``    packed bodies, up to a size
``fetching``     one page, within limits of time, size and place
``scan``         XML looked over before a parser sees it
``worker``       a parser in a process of its own, with a deadline
``syndication``  RSS and Atom
``sitemaps``     sitemaps and news sitemaps
``watching``     what is new since the last visit
===============  ==============================================================
"""

from isogloss.feeds.addresses import is_public
from isogloss.feeds.fetching import Fetcher, FetchLimits, Page
from isogloss.feeds.sitemaps import Sitemap, SitemapEntry, parse_sitemap
from isogloss.feeds.syndication import FeedReader, parse_feed
from isogloss.feeds.targets import Target
from isogloss.feeds.watching import FeedState, Visit, Watcher

__all__ = [
    "FeedReader",
    "FeedState",
    "FetchLimits",
    "Fetcher",
    "Page",
    "Sitemap",
    "SitemapEntry",
    "Target",
    "Visit",
    "Watcher",
    "is_public",
    "parse_feed",
    "parse_sitemap",
]
