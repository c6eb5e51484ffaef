"""Tracking: groups linked clusters into events whose ids are stable.

:class:`EventTracker` updates the events of a stream incrementally: constrained agglomeration of clusters by
the probabilities of their links (``_agglomeration``), and follow-ups become events of their own
(``_follow_ups``), under :class:`AgglomerationRules`. Events keep their ids when they grow, merge and split.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
