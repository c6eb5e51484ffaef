"""Search: events by free text, events by title, and the articles nearest to a text.

``EventSearch`` merges the rankings of the ``NeighbourIndex`` of articles and the ``TitleIndex`` of events.
``resolve_terms`` turns the languages, places and concepts of a query into the ids of the store.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
