from .binary import (
    BinaryProblem as BinaryProblem,
)
from .binary import (
    MaxCut as MaxCut,
)
from .binary import (
    binary_as_sumcor as binary_as_sumcor,
)
from .binary import (
    max_cut as max_cut,
)
from .cca import CCA as CCA
from .cca import prediction_score as prediction_score
from .certificate import Certificate as Certificate
from .certificate import certify as certify
from .hub import HubCCA as HubCCA
from .kernel import KernelCCA as KernelCCA
from .kernel import KernelSumCor as KernelSumCor
from .maxvar import MaxVar as MaxVar
from .random_projection import RandomProjection as RandomProjection
from .significance import PermutationTest as PermutationTest
from .significance import WilksTest as WilksTest
from .sscor import SSCor as SSCor
from .sumcor import SumCor as SumCor
from .weighting import OptimalWeighting as OptimalWeighting
