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
``psd``              repair and proof of positive semi-definiteness
``validation``       checks of arguments, with messages that say what to do
==================== ==================================================================

Samples are rows. All but nearest neighbours and ``krylov`` is computed in float64; float32 input is converted
on entry.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
