"""Annotations of a text that do not depend on its language: names, places, dates, numbers, keywords, concepts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
