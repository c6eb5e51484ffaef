"""One space from several views: CCA and its multi-set, kernel, hub and certified relatives."""

from isogloss.multiview.binary import BinaryProblem, MaxCut, binary_as_sumcor, max_cut
from isogloss.multiview.cca import CCA, prediction_score
from isogloss.multiview.certificate import Certificate, certify
from isogloss.multiview.hub import HubCCA
from isogloss.multiview.kernel import KernelCCA, KernelSumCor
from isogloss.multiview.maxvar import MaxVar
from isogloss.multiview.random_projection import RandomProjection
from isogloss.multiview.significance import PermutationTest, WilksTest
from isogloss.multiview.sscor import SSCor
from isogloss.multiview.sumcor import SumCor
from isogloss.multiview.weighting import OptimalWeighting

__all__ = [
    "CCA",
    "BinaryProblem",
    "Certificate",
    "HubCCA",
    "KernelCCA",
    "KernelSumCor",
    "MaxCut",
    "MaxVar",
    "OptimalWeighting",
    "PermutationTest",
    "RandomProjection",
    "SSCor",
    "SumCor",
    "WilksTest",
    "binary_as_sumcor",
    "certify",
    "max_cut",
    "prediction_score",
]
