"""Statistics that add: a model sees its data only through one of these.

Adding a batch, adding what somebody else has seen, and resuming after a stop are the same operation.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
