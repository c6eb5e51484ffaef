"""Models of many languages on disk, with rounded projectors that are mapped into memory."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
