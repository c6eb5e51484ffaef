"""Solvers of multi-set CCA: block coordinate ascent, Horst's algorithm, matrix-free ascents, hub CCA."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
