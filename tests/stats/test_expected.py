"""ExpectedCounts add within one set of parameters and one model, and nowhere else; fingerprints."""

import numpy as np
import pytest

from isogloss.stats import ExpectedCounts, Statistic, fingerprint


def counts(scale=1.0, *, identity="p1", log_likelihood=-3.0, shape=(2, 3)):
    tables = {"first": np.full(shape, scale), "weight": np.array([scale, 2.0]), "active": np.array(scale)}
    return ExpectedCounts(
        tables, rows=5 * scale, entropy=scale, log_likelihood=log_likelihood, parameters_id=identity
    )


def test_merge_adds_everything():
    total = counts(1.0).merge(counts(2.0)).update(counts(4.0))
    np.testing.assert_array_equal(total["first"], np.full((2, 3), 7.0))
    np.testing.assert_array_equal(total["active"], 7.0)
    assert (total.rows, total.entropy, total.log_likelihood, total.parameters_id) == (35, 7, -9, "p1")
    assert isinstance(total, Statistic)


@pytest.mark.parametrize(("mine", "others"), [(-3.0, None), (None, -3.0), (None, None)])
def test_a_likelihood_that_one_side_does_not_know_is_unknown(mine, others):
    assert counts(log_likelihood=mine).merge(counts(log_likelihood=others)).log_likelihood is None
    assert counts(log_likelihood=mine).blend(counts(log_likelihood=others), 0.5, 0.5).log_likelihood is None


@pytest.mark.parametrize(("mine", "others"), [("p1", "p2"), ("p1", ""), ("", "p1")])
def test_counts_under_other_parameters_are_refused(mine, others):
    total, other = counts(identity=mine), counts(identity=others)
    with pytest.raises(ValueError, match="taken under different parameters"):
        total.merge(other)
    with pytest.raises(ValueError, match="taken under different parameters"):
        total.update(other)
    np.testing.assert_array_equal(total["first"], np.ones((2, 3)))


def test_counts_of_another_model_are_refused():
    others = [counts(shape=(1, 3)), counts(shape=(3, 2)), counts(shape=(2, 3, 1))]
    fewer = counts()
    del fewer.tables["active"]
    for other in (*others, fewer):
        for add in (lambda o: counts().merge(o), lambda o: counts().blend(o, 1.0, 1.0)):
            with pytest.raises(ValueError, match="expected counts of another model"):
                add(other)
    with pytest.raises(ValueError, match="expected counts of another model"):
        fewer.merge(counts())


def test_blend_is_a_weighted_sum_and_leaves_both_as_they_were():
    first, second = counts(1.0), counts(3.0, identity="p2", log_likelihood=-7.0)
    blended = first.blend(second, 0.25, 0.75, "p3")
    np.testing.assert_allclose(blended["first"], np.full((2, 3), 2.5))
    assert (blended.rows, blended.entropy, blended.log_likelihood) == (12.5, 2.5, -6.0)
    assert blended.parameters_id == "p3"
    blended["first"][:] = 0.0
    np.testing.assert_array_equal(first["first"], np.ones((2, 3)))
    np.testing.assert_array_equal(second["first"], np.full((2, 3), 3.0))
    without = counts()
    del without.tables["active"]
    assert set(without.blend(counts(), 0.5, 0.5).tables) == {"first", "weight"}


def test_under_is_a_copy_with_another_name():
    mine = counts(2.0, log_likelihood=-np.inf)
    moved = mine.under("p9")
    assert (moved.parameters_id, mine.parameters_id) == ("p9", "p1")
    assert (moved.rows, moved.entropy, moved.log_likelihood) == (10, 2, -np.inf)
    moved.merge(moved.under("p9"))
    np.testing.assert_array_equal(mine["first"], np.full((2, 3), 2.0))
    np.testing.assert_array_equal(moved["first"], np.full((2, 3), 4.0))


@pytest.mark.parametrize("identity", ["", "p1", "é"])
@pytest.mark.parametrize("log_likelihood", [None, -1.5, -np.inf])
def test_arrays_hold_everything(identity, log_likelihood):
    mine = counts(0.1, identity=identity, log_likelihood=log_likelihood)
    again = ExpectedCounts.from_arrays(mine.arrays())
    assert (again.rows, again.entropy, again.log_likelihood) == (mine.rows, mine.entropy, log_likelihood)
    assert again.parameters_id == identity
    for name, table in mine.tables.items():
        np.testing.assert_array_equal(again[name], table)
    again.merge(mine)
    assert mine["active"] == 0.1, "a copy, not a window"


def test_fingerprints_depend_on_values_shapes_types_and_order():
    x = np.arange(6.0)
    same = [x, x.copy(), np.arange(12.0)[::2] / 2]
    assert len({fingerprint(a) for a in same}) == 1
    assert fingerprint(x.reshape(2, 3)) == fingerprint(np.asfortranarray(x.reshape(2, 3)))
    other = [
        (x.reshape(2, 3),),
        (x.reshape(3, 2),),
        (x.astype(np.float32),),
        (x[:3], x[3:]),
        (x[3:], x[:3]),
        (np.nextafter(x, 9.0),),
        (),
        (np.zeros(0),),
        (np.zeros((0, 2)),),
        (np.array(0.0),),
    ]
    assert len({fingerprint(x), *(fingerprint(*arrays) for arrays in other)}) == len(other) + 1
