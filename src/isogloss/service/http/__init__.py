"""HTTP limits: connections and headers at the protocol, size and number of requests in middleware."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
