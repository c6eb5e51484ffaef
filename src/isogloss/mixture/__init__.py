"""Mixtures: Gaussian mixtures by EM and its variants, and k-means in a kernel's feature space."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
