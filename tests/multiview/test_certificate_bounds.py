"""The bounds of chapter 5 hold on every instance, and are the published ones where there are figures."""

import numpy as np
import pytest

from experiments._sumcor_problems import GENERATORS, random_problem
from isogloss.multiview import certify
from isogloss.multiview.certificates import _bounds as bounds
from tests.oracles.sumcor import brute_force


@pytest.fixture(scope="module")
def instances():
    rng = np.random.default_rng(5)
    out = []
    for t in range(150):
        sizes = [1 + t % 3] * (3 + 2 * (t % 2))
        A = random_problem(GENERATORS[t % 3 if t % 4 else 1], sizes, rng)
        out.append((A, sizes, brute_force(A, sizes, rng, 100), certify(A, sizes, random_state=0)))
    return out


def test_upper_bounds_are_in_order(instances):
    for A, sizes, best, c in instances:
        m = len(sizes)
        assert best - 1e-9 <= c.bound <= c.l2_bound + 1e-9 <= m * m + 1e-8
        assert c.l2_bound == pytest.approx(m * np.linalg.eigvalsh(A)[-1], rel=1e-9)
        assert c.trivial_bounds == (m, m * m)


def test_lower_bounds_are_in_order(instances):
    for _, sizes, best, c in instances:
        assert len(sizes) <= c.omega_bound + 1e-9
        assert c.two_over_pi_bound <= c.omega_bound + 1e-12 <= best + 1e-9


def test_omega_improves_the_bound_somewhere(instances):
    assert max(c.omega_bound / c.two_over_pi_bound for *_, c in instances) > 1.05


def test_the_rounding_gap_is_bounded_where_the_propositions_apply(instances):
    applicable = [c for *_, c in instances if c.low_rank_gap is not None and c.rank > 1]
    assert len(applicable) >= 3
    for c in applicable:
        assert c.relaxation_value - c.rounded_value <= c.low_rank_gap + 1e-9


def test_the_relaxation_is_feasible_and_of_low_rank(instances):
    for A, sizes, _, c in instances:
        m = len(sizes)
        X = c.factor @ c.factor.T
        blocks = np.split(np.diag(X), np.cumsum(sizes)[:-1])
        np.testing.assert_allclose([b.sum() for b in blocks], 1, atol=1e-12)
        assert np.sum(A * X) == pytest.approx(c.relaxation_value, rel=1e-12)
        assert c.bound == pytest.approx(c.relaxation_value, rel=1e-8)
        assert c.rank * (c.rank + 1) / 2 <= m
        gram = c.factor.T @ c.factor
        np.testing.assert_allclose(gram, np.diag(np.sort(np.diag(gram))[::-1]), atol=1e-10)


def test_the_bound_is_that_of_the_multipliers(instances):
    for A, sizes, _, c in instances:
        S = np.diag(np.repeat(c.multipliers + c.shift, sizes)) - A
        assert np.linalg.eigvalsh(S)[0] >= 0
        assert c.bound == pytest.approx(c.multipliers.sum() + len(sizes) * c.shift, rel=1e-14)


def test_omega_runs_from_one_to_half_pi_and_is_convex():
    grid = np.linspace(0, 1, 101)
    values = np.array([bounds.omega(beta) for beta in grid])
    assert (values[0], values[-1]) == (1, pytest.approx(np.pi / 2))
    assert (np.diff(values) > 0).all()
    assert (np.diff(values, 2) > 0).all()


def test_the_printed_figure_for_three_views():
    """m = 3: the factor 2/pi grows by at least 1.05, because psi <= 9."""
    assert 1.05 < bounds.omega_bound(9.0, 3) / bounds.two_over_pi_bound(9.0) < 1.06


def test_corollary_5_10_is_theorem_5_9_in_other_units():
    for psi, m in [(9.0, 3), (12.3, 5), (5.0, 5)]:
        converted = bounds.correlation_sum(bounds.two_over_pi_bound(psi), m)
        assert bounds.two_over_pi_correlations(bounds.correlation_sum(psi, m), m) == pytest.approx(converted)


@pytest.mark.parametrize(
    ("eigenvalues", "expected"),
    [
        ([3.0], 0.0),
        ([2.5, 0.5], (1 / 0.5 - 1) * 9 + 0.5 * 2),
        ([2.6, 0.2, 0.2], (1 / 0.6 - 1) * 9 + 0.4 * 2),
        ([2.0, 1.0], None),
        ([1.5, 1.5], None),
        ([1.9, 0.6, 0.5], None),
    ],
)
def test_rank_based_gaps(eigenvalues, expected):
    given = bounds.low_rank_gap(np.array(eigenvalues), 2.0)
    assert given == (expected if expected is None else pytest.approx(expected))
    if len(eigenvalues) <= 2:
        assert bounds.rank_two_gap(np.array(eigenvalues), 2.0) == given
    else:
        assert bounds.rank_two_gap(np.array(eigenvalues), 2.0) is None
