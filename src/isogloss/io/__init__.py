"""Model files: one file per model, JSON and safetensors, never pickle.

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
``container``  the file: safetensors with a description, digests, atomic writes
============== ================================================================
"""

from isogloss.io.models import describe, load, save

__all__ = ["describe", "load", "save"]
