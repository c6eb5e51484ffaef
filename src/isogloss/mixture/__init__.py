"""Mixtures: Gaussian mixtures by EM and its variants, and k-means in a kernel's feature space."""

from isogloss.mixture.gaussian import GaussianMixture
from isogloss.mixture.kernel_kmeans import KernelKMeans

__all__ = ["GaussianMixture", "KernelKMeans"]
