"""Files: model files, atomic writes, compressed reads, and parsers for untrusted input.

:func:`save`, :func:`load` and :func:`describe` handle model files (JSON and safetensors, never pickle):
``_encoding`` and ``_decoding`` convert values, ``_classes`` decides which classes a file may name, and
``_container`` is the file itself. Loading a model runs no code from the file: it holds numbers, text and
names of public classes of isogloss. Damaged or newer files raise
:class:`~isogloss.exceptions.ModelFileError`; the digests detect damage, not forgery.

For everybody who reads or writes files: :func:`open_decompressed`, :func:`read_lines`, :func:`atomic_write`.
For untrusted input: :class:`ParserProcess`, :class:`XmlReader`, :func:`strip_controls`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
