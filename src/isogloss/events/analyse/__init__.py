"""Analysis of articles ahead of the stream, in this process or in a pool of processes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
