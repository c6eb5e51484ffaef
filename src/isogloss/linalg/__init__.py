"""Linear algebra for data too wide, too sparse or too incomplete for the textbook route.

==================== ==================================================================
``centred``          products with X − 1μ' that leave a sparse X sparse; kernel centring
``svd``              randomised SVD and eigenvectors of anything that can be multiplied
``krylov``           block Krylov SVD, in single precision where the matrix is
``whitening``        W with W'((1 − κ)C + κI)W = I, and the rank that was found
``cg``               conjugate gradients for many right-hand sides at once
``topk``             exact nearest neighbours by inner product, blocked, both ways
``rounded``          vectors rounded to bytes, whose inner products are cheap
``piecewise``        nearest neighbours among targets that come in pieces, or as bytes
``threads``          threads over blocks, with BLAS held to one
``psd``              repair and proof of positive semi-definiteness
``validation``       checks of arguments, with messages that say what to do
==================== ==================================================================

Samples are rows. All but nearest neighbours and ``krylov`` is computed in float64; float32 input is converted
on entry.
"""

from isogloss.linalg.centred import CentredOperator, centre_kernel
from isogloss.linalg.cg import CGResult, block_cg
from isogloss.linalg.krylov import krylov_svd
from isogloss.linalg.piecewise import PiecewiseSearch, top_k_rounded
from isogloss.linalg.psd import Shrinkage, is_psd, nearest_psd, shrink_to_psd
from isogloss.linalg.rounded import RoundedVectors
from isogloss.linalg.svd import randomized_eigh, randomized_svd
from isogloss.linalg.threads import count_threads, map_threads, one_thread
from isogloss.linalg.topk import TopK, rescore, top_k, top_k_both
from isogloss.linalg.validation import check_count, check_number, check_symmetric, check_vector
from isogloss.linalg.whitening import Whitening, regularise, whitening_matrix

__all__ = [
    "CGResult",
    "CentredOperator",
    "PiecewiseSearch",
    "RoundedVectors",
    "Shrinkage",
    "TopK",
    "Whitening",
    "block_cg",
    "centre_kernel",
    "check_count",
    "check_number",
    "check_symmetric",
    "check_vector",
    "count_threads",
    "is_psd",
    "krylov_svd",
    "map_threads",
    "nearest_psd",
    "one_thread",
    "randomized_eigh",
    "randomized_svd",
    "regularise",
    "rescore",
    "shrink_to_psd",
    "top_k",
    "top_k_both",
    "top_k_rounded",
    "whitening_matrix",
]
