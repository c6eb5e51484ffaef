"""Corpora, similarity models and concept dictionaries from Wikipedia: find, download and read its dumps.

:func:`build` does everything with dumps on disk, and continues after interruptions; :class:`Mirror` finds and
downloads dumps; :func:`plan_build` estimates time, disk and memory before.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
