"""Online clustering of the articles of one language: terms, weighted vectors, posting lists, repair."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
