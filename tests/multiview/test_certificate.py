"""No false certificate, a bound that holds, and clear words about bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from experiments._sumcor_problems import GENERATORS, random_problem
from isogloss.multiview import Certificate, certify
from isogloss.multiview.certificates import Blocks, QuadraticForm
from isogloss.multiview.certificates import _dual as dual
from tests.oracles.sumcor import brute_force, starting_points


def check_instances(seed, count, n_starts):
    """Judge the best solution and a local one of many problems by brute force; count the verdicts."""
    rng = np.random.default_rng(seed)
    verdicts = {True: 0, False: 0}
    for t in range(count):
        kind, m = GENERATORS[t % 3], int(rng.integers(2, 6))
        sizes = rng.integers(1, 4, m).tolist() if t % 2 else [int(rng.integers(1, 4))] * m
        A = random_problem(kind, sizes, rng)
        best = brute_force(A, sizes, rng, n_starts)
        where = f"{kind} {sizes} instance {t} of seed {seed}"
        start = starting_points(sizes, rng, 1)[:, 0]
        for certificate in (certify(A, sizes, random_state=0), certify(A, sizes, climb(A, sizes, start))):
            assert certificate.kind == "proven", where
            assert certificate.bound >= best - 1e-9, where
            assert certificate.value <= best + 1e-9, where
            assert certificate.rounded_value <= best + 1e-9, where
            if certificate.globally_optimal:
                assert certificate.value >= best - 1.01 * certificate.tol * best, where
                if certificate.rank == 1:
                    assert certificate.rounded_value == pytest.approx(best, rel=1e-9), where
            verdicts[certificate.globally_optimal] += 1
    return verdicts


def climb(A, sizes, x, sweeps=200):
    """Where Horst's iteration leads from x: now and then a local optimum."""
    ends, x = np.cumsum(sizes), x.copy()
    for _ in range(sweeps):
        for s, e in zip(sizes, ends, strict=True):
            pull = A[e - s : e] @ x - x[e - s : e]
            x[e - s : e] = pull / np.linalg.norm(pull)
    return x


def test_no_false_certificate():
    verdicts = check_instances(seed=1, count=100, n_starts=100)
    assert min(verdicts.values()) > 5


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 14))
def test_no_false_certificate_in_thousands(seed):
    check_instances(seed, count=1500, n_starts=600)


def test_the_solution_found_is_the_best_one(rng):
    for t in range(60):
        sizes = [1 + t % 3] * (3 + t % 3)
        A = random_problem(GENERATORS[t % 3], sizes, rng)
        assert certify(A, sizes, random_state=0).value == pytest.approx(brute_force(A, sizes, rng), rel=1e-8)


def tied(delta, m=3):
    """Two optima of m views: all first features, and delta below it per pair, all second features."""
    core = np.ones((m, m)) - np.eye(m)
    A = np.kron(core, np.diag([0.5, 0.5 - delta])) + np.eye(2 * m)
    return A, [2] * m, np.tile([1.0, 0.0], m), np.tile([0.0, 1.0], m)


@pytest.mark.parametrize("delta", [1e-2, 1e-4, 1e-5, 3e-6])
def test_near_ties_are_ordered_correctly(delta):
    A, sizes, best, second = tied(delta)
    assert certify(A, sizes, best).globally_optimal
    certificate = certify(A, sizes, second)
    assert not certificate.globally_optimal
    assert certificate.rounded_value == pytest.approx(6.0, rel=1e-9)
    assert certificate.gap == pytest.approx(6 * delta / 6, rel=1e-3)


@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-12])
def test_ties_below_the_tolerance_are_both_optimal(delta):
    A, sizes, best, second = tied(delta)
    assert certify(A, sizes, best).globally_optimal
    assert certify(A, sizes, second).globally_optimal
    assert certify(A, sizes, best, tol=1e-10).globally_optimal


def lying_lanczos(product, n, rng, *, tol):
    """An eigensolver that missed the end of the spectrum, as a bare Lanczos run can."""
    vector = np.eye(n, 1)
    return float(product(vector)[0, 0]), vector


def test_a_false_eigenvalue_gives_no_false_certificate(rng, monkeypatch):
    A, sizes = random_problem("gram", [1] * 130, rng), [1] * 130
    honest = certify(A, sizes, random_state=0)
    poor = np.ones(130)
    monkeypatch.setattr(dual, "_lanczos", lying_lanczos)
    deceived = certify(A, sizes, poor)
    assert deceived.value < honest.value
    assert deceived.bound >= honest.value
    assert deceived.kind == "proven"
    assert not deceived.globally_optimal


def test_an_eigensolver_that_does_not_converge_gets_more_vectors(rng, monkeypatch):
    asked, eigsh = [], dual.eigsh

    def stubborn(operator, **options):
        asked.append(options["ncv"])
        if len(asked) < 2:
            raise dual.ArpackNoConvergence("no convergence", np.empty(0), np.empty((0, 0)))
        return eigsh(operator, **options)

    monkeypatch.setattr(dual, "eigsh", stubborn)
    values = np.arange(300.0)
    largest, _ = dual._lanczos(lambda u: values[:, None] * u, 300, rng, tol=1e-6)
    assert largest == pytest.approx(299)
    assert asked[1] > asked[0]


def test_an_eigenpair_that_is_not_the_smallest_proves_nothing():
    """The second optimum of a tie is an exact eigenvector of its own S, which is not semi-definite."""
    A, sizes, best, second = tied(0.1, m=60)
    form = QuadraticForm(Blocks(sizes), A)
    slack = dual.Slack(form, form.blocks.inner(second[:, None], form(second[:, None])))
    seen = dual.Eigenpair(0.0, second[:, None] / np.sqrt(60), residual=0.0)
    proven = slack.bound(seen)
    assert proven.kind == "proven"
    assert proven.shift > 5
    assert proven.bound >= best @ A @ best


@given(seed=st.integers(0, 10_000), sizes=st.lists(st.integers(1, 4), min_size=2, max_size=5))
def test_the_bound_holds_for_any_symmetric_matrix(seed, sizes):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((sum(sizes), sum(sizes)))
    A += A.T
    certificate = certify(A, sizes, random_state=0)
    points = starting_points(sizes, rng, 300)
    assert certificate.bound >= np.einsum("ij,ij->j", points, A @ points).max()
    assert certificate.bound >= certificate.value
    assert certificate.bound <= certificate.l2_bound + 1e-9 * abs(certificate.l2_bound)
    assert certificate.trivial_bounds is None
    assert certificate.omega_bound is None


def test_the_bound_is_that_of_an_interior_point_solver(rng):
    cvxpy = pytest.importorskip("cvxpy")
    if "CLARABEL" not in cvxpy.installed_solvers():
        pytest.skip("no interior point solver")
    for t, sizes in enumerate([[1] * 6, [2, 1, 3], [1, 1, 2, 2, 1], [3, 3, 3]]):
        A = random_problem(GENERATORS[t % 3], sizes, rng)
        multipliers = cvxpy.Variable(len(sizes))
        owner = np.repeat(np.eye(len(sizes)), sizes, axis=0)
        slack = cvxpy.diag(owner @ multipliers) - A
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(multipliers)), [slack >> 0])
        problem.solve(solver="CLARABEL")
        certificate = certify(A, sizes, random_state=0)
        assert certificate.bound == pytest.approx(problem.value, rel=1e-6)
        assert certificate.relaxation_value == pytest.approx(problem.value, rel=1e-6)


@pytest.mark.parametrize("sizes", [[3, 2, 4], [30, 40, 50]])
def test_operators_give_what_matrices_give(rng, sizes):
    A = random_problem("gram", sizes, rng)
    expected = certify(A, sizes, random_state=0)
    for operator in (aslinearoperator(A), sparse.csr_array(A), lambda V: A @ V):
        given = certify(operator, sizes, random_state=0)
        assert given.kind == "proven"
        assert given.bound == pytest.approx(expected.bound, rel=1e-12)
        numerical = certify(operator, sizes, random_state=0, dense_limit=5)
        assert numerical.kind == "numerical"
        assert not numerical.globally_optimal
        assert numerical.bound == pytest.approx(expected.bound, rel=1e-6)
        assert numerical.trivial_bounds == expected.trivial_bounds
    assert "as far as Lanczos can see" in str(numerical)


def test_two_views_are_canonical_correlation_analysis(rng):
    A = random_problem("gram", [4, 6], rng)
    largest = np.linalg.svd(A[:4, 4:])[1][0]
    certificate = certify(A, [4, 6], random_state=0)
    assert certificate.globally_optimal
    assert certificate.correlations(certificate.value) == pytest.approx(largest, abs=1e-10)


def test_later_components_are_certified_in_the_complement_of_earlier_ones(rng):
    A = random_problem("gram", [4, 6], rng)
    U, s, Vt = np.linalg.svd(A[:4, 4:])
    first, second = (np.concatenate([U[:, k], Vt[k]]) for k in (0, 1))
    for operator in (A, aslinearoperator(A)):
        certificate = certify(operator, [4, 6], second, previous=first[:, None])
        assert certificate.globally_optimal
        assert certificate.correlations(certificate.bound) == pytest.approx(s[1], abs=1e-8)
    found = certify(A, [4, 6], previous=first[:, None], random_state=0).x
    assert abs(found[:4] @ U[:, 0]) < 1e-8
    with pytest.raises(ValueError, match="cosine of 1 with an earlier direction"):
        certify(A, [4, 6], first, previous=first[:, None])
    with pytest.raises(ValueError, match="leave none in a view of 4"):
        certify(A, [4, 6], previous=np.eye(10, 4))


def test_views_without_any_correlation_are_all_optimal():
    certificate = certify(np.eye(5), [2, 3], np.ones(5))
    assert certificate.globally_optimal
    assert certificate.value == pytest.approx(2)


def test_scaling_of_the_blocks_of_x_does_not_count(rng):
    A = random_problem("gram", [2, 3], rng)
    x = rng.standard_normal(5)
    scaled = np.concatenate([3 * x[:2], 0.1 * x[2:]])
    assert certify(A, [2, 3], x).value == pytest.approx(certify(A, [2, 3], scaled).value, rel=1e-14)
    np.testing.assert_allclose(np.linalg.norm(certify(A, [2, 3], x).x[:2]), 1)


def test_the_same_seed_gives_the_same_certificate(rng):
    A = random_problem("spectrum", [1] * 8, rng)
    first, second = (certify(A, [1] * 8, random_state=3) for _ in range(2))
    assert (first.bound, first.value) == (second.bound, second.value)
    np.testing.assert_array_equal(first.factor, second.factor)


def test_input_is_not_changed(rng):
    A, x = random_problem("gram", [2, 2], rng), rng.standard_normal(4)
    before = A.copy(), x.copy()
    certify(A, [2, 2], x)
    np.testing.assert_array_equal(A, before[0])
    np.testing.assert_array_equal(x, before[1])


def test_the_report_says_what_is_not_applicable():
    A = 0.5 * np.eye(3) - 0.5 * np.ones((3, 3)) / 3 + np.eye(3) * 0.5
    certificate = certify(A / A[0, 0], [1, 1, 1], random_state=0)
    assert certificate.low_rank_gap is None
    text = str(certificate)
    assert "not applicable" in text
    assert "not shown to be optimal" in text
    assert all(f"({equation})" in text for equation in ("5.2", "5.3", "5.4", "5.5", "5.6", "5.9", "5.11"))


def test_certificates_cannot_be_changed(rng):
    certificate = certify(random_problem("gram", [2, 2], rng), [2, 2])
    assert isinstance(certificate, Certificate)
    with pytest.raises(AttributeError):
        certificate.bound = 0.0


@pytest.mark.parametrize(
    ("A", "blocks", "x", "message"),
    [
        (np.triu(np.ones((4, 4))), [2, 2], None, "A is not symmetric"),
        (np.eye(4), [2, 3], None, r"expected \(5, 5\), because blocks=\[2, 3\] sum to 5"),
        (np.eye(4), [4, 0], None, "integers from 1 up"),
        (np.eye(4), [2.5, 1.5], None, "integers from 1 up"),
        (np.eye(4), [4], None, "at least two"),
        (np.eye(4), [], None, "at least two"),
        (np.full((4, 4), np.nan), [2, 2], None, "NaN"),
        (np.eye(4), [2, 2], [1, 2, 3], r"x has shape \(3,\)"),
        (np.eye(4), [2, 2], [1, 2, 0, 0], r"zero in view\(s\) \[1\]"),
        (np.eye(4), [2, 2], [1, 2, np.inf, 0], "infinity"),
    ],
)
def test_bad_input_is_refused(A, blocks, x, message):
    with pytest.raises(ValueError, match=message):
        certify(A, blocks, x)


def test_bad_operators_are_refused():
    skew = sparse.csr_array(np.triu(np.ones((6, 6))))
    with pytest.raises(ValueError, match="not symmetric"):
        certify(skew, [3, 3])
    with pytest.raises(ValueError, match="not symmetric"):
        certify(skew, [3, 3], dense_limit=2)
    with pytest.raises(ValueError, match="finite"):
        certify(lambda V: V * np.nan, [3, 3], dense_limit=2)
    with pytest.raises(ValueError, match=r"A has shape \(6, 6\)"):
        certify(skew, [3, 4])
