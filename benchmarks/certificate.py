"""Bound on the optimum of multi-set CCA, 5 views x 50 features: certify and SDPA; larger ones in details.

The peers minimise sum(lambda_i) subject to blkdiag(lambda_i I) - A being positive semi-definite (SDPA),
or maximise Tr(AX) (cvxpy with SCS). Accuracy is the distance of each bound, repaired until the same proof
accepts it, from the value of a feasible solution, relative to it. Ours is proven and includes the
rounding of its proof.

Details, one run each: SCS on the same problem; SDPA and us on 1,000 features; us on 10,000; and SumCor with
its certificate on sparse views with 100,000 features in all, with the peak of memory: of 3,000 rows, where
the bound is proven in the span of the rows, and of 12,000, where it is numerical.
"""

from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular
from threadpoolctl import threadpool_limits

from benchmarks.harness import Result, compare, measure_seconds, need, peak_extra_mb
from isogloss.linalg import is_psd
from isogloss.multiview import Certificate, SumCor, certify
from isogloss.multiview.certificates import Slack, as_quadratic_form

VIEWS = 5
LARGE = 10_000
FEW_ROWS, MANY_ROWS = 3_000, 12_000
SPARSE_FEATURES, SPARSE_DENSITY, RIDGE = (40_000, 30_000, 30_000), 0.003, 0.1

Array = NDArray[np.float64]


def main() -> Result:
    """Compare them."""
    sdpap, cvxpy = need("sdpap", package="sdpa-python"), need("cvxpy")
    need("scs")
    A = whitened_views(50)
    value = ours(A).value
    details: dict[str, Any] = {"views": VIEWS, "features": len(A), "value": value}
    with threadpool_limits(limits=1):
        details["scs"] = beside(A, lambda: solve_scs(cvxpy, A))
        details["sdpa_1000"] = beside(B := whitened_views(200), lambda: solve_sdpa(sdpap, B))
        details["ours_10000"] = alone(whitened_views(LARGE // VIEWS))
        details["sparse_100000"] = sparse_bound(FEW_ROWS)
        details["sparse_100000_numerical"] = sparse_bound(MANY_ROWS)
    return compare(
        "certificate",
        ours=lambda: ours(A).bound,
        peer=lambda: solve_sdpa(sdpap, A),
        peer_name=f"SDPA, sdpa-python {version('sdpa-python')}",
        accuracy=lambda bound: (bound - value) / value,
        accuracy_of_peer=lambda bound: (bound - value) / value,
        details=details,
    )


def ours(A: Array) -> Certificate:
    """The whole certificate, of a matrix that is known to be whitened."""
    return certify(A, [len(A) // VIEWS] * VIEWS, whitened=True, random_state=0)


def beside(A: Array, peer: Any) -> dict[str, float]:
    """Both once more (the first time warms up), with their bounds."""
    certificate, bound = ours(A), peer()
    mine, theirs = min(measure_seconds(lambda: ours(A)) for _ in range(3)), measure_seconds(peer)
    return {
        "ours_cpu": mine[0],
        "peer_cpu": theirs[0],
        "ours_wall": mine[1],
        "peer_wall": theirs[1],
        "times_faster": theirs[0] / mine[0],
        "ours_gap": certificate.gap,
        "peer_gap": (bound - certificate.value) / certificate.value,
    }


def alone(A: Array) -> dict[str, Any]:
    """Time and outcome of our certificate."""
    kept: list[Certificate] = []
    cpu, wall = measure_seconds(lambda: kept.append(ours(A)))
    c = kept[0]
    return {
        "cpu": cpu,
        "wall": wall,
        "gap": c.gap,
        "kind": c.kind,
        "optimal": c.globally_optimal,
        "rank": c.rank,
    }


def whitened_views(features: int) -> Array:
    """A of views that share a weak signal, from three rows per feature."""
    rng = np.random.default_rng(0)
    rows = 3 * features
    signal = rng.standard_normal((rows, 5)) * features**0.25
    blocks = []
    for _ in range(VIEWS):
        X = rng.standard_normal((rows, features)) + signal @ rng.standard_normal((5, features)) * rng.uniform(
            0.1, 0.3
        )
        blocks.append(solve_triangular(cholesky(X.T @ X, lower=True), X.T, lower=True))
    Q = np.vstack(blocks)
    A = Q @ Q.T
    for i in range(VIEWS):
        A[i * features : (i + 1) * features, i * features : (i + 1) * features] = np.eye(features)
    return A


def solve_sdpa(sdpap: Any, A: Array) -> float:
    """Dual bound of SDPA, its multipliers raised until they are feasible."""
    n = len(A)
    columns = np.repeat(np.arange(VIEWS), n // VIEWS)
    lift = sparse.csc_matrix((np.ones(n), (np.arange(n) * (n + 1), columns)), shape=(n * n, VIEWS))
    cones = sdpap.SymCone(f=VIEWS), sdpap.SymCone(s=(n,))
    ones = sparse.csc_matrix(np.ones((VIEWS, 1)))
    x, *_ = sdpap.solve(lift, sparse.csc_matrix(A.reshape(-1, 1)), ones, *cones, {"print": "no"})
    return repaired(A, np.asarray(x.todense()).ravel())


def solve_scs(cvxpy: Any, A: Array) -> float:
    """The same by cvxpy and SCS on the primal, with multipliers from its dual variables."""
    n = len(A)
    X = cvxpy.Variable((n, n), PSD=True)
    owner = np.repeat(np.eye(VIEWS), n // VIEWS, axis=0)
    unit = owner.T @ cvxpy.diag(X) == np.ones(VIEWS)
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.trace(A @ X)), [unit])
    problem.solve(solver="SCS", eps=1e-7)
    return repaired(A, np.abs(unit.dual_value))


def repaired(A: Array, multipliers: Array) -> float:
    """Sum of multipliers after the smallest shift for which they are proven feasible, as ours are.

    Costs a factorisation or two and an eigenvalue, little beside the solver.
    """
    S = np.diag(np.repeat(multipliers, len(A) // VIEWS)) - A
    if is_psd(S, tol=0.0):
        return float(multipliers.sum())
    slack = Slack(as_quadratic_form(A, [len(A) // VIEWS] * VIEWS, dense_limit=len(A)), multipliers)
    return slack.bound(slack.smallest(np.random.RandomState(0))).bound


def sparse_bound(rows: int) -> dict[str, Any]:
    """SUMCOR of sparse views and its certificate, and the memory that both take beyond the views."""
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 50, rows)
    views = [topical_words(topic, p, rng) for p in SPARSE_FEATURES]
    kept: list[dict[str, Any]] = []
    peak = peak_extra_mb(lambda: kept.append(fit_and_certify(views)))
    return {"peak_mb": peak, "features": sum(SPARSE_FEATURES), "rows": rows, **kept[0]}


def fit_and_certify(views: list[sparse.csr_array]) -> dict[str, Any]:
    """CPU and wall seconds of both, and the outcome."""
    model = SumCor(1, ridge=RIDGE, solver="operator", tol=1e-8, random_state=0)
    fit_cpu, fit_wall = measure_seconds(lambda: model.fit(views))
    kept: list[Certificate] = []
    cpu, wall = measure_seconds(lambda: kept.append(model.certificate_))
    c = kept[0]
    outcome = {"gap": c.gap, "kind": c.kind, "rank": c.rank, "bound": c.bound, "directions": sum(c.blocks)}
    return {"fit_cpu": fit_cpu, "fit_wall": fit_wall, "cpu": cpu, "wall": wall, **outcome}


def topical_words(topic: NDArray[np.int64], features: int, rng: Any) -> sparse.csr_array:
    """Counts of words, half of them from the part of the vocabulary of the row's topic."""
    words = int(features * SPARSE_DENSITY)
    rows = np.repeat(np.arange(len(topic)), words)
    part = features // 50
    common = rng.integers(0, features, len(rows))
    own = topic[rows] * part + rng.integers(0, part, len(rows))
    columns = np.where(rng.random(len(rows)) < 0.5, common, own)
    return sparse.csr_array((np.full(len(rows), words**-0.5), (rows, columns)), shape=(len(topic), features))
