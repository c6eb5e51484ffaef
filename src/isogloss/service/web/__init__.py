"""Web pages: rendered on the server, usable without JavaScript, nothing loaded from other hosts.

================  ===========================================================
``pages``         the handlers, by subject
``presentation``  what templates show: cards, filters, links, stories, reports
``drawing``       plots and maps as SVG
``_session``      cookies: token, CSRF, last visit
``_navigation``   the pages that every page links to
``_rendering``    templates, error pages
``_downloads``    links to the tables of a page as files
================  ===========================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
