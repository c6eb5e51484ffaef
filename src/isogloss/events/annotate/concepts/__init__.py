"""Concept dictionaries: which concepts a phrase of a language can mean.

:class:`ConceptDictionary` (``_dictionary``) opens one and finds the concepts of a text.
:func:`build_concepts` (``_wikipedia``) makes one from Wikipedia, :func:`build_wordnet_concepts`
(``_wordnets``) from wordnets, and :func:`build_lexicon_concepts` (``_lexicons``) from lexicons or parallel
text.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
