"""Places named in text: countries, capitals and large cities, in many languages and scripts."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
