"""Web pages: rendered on the server, usable without JavaScript, nothing loaded from other hosts.

===============  ============================================================
``_events``      list of events, one event, verdicts
``_overviews``   sources and feeds; a place, a concept, a source
``_alerts``      the form that makes an alert
``_texts``       search, comparison, topics, dictionary
``_system``      models, status, the API, sign-in, static files
``_session``     cookies: token, CSRF, last visit
``_navigation``  the pages that every page links to
``_rendering``   templates, error pages
``drawing``      plots and maps as SVG
===============  ============================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
