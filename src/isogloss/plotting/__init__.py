"""Pictures, with matplotlib (install ``isogloss[plot]``). Each function draws and returns what it drew on."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
