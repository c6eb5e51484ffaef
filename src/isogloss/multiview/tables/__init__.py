"""Views of the columns of tables: steps of a pipeline, and models that remember their columns."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
