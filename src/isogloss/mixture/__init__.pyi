from ._covariance import SHAPES as SHAPES
from ._gaussian import EMVariants as EMVariants
from ._gaussian import GaussianMixture as GaussianMixture
from ._kernel_kmeans import KernelKMeans as KernelKMeans
from ._start import summarise as summarise
from ._steps import MixtureParameters as MixtureParameters
from ._steps import log_joint as log_joint
from ._steps import mixture_model as mixture_model
