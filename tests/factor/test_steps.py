"""The steps of EM agree with the slow twin that goes row by row; the bound is what it says."""

import copy
import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.em import parameters_id
from isogloss.factor._data import prepare
from isogloss.factor._noise import NOISES, noise_of
from isogloss.factor._steps import expect, expected_log_joint, factor_model, log_likelihood_of, solve
from isogloss.factor._units import shift
from isogloss.stats import PatternMoments
from tests.factor.data import draw_parameters, draw_rows, flat
from tests.oracles import factor as oracle

KINDS = ("full", "diag", "isotropic")


def setup(rng, kind, n=40, missing=0.3):
    truth, p = (draw_parameters(rng, kind=kind) for _ in range(2))
    views = draw_rows(rng, truth, n, missing)
    data = prepare(PatternMoments(views.dims).update(views), kind, standardise=False)
    p = dataclasses.replace(p, mean=truth.mean + rng.standard_normal(len(truth.mean)))
    return views, data, p, p.moved(shift(-data.units.origin, p.dims))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("n", [9, 80])
def test_one_step_is_that_of_the_twin(rng, kind, missing, n):
    """Nine rows are kept as rows, eighty as moments."""
    views, data, p, shifted = setup(rng, kind, n, missing)
    statistic = expect(data, shifted)
    densities = oracle.log_density(views, p.mean, p.W, p.noises)
    assert statistic.log_likelihood == pytest.approx(densities.sum(), rel=1e-10)
    if n < 20 and kind == "full":
        return  # too few rows for an M-step
    found = solve(data, 1e-9, statistic, shifted).moved(data.units)
    mean, W, noises = oracle.em_step(views, p.mean, p.W, p.noises, kind)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-8)
    np.testing.assert_allclose(found.W, W, rtol=1e-7, atol=1e-9)
    for a, b in zip(found.noises, noises, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8)


def scaled_parameters(p, units):
    """The parameters in the given units; the inverse of ``moved``."""
    noises = [units.undo(units.undo(P, [v]).T, [v]) for v, P in enumerate(p.noises)]
    noise = flat(noises, p.kind, p.dims)
    return dataclasses.replace(p, mean=units.undo(p.mean - units.origin), W=units.undo(p.W), noise=noise)


@pytest.mark.parametrize("kind", KINDS)
def test_standardised_units_change_nothing(rng, kind):
    views, plain, p, shifted = setup(rng, kind)
    scaled = prepare(PatternMoments(views.dims).update(views), kind)
    assert not np.allclose(scaled.units.log_dets, 0.0)
    there = scaled_parameters(p, scaled.units)
    a, b = expect(plain, shifted), expect(scaled, there)
    assert b.log_likelihood == pytest.approx(a.log_likelihood, rel=1e-9)
    one = solve(plain, 1e-12, a, shifted).moved(plain.units)
    two = solve(scaled, 1e-12, b, there).moved(scaled.units)
    np.testing.assert_allclose(two.W, one.W, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(two.noise, one.noise, rtol=1e-7, atol=1e-9)


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    missing=st.sampled_from([0.0, 0.4]),
    ridge=st.sampled_from([0.0, 0.1]),
)
def test_bound_is_the_log_likelihood_and_a_lower_bound_elsewhere(seed, kind, missing, ridge):
    rng = np.random.default_rng(seed)
    views = draw_rows(rng, draw_parameters(rng, kind=kind), 30, missing)
    data = prepare(PatternMoments(views.dims).update(views), kind, ridge=ridge)
    p, q = (dataclasses.replace(draw_parameters(rng, kind=kind), mean=rng.normal(size=12)) for _ in "pq")
    statistic = expect(data, p)
    from_sums = expected_log_joint(data, statistic, p) + statistic.entropy
    assert from_sums == pytest.approx(statistic.log_likelihood, rel=1e-9)
    statistic.parameters_id = parameters_id(p)
    energy = factor_model(data, floor=1e-6).free_energy(statistic, p)
    assert energy.bound == pytest.approx(statistic.log_likelihood, rel=1e-12)
    assert energy.kl == pytest.approx(0.0, abs=1e-9 * abs(energy.bound))
    elsewhere = expected_log_joint(data, statistic, q) + statistic.entropy
    assert elsewhere <= expect(data, q).log_likelihood + 1e-9 * abs(elsewhere)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_rows_and_moments_of_a_pattern_are_the_same(rng, kind, ridge):
    views = draw_rows(rng, draw_parameters(rng), 30, 0.4)
    as_rows = PatternMoments(views.dims).update(views)
    as_moments = copy.deepcopy(as_rows)
    for sums in as_moments._sums.values():
        sums._as_moments()
    p = draw_parameters(rng, kind=kind)
    one, two = (prepare(moments, kind, ridge=ridge) for moments in (as_rows, as_moments))
    assert any(pattern.rows is not None for pattern in one.patterns)
    assert all(pattern.rows is None for pattern in two.patterns)
    np.testing.assert_allclose(one.scatter, two.scatter, rtol=1e-10, atol=1e-10)
    a, b = expect(one, p), expect(two, p)
    assert a.log_likelihood == pytest.approx(b.log_likelihood, rel=1e-11)
    for name in a.tables:
        np.testing.assert_allclose(a[name], b[name], rtol=1e-9, atol=1e-9)


def test_a_ridge_is_independent_noise_on_every_feature(rng):
    """Adding a ridge to the second moments within views is what much noise does on average."""
    views = draw_rows(rng, draw_parameters(rng), 50)
    moments = PatternMoments(views.dims).update(views)
    plain, ridged = prepare(moments, "full"), prepare(moments, "full", ridge=0.3)
    np.testing.assert_allclose(ridged.covariance - plain.covariance, 0.3 * np.eye(12), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_packing_is_undone(rng, kind):
    p = draw_parameters(rng, kind=kind)
    model = factor_model(prepare(PatternMoments(p.dims).update(draw_rows(rng, p, 20)), kind), floor=1e-9)
    again = model.unpack(model.pack(p), p)
    for name in ("mean", "W", "noise"):
        np.testing.assert_allclose(getattr(again, name), getattr(p, name), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_floor_is_a_constraint_under_which_the_step_is_exact(rng, kind):
    """No noise above the floor is more likely than the one the M-step finds."""
    dims, floor = (3, 2), 0.5
    shape = noise_of(kind, dims)
    root = rng.standard_normal((3, 3)), rng.standard_normal((2, 2))
    second = np.zeros((5, 5))
    second[:3, :3], second[3:, 3:] = root[0] @ root[0].T, root[1] @ root[1].T
    scatter = shape.part(second, dims)

    def value(noise):
        precision = shape.precision(noise, dims)
        return -precision.log_dets.sum() - precision.trace(scatter)

    best = shape.estimate(scatter, np.ones(5), dims, floor)
    assert min(np.linalg.eigvalsh(P)[0] for P in shape.matrices(best, dims)) >= floor - 1e-12
    for _ in range(200):
        direction = shape.part(np.cov(rng.standard_normal((5, 4))), dims)
        other = shape.estimate(direction[: len(scatter)], np.ones(5), dims, floor)
        mixed = best + rng.uniform(0, 1) * (other - best)
        assert value(mixed) <= value(best) + 1e-10


def test_views_of_one_feature_have_diagonal_noise():
    assert noise_of("full", (1, 1, 1)) is NOISES["diag"]
    assert noise_of("full", (1, 2)) is NOISES["full"]


@pytest.mark.parametrize("kind", KINDS)
def test_likelihood_from_sums_is_that_of_rows(rng, kind):
    p = draw_parameters(rng, kind=kind)
    views = draw_rows(rng, p, 60, 0.3)
    expected = oracle.log_density(views, p.mean, p.W, p.noises).sum()
    assert log_likelihood_of(p, PatternMoments(p.dims).update(views)) == pytest.approx(expected, rel=1e-10)
