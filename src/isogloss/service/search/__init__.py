"""Search: events by free text and by title, and the articles nearest to a text."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
