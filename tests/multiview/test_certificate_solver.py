"""The trust region, the ranks and the dual of the relaxation."""

import numpy as np
import pytest

from experiments._sumcor_problems import random_problem
from isogloss.multiview.certificates import (
    Blocks,
    QuadraticForm,
    Slack,
    as_quadratic_form,
    best_rounding,
    deflate,
    largest_eigenpair,
    solve_relaxation,
)
from isogloss.multiview.certificates import _trust_region as trust_region
from isogloss.multiview.certificates._lowrank_sdp import largest_rank
from isogloss.multiview.certificates._rounding import climb_by_blocks
from tests.oracles.sumcor import starting_points


def form_of(kind, sizes, seed=0):
    return QuadraticForm(Blocks(sizes), random_problem(kind, sizes, np.random.default_rng(seed)))


def test_the_ranks_that_are_needed():
    assert [largest_rank(m) for m in range(1, 12)] == [1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5]


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("sizes", [[3, 2, 4], [1, 1, 1, 1], [10, 12, 9, 1]])
def test_the_trust_region_ends_in_a_critical_point(rng, sizes, columns, monkeypatch):
    values = []
    evaluate = trust_region.evaluate

    def watched(form, V):
        state = evaluate(form, V)
        values.append(state.value)
        return state

    monkeypatch.setattr(trust_region, "evaluate", watched)
    form = form_of("gram", sizes)
    end = trust_region.climb_factor(form, rng.standard_normal((sum(sizes), columns)))
    assert end.slope < 1e-9
    assert end.value == max(values) or end.value == pytest.approx(max(values), rel=1e-13)
    np.testing.assert_allclose(form.blocks.inner(end.V, end.V), 1, rtol=1e-14)


def test_the_gradient_and_the_model_are_those_of_the_form(rng):
    sizes = [3, 2, 4]
    form = form_of("gram", sizes)
    state = trust_region.evaluate(form, rng.standard_normal((9, 2)))
    step, predicted = trust_region._truncated_cg(form, state, 1e-3)
    assert np.linalg.norm(step) <= 1e-3 * (1 + 1e-12)
    np.testing.assert_allclose(form.blocks.inner(step, state.V), 0, atol=1e-15)
    gained = 0.5 * (trust_region.evaluate(form, state.V + step).value - state.value)
    # Along the normalised path the model is right up to third order.
    assert gained == pytest.approx(predicted, abs=20 * np.linalg.norm(step) ** 3)
    assert gained > 0


def test_steps_stay_in_the_tangent_space(rng):
    form = form_of("gram", [10, 12, 9])
    near = trust_region.climb_factor(form, rng.standard_normal((31, 1))).V + 0.02 * rng.standard_normal(
        (31, 1)
    )
    state = trust_region.evaluate(form, near)
    step, _ = trust_region._truncated_cg(form, state, 1.0)
    np.testing.assert_allclose(form.blocks.inner(step, state.V), 0, atol=1e-14)
    assert np.linalg.norm(step) < 1
    assert trust_region.evaluate(form, state.V + step).slope < 0.1 * state.slope


def test_steps_that_do_not_help_are_not_taken(rng, monkeypatch):
    form = form_of("gram", [4, 5, 6])
    start = trust_region.evaluate(form, form.blocks.normalise(rng.standard_normal((15, 2))))

    def deluded(form, state, radius):
        return -state.gradient * radius, 1.0

    monkeypatch.setattr(trust_region, "_truncated_cg", deluded)
    assert trust_region.climb_factor(form, start.V, max_iter=20).value >= start.value * (1 - 1e-12)


def test_a_start_at_a_saddle_is_left(rng):
    """All views along their second feature: critical, and not the optimum."""
    A = np.kron(np.ones((3, 3)) - np.eye(3), np.diag([0.9, 0.2])) + np.eye(6)
    form = as_quadratic_form(A, [2, 2, 2], dense_limit=100)
    saddle = np.tile([0.0, 1.0], 3)[:, None]
    assert trust_region.evaluate(form, saddle).slope < 1e-15
    relaxation = solve_relaxation(form, [saddle], tol=1e-9, rng=np.random.RandomState(0))
    assert relaxation.V.shape[1] == 1
    assert relaxation.value == pytest.approx(3 + 6 * 0.9, rel=1e-10)


def test_a_bound_of_poor_multipliers_is_valid_and_loose(rng):
    form = form_of("gram", [2, 3, 2])
    best = solve_relaxation(form, [np.ones((7, 1))], tol=1e-9, rng=np.random.RandomState(0))
    slack = Slack(form, best.multipliers - 0.3)
    given = slack.bound(slack.smallest(np.random.RandomState(0)))
    assert given.kind == "proven"
    assert given.shift == pytest.approx(0.3, rel=1e-6)
    assert given.bound == pytest.approx(best.dual.bound, rel=1e-6)
    assert slack.finest_bound() is None


def test_lanczos_and_lapack_agree(rng):
    form = form_of("gram", [60, 70])
    pair = largest_eigenpair(form, np.random.RandomState(0))
    assert pair.value == pytest.approx(np.linalg.eigvalsh(form.matrix)[-1], rel=1e-6)
    assert pair.residual < 1e-3
    multipliers = np.array([1.2, 0.7])
    smallest = Slack(form, multipliers).smallest(np.random.RandomState(0))
    S = np.diag(np.repeat(multipliers, [60, 70])) - form.matrix
    assert smallest.value == pytest.approx(np.linalg.eigvalsh(S)[0], abs=1e-8)


def test_projection_on_the_spheres(rng):
    blocks = Blocks([2, 1, 3])
    V = rng.standard_normal((6, 2))
    V[2] = 0
    unit = blocks.normalise(V)
    np.testing.assert_allclose(blocks.inner(unit, unit), 1)
    np.testing.assert_array_equal(unit[2], [1, 0])
    columns = blocks.normalise_columns(V)
    for k in range(2):
        np.testing.assert_allclose(columns[:, [k]], blocks.normalise(V[:, [k]]))


def test_climbing_by_blocks_never_falls(rng):
    sizes = [1, 2, 3, 1]
    form = form_of("spectrum", sizes)
    operator = QuadraticForm(form.blocks, product=lambda V: form.matrix @ V)
    points = starting_points(sizes, rng, 40)
    for kind in (form, operator):
        values = [
            np.einsum("ij,ij->j", X, form(X)) for X in (climb_by_blocks(kind, points, s) for s in range(8))
        ]
        assert np.diff(values, axis=0).min() > -1e-12


def test_rounding_is_a_point_and_no_worse_than_the_leading_eigenvector(rng):
    form = form_of("gram", [1] * 9, seed=3)
    V = form.blocks.normalise(rng.standard_normal((9, 3)))
    point = best_rounding(form, V, np.random.RandomState(0))
    np.testing.assert_allclose(np.abs(point), 1)
    assert form.value(point) >= form.value(form.blocks.normalise(V[:, :1]))


def test_a_deflated_form_ignores_earlier_directions(rng):
    form = form_of("gram", [3, 4])
    previous = rng.standard_normal((7, 2))
    dense = deflate(form, previous)
    operator = deflate(QuadraticForm(form.blocks, product=lambda V: form.matrix @ V), previous)
    V = rng.standard_normal((7, 3))
    np.testing.assert_allclose(dense(V), operator(V), atol=1e-13)
    for part in form.blocks.slices:
        masked = np.zeros((7, 2))
        masked[part] = previous[part]
        np.testing.assert_allclose(dense(masked), 0, atol=1e-13)
