"""Readers of text in several languages, and comparable corpora made from it.

==============  ===================================================================
``parallel``    two files, columns, fast_align's bars, zip archives
``tmx``         translation memories
``records``     documents: JSON lines, line-aligned text
``wikipedia``   documents: dumps of Wikipedia
``langlinks``   which articles are about the same thing
``building``    from documents to a comparable corpus on disk
``comparable``  comparable corpora in memory and on disk
``checking``    what makes a pair bad, and an account of the bad ones
==============  ===================================================================

A name is imported when it is first asked for: readers of files need nothing of what makes corpora.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
