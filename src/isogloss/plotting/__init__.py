"""Figures with matplotlib (``pip install 'isogloss[plot]'``).

Each function draws on given or new axes and returns what it drew on.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
