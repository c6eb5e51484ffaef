"""What templates show, prepared from rows of the store: no requests, no queries.

===============  ============================================================
``_event_list``  cards of events, filters, facets
``_links``       the links between the clusters of an event, and why
``_story``       chapters, quantities, related events and coverage of an event
``_reports``     the evaluation of a model
===============  ============================================================
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
