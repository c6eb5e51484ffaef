"""Mixture models: Gaussian mixtures by EM, and kernel k-means.

:class:`GaussianMixture` offers full, tied, diagonal and spherical covariances, sparse, incremental and
accelerated EM, missing values, sample weights, streams, and data larger than memory. :class:`KernelKMeans`
clusters in the feature space of any kernel.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
