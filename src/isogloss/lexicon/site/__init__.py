"""A dictionary as a static site: pages, one script, and data that the script loads; no server, no network."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
