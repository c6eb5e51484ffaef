"""Sentence alignment: which sentences of two texts translate each other.

:func:`align_sentences` aligns one document, :func:`align_documents` several that share a lexicon. Both give
:class:`Bead` objects, groups of sentences that correspond, and a :class:`Trust` that says how far to rely on
them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
