"""Kernels of views, and multi-set CCA in their feature spaces."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
