"""isogloss: one meaning space from many views, and the same story in every language.

Import from the packages: ``from isogloss.multiview import SumCor``. A package's ``__init__.pyi`` lists its
public names; modules whose names begin with an underscore are private. Packages and names are imported when
they are first used.

- Foundation: :mod:`~isogloss.views`, :mod:`~isogloss.stats`, :mod:`~isogloss.linalg`, :mod:`~isogloss.text`,
  :mod:`~isogloss.corpora`, :mod:`~isogloss.engine`, :mod:`~isogloss.em`, :mod:`~isogloss.io`.
- Models: :mod:`~isogloss.mixture`, :mod:`~isogloss.multiview`, :mod:`~isogloss.factor`,
  :mod:`~isogloss.graphical`, :mod:`~isogloss.sequences`, :mod:`~isogloss.topics`, :mod:`~isogloss.alignment`,
  :mod:`~isogloss.lexicon`, :mod:`~isogloss.similarity`.
- Product: :mod:`~isogloss.events`, :mod:`~isogloss.feeds`, :mod:`~isogloss.store`, :mod:`~isogloss.service`,
  and the command line.
"""

from typing import Any

import lazy_loader

_get_package, __dir__, _packages = lazy_loader.attach_stub(__name__, __file__)
__all__ = ["__version__", *_packages]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # takes as long as the rest of the package

        return version("isogloss")
    return _get_package(name)
