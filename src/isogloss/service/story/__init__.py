"""The story of an event as the store has it: chapters, related events, coverage, quantities."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
