"""The EM loop on a model small enough to check by hand: two biased coins.

Each row is the number of heads in ten throws of one coin; which coin is hidden (Do and Batzoglou, 2008).
"""

import dataclasses
import gc
import warnings
import weakref

import numpy as np
import pytest
from scipy.special import logsumexp, xlogy
from sklearn.exceptions import ConvergenceWarning

from isogloss.em import (
    EMMixin,
    EMModel,
    FullExpectation,
    IncrementalExpectation,
    Recorder,
    SparseExpectation,
    SparseSteps,
    best_of,
    parameters_id,
    run_em,
)
from isogloss.engine import LocalEngine, Rows
from isogloss.exceptions import DecreaseError
from isogloss.stats import ExpectedCounts

THROWS = 10


@dataclasses.dataclass(frozen=True)
class Coins:
    heads: np.ndarray


def log_joint(rows, coins):
    return xlogy(rows[:, None], coins.heads) + xlogy(THROWS - rows[:, None], 1 - coins.heads) - np.log(2)


def expect(rows, coins):
    joint = log_joint(rows, coins)
    norm = logsumexp(joint, axis=1)
    q = np.exp(joint - norm[:, None])
    return ExpectedCounts(
        {"heads": q.T @ rows, "tails": q.T @ (THROWS - rows)},
        rows=len(rows),
        entropy=-xlogy(q, q).sum(),
        log_likelihood=norm.sum(),
    )


def solve(statistic, _coins):
    return Coins(statistic["heads"] / (statistic["heads"] + statistic["tails"]))


def expected_log_joint(statistic, coins):
    value = xlogy(statistic["heads"], coins.heads) + xlogy(statistic["tails"], 1 - coins.heads)
    return float(value.sum() - statistic.rows * np.log(2))


MODEL = EMModel(
    expect,
    solve,
    expected_log_joint,
    pack=lambda coins: np.log(coins.heads / (1 - coins.heads)),
    unpack=lambda v, _like: Coins(1 / (1 + np.exp(-v))),
)
HEADS = np.array([5.0, 9.0, 8.0, 4.0, 7.0])
START = Coins(np.array([0.6, 0.5]))


def full(model=MODEL, rows=HEADS, **options):
    return FullExpectation(model, Rows(rows, batch_rows=max(2, len(rows) // 3)), LocalEngine(**options))


def test_the_published_example():
    result = run_em(MODEL, full(), START, tol=0.0, max_iter=10)
    np.testing.assert_allclose(result.parameters.heads, [0.80, 0.52], atol=0.005)


def test_one_step_by_hand():
    result = run_em(MODEL, full(), START, tol=0.0, max_iter=1)
    np.testing.assert_allclose(result.parameters.heads, [0.71, 0.58], atol=0.005)


def test_free_energy_identities_at_every_step():
    seen = []
    run_em(MODEL, full(), START, tol=0, max_iter=20, callbacks=[lambda line, p: seen.append((line, p))])
    assert len(seen) == 21
    for line, coins in seen:
        energy = line.free_energy
        likelihood = logsumexp(log_joint(HEADS, coins), axis=1).sum()
        assert energy.log_likelihood == pytest.approx(likelihood, rel=1e-12)
        assert energy.bound == pytest.approx(energy.expected_log_joint + energy.entropy, rel=1e-14)
        assert energy.kl == pytest.approx(0.0, abs=1e-10)


def test_gap_to_other_parameters_is_the_divergence():
    """A posterior taken elsewhere gives a lower bound, and the gap is KL(q || p)."""
    q_coins, coins = Coins(np.array([0.7, 0.3])), Coins(np.array([0.8, 0.5]))
    statistic = expect(HEADS, q_coins)
    energy = MODEL.free_energy(statistic, coins)
    assert energy.log_likelihood is None
    assert energy.kl is None
    q, p = (log_joint(HEADS, c) - logsumexp(log_joint(HEADS, c), axis=1)[:, None] for c in (q_coins, coins))
    divergence = (np.exp(q) * (q - p)).sum()
    likelihood = logsumexp(log_joint(HEADS, coins), axis=1).sum()
    assert divergence > 0.01
    assert likelihood - energy.bound == pytest.approx(divergence, rel=1e-10)


def test_returned_parameters_are_those_of_the_last_bound():
    result = run_em(MODEL, full(), START, tol=1e-4)
    assert result.converged
    assert result.statistic.parameters_id == parameters_id(result.parameters)
    assert result.bound == pytest.approx(logsumexp(log_joint(HEADS, result.parameters), axis=1).sum())


def test_tolerance_is_per_row():
    """The same rows a hundred times over need the same number of steps."""
    once = run_em(MODEL, full(), START, tol=1e-4)
    often = run_em(MODEL, full(rows=np.tile(HEADS, 100)), START, tol=1e-4)
    assert once.n_iter == often.n_iter


def test_no_steps_only_evaluates():
    result = run_em(MODEL, full(), START, max_iter=0)
    assert result.parameters is START
    assert len(result.trace) == 1


def test_warm_start_continues():
    first = run_em(MODEL, full(), START, tol=0, max_iter=3)
    second = run_em(MODEL, full(), first.parameters, tol=0, max_iter=3)
    whole = run_em(MODEL, full(), START, tol=0, max_iter=6)
    np.testing.assert_allclose(second.parameters.heads, whole.parameters.heads, rtol=1e-14)


def test_best_of_takes_the_highest_bound():
    starts = [Coins(np.array([0.5, 0.5])), START]
    results = [run_em(MODEL, full(), start, tol=1e-8) for start in starts]
    assert best_of(results) is results[1]


def test_parameters_of_earlier_steps_are_let_go():
    seen = []
    alive = []

    def watch(_line, coins):
        seen.append(weakref.ref(coins))
        gc.collect(1)
        alive.append(sum(ref() is not None for ref in seen))

    run_em(MODEL, full(), START, tol=-np.inf, max_iter=12, callbacks=[watch])
    assert max(alive) <= 3


def test_callback_stops():
    result = run_em(MODEL, full(), START, tol=0, callbacks=[lambda line, _p: line.index == 2])
    assert result.n_iter == 2
    assert not result.converged


def test_a_recorder_keeps_the_parameters_of_every_line():
    recorder = Recorder()
    result = run_em(MODEL, full(), START, tol=0, max_iter=3, callbacks=[recorder])
    assert recorder.lines == list(result.trace)
    assert recorder.parameters[0] is START
    assert recorder.parameters[-1] is result.parameters


class Estimator(EMMixin):
    tol = 1e-4

    def __init__(self, max_iter):
        self.max_iter = max_iter

    def fit(self, *callbacks):
        self._keep_trace(self._run_em(MODEL, full(), START, callbacks))
        return self


def test_only_a_fit_that_ran_out_of_steps_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Estimator(100).fit().converged_
        assert not Estimator(0).fit().converged_
        assert not Estimator(100).fit(lambda *_: True).converged_
    with pytest.warns(ConvergenceWarning, match="Estimator did not reach tol=0.0001 in 1 steps"):
        Estimator(1).fit()


def wrong_solve(statistic, _coins):
    return Coins(statistic["tails"] / (statistic["heads"] + statistic["tails"]))


class TestDecrease:
    MODEL = dataclasses.replace(MODEL, solve=wrong_solve)

    def test_raise(self):
        with pytest.raises(DecreaseError, match="fell"):
            run_em(self.MODEL, full(self.MODEL), START)

    def test_warn_continues(self):
        with pytest.warns(ConvergenceWarning, match="fell"):
            result = run_em(self.MODEL, full(self.MODEL), START, on_decrease="warn", max_iter=3, tol=0)
        assert len(result.trace) > 2

    def test_revert_keeps_the_best(self):
        result = run_em(self.MODEL, full(self.MODEL), START, on_decrease="revert")
        assert result.bound == max(result.bounds)
        assert not result.converged

    def test_unknown(self):
        with pytest.raises(ValueError, match="on_decrease"):
            run_em(MODEL, full(), START, on_decrease="ignore")


def test_degenerate_bound_is_an_error():
    broken = dataclasses.replace(MODEL, expected_log_joint=lambda _s, _p: np.nan)
    with pytest.raises(ValueError, match="degenerate"):
        run_em(broken, full(broken), START)


def slow_rows():
    """Two coins so alike that plain EM crawls."""
    return np.random.default_rng(1).binomial(THROWS, [0.48] * 300 + [0.56] * 300).astype(float)


class TestAcceleration:
    START = Coins(np.array([0.9, 0.1]))

    def climb(self, **options):
        return run_em(MODEL, full(rows=slow_rows()), self.START, tol=1e-12, max_iter=20_000, **options)

    def test_same_end_in_fewer_steps(self):
        plain, fast = self.climb(), self.climb(accelerate=True)
        assert fast.bound == pytest.approx(plain.bound, rel=1e-8)
        assert fast.n_iter < plain.n_iter / 3

    def test_bound_never_falls(self):
        bounds = self.climb(accelerate=True).bounds
        assert np.diff(bounds).min() >= -1e-9 * abs(bounds[-1])

    def test_a_wild_jump_is_refused(self):
        wild = dataclasses.replace(MODEL, unpack=lambda _v, _like: Coins(np.array([1e-9, 1 - 1e-9])))
        result = run_em(wild, full(wild), START, tol=1e-6, accelerate=True)
        assert result.converged
        assert "squarem" not in {line.kind for line in result.trace}

    def test_a_jump_to_nowhere_is_refused(self):
        nowhere = dataclasses.replace(MODEL, unpack=lambda _v, _like: Coins(np.full(2, np.nan)))
        result = run_em(nowhere, full(nowhere), START, tol=1e-6, accelerate=True)
        assert result.converged
        assert "squarem" not in {line.kind for line in result.trace}

    def test_a_jump_that_gains_nothing_is_not_the_end(self):
        """Jumps that stay where they are leave plain EM with every second step."""
        here = []
        stays = dataclasses.replace(MODEL, unpack=lambda _v, _like: here[-1])
        result = run_em(
            stays,
            full(stays, rows=slow_rows()),
            self.START,
            tol=1e-12,
            max_iter=20_000,
            accelerate=True,
            callbacks=[lambda _line, coins: here.append(coins)],
        )
        assert "squarem" in {line.kind for line in result.trace}
        assert result.bound == pytest.approx(self.climb().bound, rel=1e-8)

    def test_needs_steps_that_leave_no_trace(self):
        expectation = IncrementalExpectation(MODEL, Rows(HEADS, batch_rows=2), LocalEngine())
        with pytest.raises(ValueError, match="full E-steps"):
            run_em(MODEL, expectation, START, accelerate=True)

    def test_needs_a_vector(self):
        with pytest.raises(ValueError, match="pack"):
            run_em(dataclasses.replace(MODEL, pack=None), full(), START, accelerate=True)


class TestIncremental:
    def climb(self, **options):
        source = Rows(slow_rows(), batch_rows=100)
        start = Coins(np.array([0.8, 0.2]))
        expectation = IncrementalExpectation(MODEL, source, LocalEngine())
        return run_em(MODEL, expectation, start, tol=1e-10, max_iter=2000, **options)

    def test_same_end_as_full(self):
        result = self.climb()
        whole = run_em(MODEL, full(rows=slow_rows()), Coins(np.array([0.8, 0.2])), tol=1e-10, max_iter=9000)
        np.testing.assert_allclose(result.parameters.heads, whole.parameters.heads, atol=1e-3)

    def test_bound_never_falls(self):
        bounds = self.climb().bounds
        assert np.diff(bounds).min() >= -1e-9 * abs(bounds[-1])

    def test_needs_fewer_sweeps(self):
        sweeps = self.climb().n_iter / 6
        whole = run_em(MODEL, full(rows=slow_rows()), Coins(np.array([0.8, 0.2])), tol=1e-10, max_iter=9000)
        assert sweeps < whole.n_iter

    def test_the_limit_is_in_sweeps(self):
        expectation = IncrementalExpectation(MODEL, Rows(HEADS, batch_rows=2), LocalEngine())
        assert run_em(MODEL, expectation, START, tol=-np.inf, max_iter=2).n_iter == 2 * 3


@dataclasses.dataclass
class Listed:
    rows: np.ndarray
    statistic: ExpectedCounts


def expect_and_count(rows, coins):
    statistic = expect(rows, coins)
    statistic.tables["active"] = np.array([1.0, 2.0]) * len(rows)
    return statistic


def test_sparse_statistics_name_their_parameters():
    steps = SparseSteps(
        activate=lambda rows, coins, _threshold: Listed(rows, expect_and_count(rows, coins)),
        expect_active=lambda listed, coins: expect_and_count(listed.rows, coins),
        worthwhile=0.6,
    )
    model = dataclasses.replace(MODEL, expect=expect_and_count, sparse=steps)
    expectation = SparseExpectation(model, Rows(HEADS, batch_rows=2), LocalEngine(), refresh=2)
    kinds = []
    for heads in (0.6, 0.7, 0.8, 0.9):
        coins = Coins(np.array([heads, 0.5]))
        statistic = expectation(coins)
        kinds.append(expectation.kind)
        assert statistic.parameters_id == parameters_id(coins)
        np.testing.assert_allclose(statistic["heads"], expect(HEADS, coins)["heads"])
    assert kinds == ["full", "refresh", "sparse", "refresh"]
