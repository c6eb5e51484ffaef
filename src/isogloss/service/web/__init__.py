"""The web pages: rendered on the server, usable without scripts, nothing loaded from other hosts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
