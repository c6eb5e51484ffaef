"""The worker: reads the journal, makes events, writes them to the tables, and checkpoints the stream."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
