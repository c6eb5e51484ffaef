"""Counts and CountTable: exact sums of integers, exact differences, exact files."""

from collections import Counter

import numpy as np
import pytest

from isogloss.stats import Counts, CountTable, Statistic


def test_counts_are_a_counter_with_batches():
    documents = [["a", "b", "a"], [], [("a", 1), 7, "b"]]
    counts = Counts()
    for words in documents:
        assert counts.update(words) is counts
    expected = Counter(word for words in documents for word in words)
    assert dict(counts.items()) == dict(expected)
    assert (len(counts), counts.total, counts.batches) == (4, 6, 3)
    assert counts["missing"] == 0
    assert "missing" not in counts
    assert "a" in counts
    assert set(counts) == set(expected)
    assert counts != Counts()
    assert isinstance(counts, Statistic)


def test_any_iterable_is_a_batch_and_a_mapping_is_its_keys():
    counts = Counts().update(word for word in ("a", "a")).update({"a": 100}).update(np.array([3, 3]))
    assert (counts["a"], counts[3]) == (3, 2)


def test_a_bad_batch_changes_nothing():
    counts = Counts().update(["a"])
    with pytest.raises(TypeError, match="got the text 'a sentence'"):
        counts.update("a sentence")
    with pytest.raises(TypeError, match="unhashable"):
        counts.update(["a", ["b"]])
    assert counts == Counts().update(["a"])


def test_equal_counts_come_in_order_of_the_keys():
    counts = Counts().update(["c", "b", "a", "b"])
    assert counts.most_common() == [("b", 2), ("a", 1), ("c", 1)]
    assert counts.most_common(1) == [("b", 2)]
    assert Counts().update(["a", "c", "b", "b"]).most_common() == counts.most_common()


def test_a_window_forgets_what_it_learned():
    days = [Counts().update(words) for words in (["a", "b"], ["b", "c"], ["c"])]
    window = Counts().merge(days[0]).merge(days[1]).merge(days[2]).subtract(days[0])
    assert window == Counts().merge(days[1]).merge(days[2])
    assert "a" not in window
    assert len(window.subtract(window)) == 0
    assert window == Counts()


@pytest.mark.parametrize(
    ("taken", "words"),
    [(["a", "a"], "cannot take away 2 x 'a': it was counted 1 times"), (["c"], "1 x 'c'")],
)
def test_more_than_was_counted_cannot_be_taken(taken, words):
    counts = Counts().update(["a", "b"])
    with pytest.raises(ValueError, match=words):
        counts.subtract(Counts().update(["b"]).merge(Counts().update(taken)))
    with pytest.raises(ValueError, match="cannot take away 2 batches of 1"):
        counts.subtract(Counts().update([]).update([]))
    assert counts == Counts().update(["a", "b"]), "a refused subtraction changes nothing"


@pytest.mark.parametrize(
    "keys",
    [
        [],
        [""],
        ["", "a\nb", "\u2028", "\x85", '"', "ß", "中文", "\U0001f600"],
        ["\ud800", "\ud83d\ude00"],
        [1, "1", -5, 2**70],
        [("a", 1), ("a",), (), ("a", "b", "c")],
        [*np.array([1, 2]), (np.int64(3), "x")],
    ],
)
def test_every_key_survives_a_file(keys):
    counts = Counts().update(keys).update(keys)
    again = Counts.from_arrays(counts.arrays())
    assert again == counts
    assert dict(again.items()) == dict(counts.items())
    assert all(array.dtype != object for array in counts.arrays().values())


def test_counts_of_other_keys_are_refused():
    arrays = Counts().update(["a", "b"]).arrays()
    with pytest.raises(ValueError, match="2 keys and 1 counts"):
        Counts.from_arrays(arrays | {"values": np.array([1])})


def test_a_table_counts_codes(rng):
    codes = np.column_stack([rng.integers(0, 3, 200), rng.integers(0, 4, 200)])
    table = CountTable((3, 4)).update(codes[:50]).update(codes[50:].astype(np.uint64)).update([])
    expected = np.zeros((3, 4), dtype=int)
    for i, j in codes:
        expected[i, j] += 1
    np.testing.assert_array_equal(table.table, expected)
    assert table.table.dtype == np.int64
    assert isinstance(table, Statistic)


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        ([[0, 4]], "outside the table"),
        ([[-1, 0]], "outside the table"),
        ([[0.0, 1.0]], "expected integers"),
        ([[0]], "2 columns"),
        ([0, 1], "2 columns"),
        ([["a", "b"]], "expected integers"),
    ],
)
def test_codes_outside_the_table_are_refused(codes, words):
    table = CountTable((3, 4))
    with pytest.raises(ValueError, match=words):
        table.update(codes)
    assert table.table.sum() == 0


def test_tables_of_other_shapes_do_not_add():
    table = CountTable((2, 2)).update([[0, 0]])
    for other in (CountTable((2, 3)), CountTable((2,))):
        with pytest.raises(ValueError, match="cannot combine tables of shapes"):
            table.merge(other)
        with pytest.raises(ValueError, match="cannot combine tables of shapes"):
            table.subtract(other)
    with pytest.raises(ValueError, match="more than was counted"):
        table.subtract(CountTable((2, 2)).update([[0, 0], [1, 1]]))
    np.testing.assert_array_equal(table.table, [[1, 0], [0, 0]])
