"""From links to events: constrained agglomeration, and event ids that stay while events change."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
