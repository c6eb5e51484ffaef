"""Model files: JSON and safetensors, never pickle; and what all who read and write files share.

Opening a model file runs no code from it: it holds numbers, text and the names of public classes of
isogloss, which are constructed with their parameters and given their fitted attributes. A file that is
cut, changed, of a newer format or not a model file at all is refused with
:class:`~isogloss.exceptions.ModelFileError`. The digests inside find damage, not forgery: they tell
nothing about who wrote the file.

============== ================================================================
``models``     save, load and describe a model
``encoding``   values to JSON and tensors
``decoding``   JSON and tensors to values
``classes``    which classes a file may name
``container``  the file: safetensors with a description, and digests
``files``      files of any kind: packed or not, by lines, written whole or not at all
``xml``        XML that may come from anybody
============== ================================================================

The functions are imported when they are first asked for: who reads a file of text needs no models.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isogloss.io.models import describe, load, save

__all__ = ["describe", "load", "save"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from isogloss.io import models

        return getattr(models, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
