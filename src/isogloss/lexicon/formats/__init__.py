"""Files of a dictionary from aligned text: tables, JSON lines, TEI, LIFT and StarDict."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
