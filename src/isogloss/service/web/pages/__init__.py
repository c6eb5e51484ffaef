"""The pages by subject, each group as a router with its handlers.

==============  =============================================================
``_events``     the Now page, one event, verdicts, live changes
``_search``     search and saved searches
``_overviews``  sources and feeds; a place, a concept, a source
``_alerts``     the form that makes an alert
``_texts``      comparison, topics, dictionary
``_system``     models, status, the API, sign-in, static files
==============  =============================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
