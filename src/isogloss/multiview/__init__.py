"""One space from several views: CCA and its multi-set, kernel, hub and certified relatives."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
