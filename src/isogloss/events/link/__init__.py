"""Links between clusters: which clusters, mostly of different languages, tell one story.

:class:`CandidateIndex` finds candidate articles (algorithm 7.1 of the thesis), ``_features`` computes the
features of a pair of clusters from their profiles (section 7.2), and :class:`Linker` turns features into a
probability. :class:`LinkState` keeps profiles and links up to date while clusters change. To add a feature,
extend ``FEATURES`` and ``feature_rows`` in ``_features`` and train the linker again (``isogloss link train``;
``docs/design/architecture.rst`` has all steps). :func:`explain_link` gives the
strongest reasons in words, and the contribution of each feature.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
