"""Fitting of document models: weighted blocks of rows, the steps of hub CCA, plans of time and memory."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
