"""Training and evaluation of linkers on news with known events.

:func:`train_linker` fits a linker to labelled articles (:class:`LabelledNews`); :func:`find_clusters` and
:func:`find_events` run a whole collection through the pipeline. :func:`bcubed`, :func:`pairwise` and
:func:`monolingual` score groups of articles, :func:`cross_validate_links` scores a linker.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
