"""isogloss: one meaning space from many views, and the same story in every language.

Sub-packages and their public names are imported when they are first used.
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
