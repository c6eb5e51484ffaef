"""Word alignment: which words of two sentences translate each other.

:class:`Aligner` trains on sentence pairs and aligns text; :class:`Links` holds its output,
:func:`score_links` evaluates it and :class:`AlignmentPicture` draws it. :class:`Bitext` keeps a corpus in
memory or on disk, and :class:`Priors` holds known translations.

- ``models``: IBM Models 1-5 and the HMM as EM steps, with their tables, priors and schedule.
- ``decoding``: from posteriors to links; symmetrisation of the two directions.
- ``sentences``: which sentences of two texts correspond, for text that is not aligned yet.
- ``formats``: files of links, tables and priors; pictures.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
