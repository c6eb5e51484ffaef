"""Search: events by free text, and the articles nearest to a text.

``EventSearch`` judges events by the words, names, places, concepts and the meaning of a query.
``parse_query`` reads quoted phrases and what a minus excludes. ``event_query`` and ``resolve_terms`` turn
filters into the terms of the store. ``evaluate_search`` scores a search with labelled queries.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
