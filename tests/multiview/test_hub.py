"""HubCCA: equal to CCA where it must be, whole where rows are missing, and clear about what it refuses."""

import logging

import numpy as np
import pytest
from scipy import sparse

from isogloss.engine import Batches
from isogloss.io import load, save
from isogloss.multiview import CCA, HubCCA
from isogloss.multiview._base import two_or_more, view_correlations
from isogloss.multiview.solvers import HubOperator
from isogloss.views import Views

NAMES = ("en", "de", "sl", "fr", "hi")


class Languages:
    """Documents in several languages: common topics, topics of one language alone, and noise."""

    def __init__(self, rng, topics=8, features=60, own=6, noise=0.6, names=NAMES):
        self.rng, self.noise, self.names = rng, noise, names
        strengths = np.linspace(1.5, 0.7, topics)[:, None]
        scale = 1.0 / np.sqrt(features)
        self.common = [scale * strengths * rng.standard_normal((topics, features)) for _ in names]
        self.own = [1.5 * scale * rng.standard_normal((own, features)) for _ in names]

    def draw(self, n, present=None):
        rng = self.rng
        z = rng.standard_normal((n, len(self.common[0])))
        X = [
            z @ A
            + rng.standard_normal((n, len(B))) @ B
            + self.noise * rng.standard_normal((n, A.shape[1]))
            + 3
            for A, B in zip(self.common, self.own, strict=True)
        ]
        return Views(X, names=self.names, present=present)


def small_views(rng, n=300, dims=(9, 6, 7), missing=0.3, k=3):
    """Three views of a latent factor; the first is always there."""
    z = rng.standard_normal((n, k))
    X = [z @ rng.standard_normal((k, d)) + rng.standard_normal((n, d)) for d in dims]
    present = rng.random((n, len(dims))) >= missing
    present[:, 0] = True
    return Views(X, names=NAMES[: len(dims)], present=present)


def wide_views(rng, n=900, dims=(800, 600, 700), k=5):
    """Sparse views, wide enough for the randomised SVD."""
    z = rng.standard_normal((n, k))
    X = []
    for d in dims:
        x = z @ rng.standard_normal((k, d)) + rng.standard_normal((n, d))
        X.append(sparse.csr_array(np.where(x > 5.0, x, 0.0)))
    present = rng.random((n, len(dims))) > 0.3
    present[:, 0] = True
    return Views(X, names=NAMES[: len(dims)], present=present)


def assert_same(a, b, atol=1e-8):
    for x, y in zip(a.weights_ + a.means_, b.weights_ + b.means_, strict=True):
        np.testing.assert_allclose(x, y, atol=atol)
    np.testing.assert_allclose(a.correlations_, b.correlations_, atol=atol)
    np.testing.assert_allclose(a.shrinkage_, b.shrinkage_, atol=atol)
    np.testing.assert_array_equal(a.counts_, b.counts_)


@pytest.mark.parametrize("ridge", [0.0, 0.2])
@pytest.mark.parametrize("dims", [(6, 6), (9, 6), (5, 8)])
def test_on_two_views_it_is_cca(rng, dims, ridge):
    views = small_views(rng, dims=dims, missing=0.0)
    hub = HubCCA(3, n_directions=max(dims), ridge=ridge).fit(views)
    cca = CCA(3, ridge=ridge).fit(views)
    for a, b in zip(hub.weights_, cca.weights_, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)
    np.testing.assert_allclose(hub.correlations_[:, 0, 1], cca.correlations_, atol=1e-8)
    np.testing.assert_allclose(np.sqrt(hub.eigenvalues_), cca.regularised_correlations_, atol=1e-8)


def test_on_two_views_it_is_the_svd_of_whitened_views(rng):
    """By hand, so that CCA and HubCCA cannot be wrong together."""
    X, Y = small_views(rng, dims=(9, 6), missing=0.0)
    (Q, R), (P, S) = (np.linalg.qr(x - x.mean(axis=0)) for x in (X, Y))
    U, rho, Vt = np.linalg.svd(Q.T @ P, full_matrices=False)
    model = HubCCA(3).fit([X, Y])
    np.testing.assert_allclose(model.correlations_[:, 0, 1], rho[:3], atol=1e-8)
    expected = (
        np.linalg.solve(R, U[:, :3]) * np.sqrt(len(X) - 1),
        np.linalg.solve(S, Vt[:3].T) * np.sqrt(len(X) - 1),
    )
    for W, E in zip(model.weights_, expected, strict=True):
        np.testing.assert_allclose(np.abs(W), np.abs(E), atol=1e-8)


@pytest.mark.parametrize("hub", [0, 1, "sl"])
def test_it_maximises_the_sum_of_squared_correlations_with_the_hub(rng, hub):
    """Equation 6.1, complete rows: the first component is a maximum, whatever is nudged."""
    views = small_views(rng, missing=0.0)
    model = HubCCA(2, hub=hub).fit(views)
    h = model.hub_
    C = np.cov(np.hstack(views.arrays).T)
    cuts = np.cumsum((0, *views.dims))
    block = [[C[cuts[i] : cuts[i + 1], cuts[j] : cuts[j + 1]] for j in range(3)] for i in range(3)]

    def objective(w):
        unit = [v / np.sqrt(v @ block[i][i] @ v) for i, v in enumerate(w)]
        return sum((unit[h] @ block[h][j] @ unit[j]) ** 2 for j in range(3) if j != h)

    best = [W[:, 0] for W in model.weights_]
    assert objective(best) == pytest.approx(model.eigenvalues_[0], abs=1e-9)
    for _ in range(200):
        nudged = [w + 10.0 ** rng.uniform(-4, 0) * rng.standard_normal(len(w)) for w in best]
        assert objective(nudged) <= objective(best) + 1e-12
    correlations = model.correlations_[:, h, [j for j in range(3) if j != h]]
    assert (correlations > 0).all()
    np.testing.assert_allclose((correlations**2).sum(axis=1), model.eigenvalues_, atol=1e-9)
    Z = model.transform(views).arrays[h]
    np.testing.assert_allclose(np.cov(Z.T), np.eye(2), atol=1e-9)


def test_step_1_multiplies_with_the_covariances_of_the_rows_that_have_both(rng):
    views = small_views(rng, dims=(5, 4, 3))
    model = HubCCA(1)
    operator = HubOperator(*model._engine_and_source(views, two_or_more), views.dims, 0)
    blocks = []
    for j in (1, 2):
        x, y = views.shared(0, j)
        blocks.append((x - x.mean(axis=0)).T @ (y - y.mean(axis=0)) / (len(x) - 1))
    C = np.hstack(blocks)
    np.testing.assert_allclose(operator.matmat(np.eye(7)), C, atol=1e-12)
    np.testing.assert_allclose(operator.rmatmat(np.eye(5)), C.T, atol=1e-12)


def test_step_1_keeps_the_leading_singular_directions(rng):
    """Against a dense SVD, with fewer directions than features."""
    views = small_views(rng, dims=(20, 15, 18), missing=0.0)
    model = HubCCA(2, n_directions=4).fit(views)
    X, Y, Z = (x - x.mean(axis=0) for x in views)
    U, s, Vt = np.linalg.svd(np.hstack([X.T @ Y, X.T @ Z]) / (len(X) - 1))
    np.testing.assert_allclose(model.singular_values_, s[:4], atol=1e-9)
    for basis, T in zip(model.bases_, (U[:, :4], Vt[:4, :15].T, Vt[:4, 15:].T), strict=True):
        projector = T @ np.linalg.pinv(T)
        np.testing.assert_allclose(basis @ basis.T, projector, atol=1e-8)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("batch_rows", [13, 100, 10_000])
def test_any_batch_split_equals_one_fit(rng, batch_rows, n_jobs):
    views = small_views(rng, dims=(20, 15, 18))
    one = HubCCA(3, n_directions=8).fit(views)
    assert_same(one, HubCCA(3, n_directions=8, batch_rows=batch_rows, n_jobs=n_jobs).fit(views))
    source = Batches([views[:1], views[1:120], views[120:]])
    assert_same(one, HubCCA(3, n_directions=8).fit(source))


def test_a_batch_may_lack_a_view(rng):
    views = small_views(rng)
    order = np.argsort(~views.present[:, 1], kind="stable")
    sorted_rows = views[order]
    n = int(views.present[:, 1].sum())
    without = Views(
        [sorted_rows[n:]["en"], None, sorted_rows[n:]["sl"]],
        names=views.names,
        present=sorted_rows.present[n:],
        dims=views.dims,
    )
    assert_same(HubCCA(2).fit(views), HubCCA(2).fit(Batches([sorted_rows[:n], without])))


def test_wide_sparse_views_in_any_split_equal_one_fit_and_stay_sparse(rng, monkeypatch):
    views = wide_views(rng)
    one = HubCCA(3, random_state=0).fit(views)
    split = HubCCA(3, random_state=0, batch_rows=200, n_jobs=2).fit(views)
    assert_same(one, split)
    monkeypatch.setattr(sparse.csr_array, "toarray", None)
    monkeypatch.setattr(sparse.csr_array, "todense", None)
    HubCCA(3, random_state=0).fit(views)


def test_wide_sparse_views_equal_dense_ones(rng):
    views = wide_views(rng)
    dense = Views([x.toarray() for x in views], names=views.names, present=views.present)
    assert_same(HubCCA(3, random_state=0).fit(views), HubCCA(3, random_state=0).fit(dense))


@pytest.mark.dask
def test_dask_equals_local(rng, dask_client):
    from isogloss.engine.dask import DaskEngine

    views = small_views(rng, dims=(20, 15, 18))
    local = HubCCA(3, n_directions=8, batch_rows=50).fit(views[:])
    far = HubCCA(3, n_directions=8, batch_rows=50, engine=DaskEngine(dask_client)).fit(views)
    assert_same(local, far)
    new = [views.shared(0, 1)[0], views.shared(0, 1)[1] @ rng.standard_normal((15, 12))]
    assert_same(local.add_view("new", new), far.add_view("new", new))


def test_shifting_or_turning_a_view_changes_nothing(rng):
    views = small_views(rng)
    turns = [np.linalg.qr(rng.standard_normal((d, d)))[0] for d in views.dims]
    moved = Views(
        [x @ Q + 100.0 for x, Q in zip(views, turns, strict=True)], names=views.names, present=views.present
    )
    a, b = HubCCA(2).fit(views), HubCCA(2).fit(moved)
    np.testing.assert_allclose(a.correlations_, b.correlations_, atol=1e-8)
    for v, (x, y) in enumerate(zip(views, moved, strict=True)):
        np.testing.assert_allclose(np.abs(a.transform_view(x, v)), np.abs(b.transform_view(y, v)), atol=1e-7)


def test_correlations_are_those_of_the_projections(rng):
    views = small_views(rng)
    model = HubCCA(2, ridge=0.1, batch_rows=17).fit(views)
    np.testing.assert_allclose(model.correlations_, view_correlations(model.transform(views)), atol=1e-10)
    np.testing.assert_array_equal(model.counts_, views.present.T.astype(int) @ views.present)
    for mean, x in zip(model.means_, views, strict=True):
        np.testing.assert_allclose(mean, x.mean(axis=0), atol=1e-12)


def test_covariances_from_unequal_rows_are_shrunk_with_a_warning(rng, caplog):
    z = rng.standard_normal((200, 2)) * np.where(np.arange(200) < 100, 3.0, 0.3)[:, None]
    X = [z @ rng.standard_normal((2, 4)) + 0.01 * rng.standard_normal((200, 4)) for _ in range(2)]
    present = np.ones((200, 2), dtype=bool)
    present[100:, 1] = False
    with caplog.at_level(logging.WARNING):
        model = HubCCA(2).fit(Views(X, names=["en", "de"], present=present))
    assert model.shrinkage_[0] == 0.0
    assert model.shrinkage_[1] > 0.1
    assert (model.eigenvalues_ <= 1 + 1e-9).all()
    assert "view 'de'" in caplog.text
    assert "scaled down" in caplog.text
    caplog.clear()
    complete = HubCCA(2).fit(X)
    assert complete.shrinkage_.max() < 1e-12
    assert not caplog.text


def test_views_that_share_no_row_meet_through_the_hub(rng):
    languages = Languages(rng, topics=3, features=20, own=2, noise=0.2, names=NAMES[:3])
    present = np.ones((2000, 3), dtype=bool)
    present[:1000, 1] = present[1000:, 2] = False
    model = HubCCA(3, hub="en").fit(languages.draw(2000, present))
    assert model.counts_[1, 2] == 0
    np.testing.assert_array_equal(model.correlations_[:, 1, 2], 0.0)
    unseen = languages.draw(2000)
    achieved = view_correlations(model.transform(unseen))[:, 1, 2].sum()
    direct = CCA(3).fit([unseen["de"], unseen["sl"]]).correlations_.sum()
    assert achieved > 0.9 * direct


@pytest.mark.parametrize("seed", range(3))
def test_missing_rows_cost_little_where_dropping_them_costs_much(seed):
    """60 % of the rows of every language but the hub are missing at random."""
    rng = np.random.default_rng(seed)
    languages, n = Languages(rng), 4000
    views, unseen = languages.draw(n), languages.draw(3000)
    present = np.c_[np.ones(n, dtype=bool), rng.random((n, 4)) >= 0.6]
    gaps = Views(list(views), names=NAMES, present=present)
    complete_rows = gaps[present.all(axis=1)]

    def held_out(training):
        return HubCCA(8, hub="en").fit(training).score(unseen)

    complete, missing, dropped = held_out(views), held_out(gaps), held_out(complete_rows)
    print(  # noqa: T201
        f"\nheld-out sum of correlations: complete {complete:.2f}, missing {missing / complete - 1:+.1%}, "
        f"dropping to {len(complete_rows)} of {n} rows {dropped / complete - 1:+.1%}"
    )
    assert missing > 0.97 * complete
    assert dropped < 0.85 * complete


@pytest.mark.parametrize("features", [20, 60])
def test_a_language_is_added_by_its_rows_with_the_hub(rng, features):
    """60 features are more than n_directions, so that step 1 reduces the new view too."""
    languages = Languages(rng, topics=4, features=features, own=2, noise=0.4)
    views, unseen = languages.draw(4000), languages.draw(3000)
    model = HubCCA(4, hub="en").fit(Views(list(views)[:4], names=NAMES[:4]))
    before = [w.copy() for w in model.weights_]
    projected = model.transform_view(unseen["de"], "de")
    model.add_view("hi", {"hi": views["hi"], "en": views["en"]})
    for old, new in zip(before, model.weights_, strict=False):
        np.testing.assert_array_equal(old, new)
    np.testing.assert_array_equal(model.transform_view(unseen["de"], "de"), projected)
    assert model.view_names_ == NAMES
    assert model.dims_ == views.dims
    assert model.counts_[4].tolist() == [4000, 0, 0, 0, 4000]
    refit = HubCCA(4, hub="en").fit(views)
    assert model.score(unseen) == pytest.approx(refit.score(unseen), rel=0.01)
    # Spaces, because a new view may turn directions that are almost equally good.
    a, b = (np.linalg.qr(m.transform_view(unseen["hi"], "hi"))[0] for m in (model, refit))
    assert np.linalg.svd(a.T @ b, compute_uv=False).min() > 0.95
    np.testing.assert_allclose(
        model.correlations_[:, 0, 4], view_correlations(model.transform(views))[:, 0, 4], atol=1e-10
    )


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("n_directions", [4, 30])
def test_adding_again_what_was_there_gives_the_same_directions(rng, ridge, n_directions):
    views = small_views(rng, dims=(20, 15, 18), missing=0.0)
    model = HubCCA(3, n_directions=n_directions, ridge=ridge).fit(views)
    model.add_view("again", [views["en"], views["sl"]])
    np.testing.assert_allclose(model.weights_[3], model.weights_[2], atol=1e-8)
    np.testing.assert_allclose(model.correlations_[:, 0, 3], model.correlations_[:, 0, 2], atol=1e-8)
    assert model.shrinkage_.shape == (4,)


def test_a_view_can_be_added_in_batches_and_twice_over(rng):
    views = small_views(rng)
    one, two = HubCCA(2).fit(views), HubCCA(2).fit(views)
    pair = Views(
        {"en": views["en"], "it": views["en"] @ rng.standard_normal((9, 5)) + rng.standard_normal((300, 5))}
    )
    one.add_view("it", pair)
    two.add_view("it", Batches([pair[:100], pair[100:]]))
    assert_same(one, two)
    assert one.transform(Views([*views, pair["it"]], present=np.c_[views.present, np.ones(300)])).n_views == 4
    with pytest.raises(ValueError, match="has a view 'it' already"):
        one.add_view("it", pair)


def test_a_view_that_cannot_be_added_leaves_the_model_as_it_was(rng):
    views = small_views(rng)
    model = HubCCA(2).fit(views)
    state = dict(vars(model))
    x = views["en"]
    for rows, message in [
        ({"de": x, "it": x}, "expected 'en' \\(the hub\\) and 'it'"),
        ([x[:, :4], x], "has 4 features; fitted on 9"),
        ([x, x, x], "expected 'en'"),
        ([x[:2], x[:2]], "shares 2 rows with the hub"),
        ([x, np.full((300, 4), 2.5)], "'it' does not vary"),
        ([x, x[:, :1]], "1 directions in common"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.add_view("it", rows)
    assert vars(model).keys() == state.keys()
    assert all(vars(model)[name] is value for name, value in state.items())


def test_constant_features_have_no_weight(rng):
    views = small_views(rng)
    padded = Views(
        [np.hstack([x, np.full((len(x), 1), 7.3)]) for x in views], names=views.names, present=views.present
    )
    a, b = HubCCA(2).fit(views), HubCCA(2).fit(padded)
    for v, x in enumerate(views):
        np.testing.assert_allclose(b.weights_[v][-1], 0.0, atol=1e-9)
        np.testing.assert_allclose(a.transform_view(x, v), b.transform_view(padded.arrays[v], v), atol=1e-8)


@pytest.mark.parametrize(
    ("parameters", "change", "message"),
    [
        ({"hub": "xx"}, lambda x, p: None, "hub='xx' is not among the views; they are en, de, sl"),
        ({"hub": 3}, lambda x, p: None, "hub=3"),
        ({"n_components": 0}, lambda x, p: None, "'n_components'.* Got 0"),
        ({"n_components": 7}, lambda x, p: None, "view 'de' and the hub 'en' have 6 directions in common"),
        ({"n_directions": 1}, lambda x, p: None, "n_directions=1"),
        ({"ridge": -0.1}, lambda x, p: None, r"'ridge'.* Got -0\.1"),
        ({"ridge": np.nan}, lambda x, p: None, "'ridge'.* Got nan"),
        ({}, lambda x, p: p[:, 0].fill(False), "no row has the hub 'en'"),
        ({}, lambda x, p: np.logical_not(p[:, 0], out=p[:, 1]), "'de' .* shares no row with the hub 'en'"),
        ({}, lambda x, p: p[2:, 1].fill(False), "'de' shares 2 rows with the hub 'en'; n_components=2 needs"),
        ({}, lambda x, p: x[1].fill(3.7), "view 'de' does not vary"),
        ({}, lambda x, p: x[0].fill(0.0), "view 'en' does not vary"),
        ({"ridge": 0.1}, lambda x, p: x[1][:, 1:].fill(3.7), "have 1 directions in common"),
    ],
)
def test_what_cannot_be_fitted_is_refused(rng, parameters, change, message):
    X = [rng.standard_normal((50, d)) for d in (9, 6, 7)]
    present = np.ones((50, 3), dtype=bool)
    if "shares no row" in message:
        present[:25, 0] = False
    change(X, present)
    with pytest.raises((ValueError, TypeError), match=message):
        HubCCA(**({"n_components": 2} | parameters)).fit(Views(X, names=NAMES[:3], present=present))


def test_a_wide_view_that_does_not_vary_is_refused(rng):
    X = [rng.standard_normal((80, 40)), rng.standard_normal((80, 40)), np.full((80, 40), 3.7)]
    with pytest.raises(ValueError, match=r"'view2' does not (vary|covary)"):
        HubCCA(2).fit(X)


def test_one_view_or_batches_of_different_views_are_refused(rng):
    views = small_views(rng)
    with pytest.raises(ValueError, match="at least 2"):
        HubCCA(2).fit([views["en"]])
    with pytest.raises(ValueError, match="expected the hub and at least one other"):
        HubCCA(2).fit(Batches([Views([views["en"]])]))
    with pytest.raises(ValueError, match="expected the same views in every batch"):
        HubCCA(2).fit(
            Batches([views, Views(list(views)[:2], names=["en", "xx"], present=views.present[:, :2])])
        )


def test_a_saved_model_is_the_same_and_can_take_another_view(rng, tmp_path):
    views = small_views(rng)
    model = HubCCA(2, hub="de").fit(views)
    save(model, tmp_path / "hub.isogloss")
    again = load(tmp_path / "hub.isogloss")
    np.testing.assert_array_equal(
        again.transform_view(views["sl"], "sl"), model.transform_view(views["sl"], "sl")
    )
    pair = views.shared(1, 0)
    assert_same(model.add_view("new", pair), again.add_view("new", pair))
