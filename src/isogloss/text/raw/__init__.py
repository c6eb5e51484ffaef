"""Raw text: its scripts and spelling, its paragraphs and its sentences.

:func:`split_text` cuts a text into a :class:`SplitText`, :class:`Spelling` normalises it, and
:func:`mixed_scripts` notices a text in two scripts. :func:`isogloss.io.read_text` reads files in any
encoding.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
