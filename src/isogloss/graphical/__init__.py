"""Bayesian networks over discrete variables.

:class:`BayesianNetwork` is a graph (:class:`Structure`) with a :class:`CPD` per :class:`Variable`.
:func:`explain` and :func:`d_separated` answer questions about independence.

- ``inference``: :class:`Inference` for exact queries, one or many rows at a time; sampling.
- ``learning``: :class:`NetworkLearner` (counting and EM), naive Bayes, Bernoulli mixtures, scores, Chow-Liu
  trees.
- ``formats``: BIF, XMLBIF and JSON files.
- ``drawing``: :class:`NetworkPicture` as text, SVG, HTML and LaTeX.

Sequence models are in :mod:`isogloss.sequences`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
