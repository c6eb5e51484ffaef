"""Reading articles: files, folders and web archives, near-duplicates, and a quarantine for bad records."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
