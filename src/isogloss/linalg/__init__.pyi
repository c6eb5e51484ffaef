from .centred import CentredOperator as CentredOperator
from .centred import centre_kernel as centre_kernel
from .cg import CGResult as CGResult
from .cg import block_cg as block_cg
from .krylov import krylov_svd as krylov_svd
from .piecewise import PiecewiseSearch as PiecewiseSearch
from .piecewise import top_k_rounded as top_k_rounded
from .psd import (
    Shrinkage as Shrinkage,
)
from .psd import (
    is_psd as is_psd,
)
from .psd import (
    nearest_psd as nearest_psd,
)
from .psd import (
    shrink_to_psd as shrink_to_psd,
)
from .rounded import RoundedVectors as RoundedVectors
from .svd import randomized_eigh as randomized_eigh
from .svd import randomized_svd as randomized_svd
from .topk import TopK as TopK
from .topk import rescore as rescore
from .topk import top_k as top_k
from .topk import top_k_both as top_k_both
from .validation import (
    check_count as check_count,
)
from .validation import (
    check_number as check_number,
)
from .validation import (
    check_symmetric as check_symmetric,
)
from .validation import (
    check_vector as check_vector,
)
from .whitening import Whitening as Whitening
from .whitening import regularise as regularise
from .whitening import whitening_matrix as whitening_matrix
