"""Sequence models: hidden Markov models and n-gram language models.

:class:`DiscreteHMM` learns by EM, with missing symbols and partly known states; :class:`SpectralHMM` learns
from moments that add, which can also start EM. :class:`NgramModel` counts n-grams and smooths them
(Kneser-Ney by default); :func:`read_arpa` and :func:`write_arpa` exchange models with other programs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
