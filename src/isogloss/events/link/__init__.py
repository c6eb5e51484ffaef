"""Links between clusters of different languages: candidates, features, the linker and its explanations."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
