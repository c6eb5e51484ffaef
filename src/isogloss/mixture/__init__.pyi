from .gaussian import GaussianMixture as GaussianMixture
from .kernel_kmeans import KernelKMeans as KernelKMeans
