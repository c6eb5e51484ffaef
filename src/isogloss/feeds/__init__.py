"""Feeds: pages of the public internet, fetched within bounds and read without trust.

===============  ==============================================================
``addresses``    which addresses may be connected to
``targets``      which URLs may be asked for
``unpacking``    packed bodies, up to a size
``fetching``     one page, within limits of time, size and place
``scan``         XML looked over before a parser sees it
``syndication``  RSS and Atom
``sitemaps``     sitemaps and news sitemaps
``reader``       both in a child process, with a deadline
``watching``     what is new since the last visit
===============  ==============================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
