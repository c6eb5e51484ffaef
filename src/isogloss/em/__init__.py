"""The one EM loop. Models hand it their steps; it owns stopping, checks, acceleration and the trace."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
