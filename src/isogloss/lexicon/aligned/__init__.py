"""Dictionaries from aligned text: headwords with their translations, forms, phrases and examples."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
