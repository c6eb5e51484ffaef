"""Kernel CCA and kernel multi-set CCA: equal to the primal, to the thesis's problem, and to each other."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels

from isogloss import io
from isogloss.linalg import CentredOperator, centre_kernel
from isogloss.multiview import CCA, KernelCCA, KernelSumCor, SumCor
from isogloss.multiview.kernels import DualProducts, ViewKernel, dual_problem, kernel_spectrum
from isogloss.multiview.kernels._low_rank import nystrom, pivoted_cholesky
from isogloss.multiview.solvers import horst
from isogloss.views import Views

KAPPA = 0.2


def some_views(rng, n=60, dims=(5, 4, 6), k=3, noise=0.5):
    z = rng.normal(size=(n, k))
    return [z @ rng.normal(size=(k, p)) + noise * rng.normal(size=(n, p)) + 3.0 for p in dims]


def aligned(A, B):
    """A with the signs of the columns of B."""
    return A * np.sign((A * B).sum(axis=0))


def same_variates(one, two, views, atol):
    for a, b in zip(one.transform(views), two.transform(views), strict=True):
        np.testing.assert_allclose(aligned(a, b), b, atol=atol)


def kernels_of(views, **params):
    return [centre_kernel(pairwise_kernels(x, **params)) for x in views]


def tilde(K, kappa):
    """The regularised kernel of section 4.4.1, as printed."""
    s = len(K)
    return np.sqrt((1 - kappa) / (s - 1)) * K + kappa / 2 * np.sqrt((s - 1) / (1 - kappa)) * np.eye(s)


def exact_variance(K, kappa):
    return (1 - kappa) / (len(K) - 1) * K @ K + kappa * K


def objective(Ks, Ys):
    pairs = itertools.combinations(range(len(Ks)), 2)
    return sum(np.trace(Ys[i].T @ Ks[i] @ Ks[j] @ Ys[j]) for i, j in pairs) / (len(Ks[0]) - 1)


def product_kernel(x, y, power=2):
    return (x @ y + 1.0) ** power


class TestLinearIsPrimal:
    @pytest.mark.parametrize("dims", [(5, 4), (80, 70), (80, 4)])
    def test_cca(self, rng, dims):
        views, new = some_views(rng, dims=dims), some_views(rng, 9, dims)
        dual = KernelCCA(3, kernel="linear", ridge=KAPPA, regularisation="exact").fit(views)
        primal = CCA(3, ridge=KAPPA).fit(views)
        np.testing.assert_allclose(
            dual.regularised_correlations_, primal.regularised_correlations_, atol=1e-10
        )
        np.testing.assert_allclose(dual.correlations_, primal.correlations_, atol=1e-8)
        same_variates(dual, primal, views, 1e-8)
        same_variates(dual, primal, new, 1e-8)
        for W, expected in zip(dual.weights_, primal.weights_, strict=True):
            np.testing.assert_allclose(aligned(W, expected), expected, atol=1e-8)

    @pytest.mark.parametrize("algorithm", ["block", "horst"])
    @pytest.mark.parametrize("dims", [(5, 4, 6), (80, 4, 70)])
    def test_sumcor(self, rng, dims, algorithm):
        views = some_views(rng, dims=dims)
        settings = {"ridge": (0.1, 0.2, 0.3), "algorithm": algorithm, "tol": 1e-15, "random_state": 0}
        dual = KernelSumCor(2, kernel="linear", regularisation="exact", **settings).fit(views)
        primal = SumCor(2, **settings).fit(views)
        assert dual.objective_ == pytest.approx(primal.objective_, abs=1e-8)
        np.testing.assert_allclose(dual.objectives_, primal.objectives_, atol=1e-8)
        same_variates(dual, primal, views, 5e-5)  # where a square root of tol is seen

    def test_the_approximation_agrees_for_small_ridges_to_second_order(self, rng):
        views = some_views(rng)
        gaps = []
        for kappa in (0.02, 0.01):
            dual = KernelCCA(1, kernel="linear", ridge=kappa).fit(views[:2])
            gaps.append(CCA(1, ridge=kappa).fit(views[:2]).regularised_correlations_[0] - dual.objective_)
        assert 0 < gaps[1] < gaps[0] / 3
        assert gaps[0] < 0.01

    def test_two_views_of_sumcor_are_cca(self, rng):
        views = some_views(rng, dims=(5, 4))
        one = KernelSumCor(2, tol=1e-14, random_state=0).fit(views)
        two = KernelCCA(2).fit(views)
        np.testing.assert_allclose(one.objectives_, two.regularised_correlations_, atol=1e-8)
        same_variates(one, two, views, 1e-6)


class TestTheProblemOfTheThesis:
    @pytest.mark.parametrize("regularisation", ["exact", "approximate"])
    @pytest.mark.parametrize("algorithm", ["block", "horst"])
    def test_coefficients_are_feasible_and_reach_the_objective(self, rng, regularisation, algorithm):
        views = some_views(rng, n=40)
        model = KernelSumCor(
            3, ridge=KAPPA, regularisation=regularisation, algorithm=algorithm, random_state=0, gamma=0.05
        )
        model.fit(views)
        Ks = kernels_of(views, metric="rbf", gamma=0.05)
        for K, Y in zip(Ks, model.dual_coef_, strict=True):
            R = exact_variance(K, KAPPA) if regularisation == "exact" else tilde(K, KAPPA) @ tilde(K, KAPPA)
            np.testing.assert_allclose(Y.T @ R @ Y, np.eye(3), atol=1e-8)
        assert model.objective_ == pytest.approx(objective(Ks, model.dual_coef_), abs=1e-9)

    def test_cca_is_the_generalised_eigenproblem_3_10(self, rng):
        views = some_views(rng, n=30, dims=(5, 4))
        model = KernelCCA(3, ridge=KAPPA, gamma=0.1).fit(views)
        K1, K2 = kernels_of(views, metric="rbf", gamma=0.1)
        zero = np.zeros_like(K1)
        left = np.block([[zero, K1 @ K2], [K2 @ K1, zero]]) / (len(K1) - 1)
        R1, R2 = (tilde(K, KAPPA) @ tilde(K, KAPPA) for K in (K1, K2))
        values = eigh(left, np.block([[R1, zero], [zero, R2]]), eigvals_only=True)[::-1]
        np.testing.assert_allclose(model.regularised_correlations_, values[:3], atol=1e-9)

    def test_algorithm_4_2_with_the_shift_of_4_10_finds_nothing_better(self, rng):
        """Jacobi sweeps over the n x n matrix A of (4.11), written out."""
        views = some_views(rng, n=25)
        model = KernelSumCor(1, ridge=KAPPA, gamma=0.1, tol=1e-14, random_state=0).fit(views)
        Ks = kernels_of(views, metric="rbf", gamma=0.1)
        Ns = [K @ np.linalg.inv(tilde(K, KAPPA)) for K in Ks]
        n = len(Ks[0])
        A = np.vstack(Ns) @ np.hstack(Ns) / (n - 1)
        for i in range(3):
            A[i * n : (i + 1) * n, i * n : (i + 1) * n] = np.eye(n) / (1 - KAPPA)
        assert np.linalg.eigvalsh(A)[0] > 0
        x = rng.normal(size=(3, n, 20))
        for _ in range(1000):
            x = (A @ x.reshape(3 * n, -1)).reshape(x.shape)
            x /= np.linalg.norm(x, axis=1, keepdims=True)
        x = x.reshape(3 * n, -1)
        reached = 0.5 * (np.einsum("ns,ns->s", x, A @ x) - 3 / (1 - KAPPA))
        assert reached.max() == pytest.approx(model.objective_, abs=1e-8)

    @pytest.mark.parametrize("regularisation", ["exact", "approximate"])
    def test_lemma_4_3_and_that_its_shift_is_tight(self, rng, regularisation):
        x = rng.normal(size=(50, 3))
        spectra = [kernel_spectrum(ViewKernel("linear"), 100 * x, rng=rng) for _ in range(3)]
        A = dual_problem(spectra, KAPPA, regularisation).A
        off = A - np.eye(len(A))
        assert np.linalg.eigvalsh(off + np.eye(len(A)) / (1 - KAPPA))[0] > -1e-12
        # Equal views: the smallest eigenvalue is -1/(1 - kappa), so nothing less would do.
        assert -np.linalg.eigvalsh(off)[0] == pytest.approx(1 / (1 - KAPPA), rel=1e-2)

    @pytest.mark.parametrize("algorithm", ["block", "horst"])
    @pytest.mark.parametrize("solver", ["eigen", "operator"])
    def test_the_trace_never_falls_and_ends_at_the_objective(self, rng, algorithm, solver):
        views = some_views(rng, noise=3.0)
        model = KernelSumCor(
            2, kernel="linear", algorithm=algorithm, solver=solver, n_init=1, tol=1e-9, random_state=1
        ).fit(views)
        assert sum(trace[-1] for trace in model.objective_trace_) == pytest.approx(model.objective_, rel=1e-9)
        for trace in model.objective_trace_:
            assert len(trace) > 2
            assert np.diff(trace).min() >= -1e-13 * abs(trace[-1])

    def test_one_start_is_never_better_than_many(self, rng):
        views = some_views(rng, noise=3.0)
        many = KernelSumCor(1, random_state=0).fit(views)
        assert many.objective_ == pytest.approx(many.start_objectives_.max(), rel=1e-12)
        problem = dual_problem(
            [kernel_spectrum(ViewKernel("rbf"), x, rng=rng) for x in views], 0.1, "approximate"
        )
        best = horst(problem.A, problem.sizes, rng.normal(size=(len(problem.A), 20)))
        assert many.objective_ >= best.objective - 1e-7


class TestKernels:
    @pytest.mark.parametrize(
        ("kernel", "params"),
        [
            ("linear", {}),
            ("rbf", {"gamma": 0.05}),
            ("poly", {"gamma": 0.1, "degree": 2}),
            ("polynomial", {"coef0": 2.0}),
            ("cosine", {}),
            (product_kernel, {"kernel_params": {"power": 2}}),
        ],
    )
    def test_precomputed_is_the_same_also_for_new_rows(self, rng, kernel, params):
        views, new = some_views(rng, 40), some_views(rng, 7)
        model = KernelSumCor(2, kernel=kernel, tol=1e-14, random_state=0, **params).fit(views)
        named = params.get("kernel_params", {"degree": 3, "coef0": 1, **params})
        of = [lambda a, b: pairwise_kernels(a, b, metric=kernel, filter_params=True, **named)] * 3
        Ks = [f(x, x) for f, x in zip(of, views, strict=True)]
        other = KernelSumCor(2, kernel="precomputed", tol=1e-14, random_state=0).fit(Ks)
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-9)
        Knew = [f(x, y) for f, x, y in zip(of, new, views, strict=True)]
        for a, b in zip(model.transform(new), other.transform(Knew), strict=True):
            np.testing.assert_allclose(aligned(a, b), b, atol=1e-6)

    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_new_rows_are_centred_by_the_training_rows(self, rng, kernel):
        views, new = some_views(rng, 40), some_views(rng, 7)
        model = KernelSumCor(2, kernel=kernel, gamma=0.05, random_state=0).fit(views)
        for v, name in enumerate(model.view_names_):
            K = pairwise_kernels(views[v], metric=kernel, filter_params=True, gamma=0.05)
            Knew = pairwise_kernels(new[v], views[v], metric=kernel, filter_params=True, gamma=0.05)
            expected = centre_kernel(Knew, K) @ model.dual_coef_[v]
            np.testing.assert_allclose(model.transform_view(new[v], name), expected, atol=1e-10)
            assert np.abs(model.transform_view(views[v], v).mean(axis=0)).max() < 1e-10

    def test_an_indefinite_kernel_loses_its_negative_part_and_says_so(self, rng):
        views = some_views(rng, 40, dims=(5, 4))
        with pytest.warns(UserWarning, match="positive semi-definite"):
            model = KernelCCA(1, kernel="sigmoid", gamma=0.5).fit(views)
        K = centre_kernel(pairwise_kernels(views[0], metric="sigmoid", gamma=0.5))
        values, vectors = np.linalg.eigh(K)
        positive = (vectors * np.maximum(values, 0)) @ vectors.T
        np.testing.assert_allclose(
            model.transform_view(views[0], 0), positive @ model.dual_coef_[0], atol=1e-8
        )

    def test_kernels_and_gammas_differ_between_views(self, rng):
        views = some_views(rng, 40)
        mixed = KernelSumCor(1, kernel=["rbf", "linear", "poly"], gamma=[0.1, None, 0.2], random_state=0)
        mixed.fit(views)
        K = [
            pairwise_kernels(views[0], metric="rbf", gamma=0.1),
            views[1] @ views[1].T,
            pairwise_kernels(views[2], metric="poly", gamma=0.2),
        ]
        other = KernelSumCor(1, kernel="precomputed", random_state=0).fit(K)
        assert mixed.objective_ == pytest.approx(other.objective_, rel=1e-9)

    def test_what_is_nonlinear_is_found_and_holds_for_new_rows(self, rng):
        t = rng.uniform(-1, 1, size=300)
        views = [np.c_[f(3 * t), 0.3 * rng.normal(size=300)] for f in (np.square, np.abs, np.cos)]
        train, test = [x[:200] for x in views], [x[200:] for x in views]
        model = KernelSumCor(1, kernel="rbf", gamma=1.0, ridge=0.05, random_state=0).fit(train)
        assert model.score(test) > 3 * 0.95


class TestLowRank:
    def test_all_of_the_kernel_is_the_kernel(self, rng):
        views, new = some_views(rng, 40), some_views(rng, 8)
        full = KernelSumCor(2, gamma=0.02, tol=1e-14, random_state=0).fit(views)
        for how in ({"low_rank": "cholesky", "low_rank_tol": 1e-14}, {"low_rank": "nystrom", "rank": 40}):
            low = clone(full).set_params(**how).fit(views)
            assert low.objective_ == pytest.approx(full.objective_, abs=1e-7)
            same_variates(low, full, new, 1e-4)

    @pytest.mark.parametrize("how", ["cholesky", "nystrom"])
    def test_few_landmarks_are_kept_and_do_nearly_as_well(self, rng, how):
        views = some_views(rng, 150)
        full = KernelSumCor(1, gamma=0.01, random_state=0).fit(views)
        low = KernelSumCor(1, gamma=0.01, low_rank=how, rank=40, random_state=0).fit(views)
        assert all(len(Y) == 40 for Y in low.dual_coef_)
        assert all(x.shape[0] == 40 for x in low.X_fit_)
        assert max(low.left_out_) < 0.1
        assert low.objective_ == pytest.approx(full.objective_, rel=0.02)

    @pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
    def test_training_and_new_rows_are_projected_the_same(self, rng, kernel):
        views = some_views(rng, 50)
        data = [x @ x.T for x in views] if kernel == "precomputed" else views
        model = KernelSumCor(2, kernel=kernel, low_rank="cholesky", rank=10, random_state=0).fit(data)
        for v, x in enumerate(data):
            spectrum = kernel_spectrum(ViewKernel(kernel), x, low_rank="cholesky", rank=10, rng=rng)
            scores = model.transform_view(x, v)
            inside = spectrum.vectors @ (spectrum.vectors.T @ scores)
            np.testing.assert_allclose(inside, scores, atol=1e-8)

    def test_cholesky_stops_at_its_tolerance_and_bounds_the_error(self, rng):
        x = rng.normal(size=(80, 3))
        K = pairwise_kernels(x, metric="rbf", gamma=0.05)
        found = pivoted_cholesky(lambda i: K[:, i], K.diagonal(), tol=1e-3)
        rest = K - found.features @ found.features.T
        assert found.features.shape[1] < 60
        assert np.trace(rest) <= 1e-3 * np.trace(K)
        assert found.left_out == pytest.approx(np.trace(rest) / np.trace(K), rel=1e-6)
        assert np.linalg.eigvalsh(rest)[0] > -1e-10
        np.testing.assert_allclose(K[:, found.landmarks] @ found.map, found.features, atol=1e-8)
        np.testing.assert_allclose(found.means, K[:, found.landmarks].mean(axis=0), atol=1e-12)

    def test_cholesky_is_nystrom_with_its_pivots(self, rng):
        x = rng.normal(size=(50, 3))
        K = pairwise_kernels(x, metric="rbf", gamma=0.2)
        one = pivoted_cholesky(lambda i: K[:, i], K.diagonal(), rank=9)

        class Pivots:
            def choice(self, *args, **kwargs):
                return one.landmarks

        two = nystrom(lambda i: K[:, i], K.diagonal(), rank=9, rng=Pivots())
        np.testing.assert_allclose(one.features @ one.features.T, two.features @ two.features.T, atol=1e-9)
        assert one.left_out == pytest.approx(two.left_out, abs=1e-9)

    def test_columns_are_asked_for_one_at_a_time_and_no_more_than_rank(self, rng):
        K = pairwise_kernels(rng.normal(size=(30, 3)), metric="rbf")
        asked = []
        pivoted_cholesky(lambda i: asked.extend(i) or K[:, i], K.diagonal(), rank=7, tol=0.0)
        assert len(asked) == len(set(asked)) == 7

    def test_cholesky_refuses_an_indefinite_kernel(self):
        K = np.array([[1.0, 2.0], [2.0, 1.0]])
        with pytest.raises(ValueError, match="not positive semi-definite"):
            pivoted_cholesky(lambda i: K[:, i], K.diagonal())


class TestOperator:
    @pytest.mark.parametrize("regularisation", ["exact", "approximate"])
    @pytest.mark.parametrize("algorithm", ["block", "horst"])
    def test_equals_the_eigenvectors(self, rng, regularisation, algorithm):
        views = [sparse.csr_array(x * (rng.uniform(size=x.shape) < 0.5)) for x in some_views(rng)]
        settings = {"kernel": "linear", "tol": 1e-13, "random_state": 0, "ridge": KAPPA}
        settings |= {"regularisation": regularisation, "algorithm": algorithm}
        one = KernelSumCor(2, solver="operator", **settings).fit(views)
        two = KernelSumCor(2, solver="eigen", **settings).fit(views)
        # The second component of Horst's algorithm inherits the error of the first, a square root of tol.
        assert one.objective_ == pytest.approx(two.objective_, abs=1e-8 if algorithm == "block" else 1e-6)
        same_variates(one, two, views, 1e-4)

    @pytest.mark.parametrize("regularisation", ["exact", "approximate"])
    def test_two_views_and_feasibility(self, rng, regularisation):
        views = [sparse.csr_array(x) for x in some_views(rng, n=30, dims=(12, 40))]
        settings = {"kernel": "linear", "ridge": KAPPA, "regularisation": regularisation}
        one = KernelCCA(2, solver="operator", tol=1e-11, random_state=0, **settings).fit(views)
        two = KernelCCA(2, **settings).fit(views)
        np.testing.assert_allclose(one.regularised_correlations_, two.regularised_correlations_, atol=1e-8)
        for x, Y in zip(views, one.dual_coef_, strict=True):
            K = centre_kernel((x @ x.T).toarray())
            R = exact_variance(K, KAPPA) if regularisation == "exact" else tilde(K, KAPPA) @ tilde(K, KAPPA)
            np.testing.assert_allclose(Y.T @ R @ Y, np.eye(2), atol=1e-8)

    def test_a_rough_solve_is_made_finer_before_it_loses(self, rng, monkeypatch):
        """Solves that are as bad as they may be, and worse: the trace does not fall."""
        views, settings = some_views(rng), {"kernel": "linear", "ridge": KAPPA, "random_state": 0}
        best = KernelSumCor(1, **settings).fit(views).objective_
        plain = DualProducts.solve

        def rough(self, i, B, tol):
            G = plain(self, i, B, tol)
            return G + 100 * tol * np.abs(G).max() * rng.normal(size=G.shape)

        monkeypatch.setattr(DualProducts, "solve", rough)
        model = KernelSumCor(1, solver="operator", tol=1e-9, **settings).fit(views)
        assert np.diff(model.objective_trace_[0]).min() >= 0
        assert model.objective_ == pytest.approx(best, rel=1e-5)

    def test_neither_rows_nor_kernel_become_dense(self, rng, monkeypatch):
        """Sparse views of 1,001 features go to the operator by themselves, and stay sparse there."""
        views = [sparse.random_array((1_100, 1_001), density=0.005, rng=rng, format="csr") for _ in range(2)]

        def refuse(*args, **kwargs):
            raise AssertionError("a sparse view was made dense")

        monkeypatch.setattr(sparse.csr_array, "toarray", refuse)
        monkeypatch.setattr(sparse.csr_matrix, "toarray", refuse)
        monkeypatch.setattr("isogloss.multiview.kernels._map.pairwise_kernels", refuse)
        widths = []
        plain = CentredOperator.kernel_matmat
        monkeypatch.setattr(
            CentredOperator, "kernel_matmat", lambda self, U: widths.append(U.shape[1]) or plain(self, U)
        )
        model = KernelSumCor(1, kernel="linear", ridge=0.5, tol=1e-3, random_state=0).fit(views)
        assert model.ranks_ is None
        assert max(widths) == 1


class TestRefusals:
    def refused(self, views, match, kind=KernelSumCor, **settings):
        with pytest.raises(ValueError, match=match):
            kind(**settings).fit(views)

    @pytest.mark.parametrize("ridge", [0.0, 1.0, -0.1, 1.5, np.nan, [0.1, 0.2]])
    def test_ridge(self, rng, ridge):
        self.refused(some_views(rng), "ridge", ridge=ridge)

    def test_values(self, rng):
        views = some_views(rng)
        views[1][3, 2] = np.nan
        self.refused(views, "NaN")

    def test_shapes(self, rng):
        views = some_views(rng)
        self.refused(views, "square", kernel="precomputed")
        self.refused([views[0][:-1], *views[1:]], "unequal numbers of rows")
        self.refused(views, "two views", kind=KernelCCA)
        K = views[0] @ views[0].T
        self.refused([K, K + np.triu(K)], "not symmetric", kernel="precomputed")

    def test_components_above_the_rank(self, rng):
        self.refused(some_views(rng), "rank, centred, is 4", n_components=5, kernel="linear")
        self.refused(some_views(rng), "rank, centred, is 3", n_components=4, low_rank="cholesky", rank=3)
        self.refused(some_views(rng, n=3), "row", n_components=3)

    def test_missing_rows(self, rng):
        data = some_views(rng)
        present = np.ones((60, 3), dtype=bool)
        present[4, 1] = False
        self.refused(Views([data[0], data[1][present[:, 1]], data[2]], present=present), "lack a view")

    @pytest.mark.parametrize(
        "settings",
        [
            {"kernel": "gauss"},
            {"kernel": ["rbf", "rbf"]},
            {"gamma": [1.0]},
            {"regularisation": "none"},
            {"low_rank": "svd"},
            {"low_rank": "nystrom"},
            {"solver": "operator"},
            {"algorithm": "newton"},
            {"rank": 0},
            {"n_init": 0},
        ],
    )
    def test_settings(self, rng, settings):
        self.refused(some_views(rng), "|".join(settings), **settings)

    @pytest.mark.parametrize("settings", [{"kernel": "linear"}, {"kernel": "poly"}, {"low_rank": "cholesky"}])
    @pytest.mark.parametrize("width", [3, 70])
    def test_a_constant_view(self, rng, settings, width):
        constant = np.tile(0.1 * rng.normal(size=width), (60, 1))
        self.refused([constant, *some_views(rng)], "rank, centred, is 0", **settings)


def test_saved_models_project_the_same(rng, tmp_path):
    views = some_views(rng)
    for settings in ({"kernel": ["rbf", "linear", "poly"]}, {"low_rank": "cholesky", "rank": 20}):
        model = KernelSumCor(2, random_state=0, **settings).fit(views)
        io.save(model, tmp_path / "model")
        loaded = io.load(tmp_path / "model", expected=KernelSumCor)
        for a, b in zip(loaded.transform(views), model.transform(views), strict=True):
            np.testing.assert_array_equal(a, b)
