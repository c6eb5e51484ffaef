"""Model files, and the file handling that other packages share.

:func:`save`, :func:`load` and :func:`describe` work on model files: JSON and safetensors in one file, never
pickle. Opening a model file runs no code from it. It holds numbers, text and the names of public classes of
isogloss, which are constructed with their parameters and given their fitted attributes. A file that is
truncated, modified, of a newer format or not a model file raises
:class:`~isogloss.exceptions.ModelFileError`. The digests inside detect damage, not forgery: they say nothing
about who wrote the file.

The rest reads compressed files and lines (:func:`open_decompressed`, :func:`read_lines`), writes files
atomically (:func:`atomic_write`), reads untrusted XML (:class:`XmlReader`), runs parsers in a child process
(:class:`ParserProcess`) and strips control characters for terminals (:func:`strip_controls`).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
