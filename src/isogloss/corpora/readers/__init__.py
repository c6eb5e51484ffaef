"""Readers of parallel and comparable text: plain files, TMX, JSON lines, Wikipedia dumps."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
