"""Model files: JSON and safetensors, never pickle; and what all who read and write files share.

Opening a model file runs no code from it: it holds numbers, text and the names of public classes of
isogloss, which are constructed with their parameters and given their fitted attributes. A file that is
cut, changed, of a newer format or not a model file at all is refused with
:class:`~isogloss.exceptions.ModelFileError`. The digests inside find damage, not forgery: they tell
nothing about who wrote the file.

=================== ================================================================
``models``          save, load and describe a model
``encoding``        values to JSON and tensors
``decoding``        JSON and tensors to values
``classes``         which classes a file may name
``container``       the file: safetensors with a description, and digests
``files``           open files of any kind, compressed or not; write them whole or not at all
``lines``           read files by lines
``terminal``        text without what a terminal would obey
``xml``             XML that may come from anybody
``parser_process``  parsers of untrusted files in a child process
=================== ================================================================

The functions are imported when they are first asked for: who reads a file of text needs no models.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
