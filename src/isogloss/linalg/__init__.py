"""Linear algebra for data too wide, too sparse or too incomplete for the textbook route.

- Operators: :class:`CentredOperator` multiplies with a centred sparse matrix without filling it in.
- Decompositions: :func:`randomized_svd`, :func:`randomized_eigh`, :func:`krylov_svd`,
  :func:`whitening_matrix`.
- Solvers: :func:`block_cg`, conjugate gradients for many right-hand sides.
- Positive semi-definite matrices: :func:`is_psd`, :func:`nearest_psd`, :func:`shrink_to_psd`.
- Moments of third order: :func:`decompose_tensor`, :func:`project_to_simplex`.
- Nearest neighbours by inner product, in blocks: :func:`top_k`, :func:`top_k_both`, :class:`PiecewiseSearch`.
- Argument checks with helpful messages: ``check_...``.

Samples are rows. Everything except nearest neighbours and ``krylov_svd`` computes in float64; float32 input
is converted on entry.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
