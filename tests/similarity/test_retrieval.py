"""Ranks of mates, and the scores that they give."""

import numpy as np
import pytest

from isogloss.similarity import PairScores, compare, mate_ranks


def test_scores_of_known_ranks():
    scores = PairScores.of_ranks(np.array([1.0, 2.0, 4.0, 20.0] + [1.0] * 16))
    assert scores.documents == 20
    assert scores.mrr == pytest.approx((17 + 1 / 2 + 1 / 4 + 1 / 20) / 20)
    assert (scores.p1, scores.p10) == (0.85, 0.95)
    assert scores.score == pytest.approx(200 * np.mean((20 - np.array([1, 2, 4, 20] + [1] * 16)) / 19 - 0.5))


def test_the_score_of_the_thesis_runs_from_minus_to_plus_a_hundred():
    n = 7
    assert PairScores.of_ranks(np.ones(n)).score == pytest.approx(100)
    assert PairScores.of_ranks(np.full(n, float(n))).score == pytest.approx(-100)
    assert PairScores.of_ranks(np.full(n, (n + 1) / 2)).score == pytest.approx(0)


def test_ranks_equal_those_of_a_sorted_list():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((2, 1500, 6))
    order = np.argsort(-(X.astype("f4") @ Y.astype("f4").T), axis=1)
    expected = 1 + np.argmax(order == np.arange(1500)[:, None], axis=1)
    np.testing.assert_array_equal(mate_ranks(X, Y), expected)


def test_documents_that_look_like_the_mate_count_half():
    Y = np.zeros((5, 3))
    assert mate_ranks(np.ones((5, 3)), Y).tolist() == [3.0] * 5


def test_csls_holds_back_a_document_that_is_close_to_everything():
    rng = np.random.default_rng(1)
    Y = rng.standard_normal((60, 20))
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    X = Y + 0.1 * rng.standard_normal(Y.shape)
    hub = X.mean(axis=0)
    Y[0] = 40 * hub / np.linalg.norm(hub)
    plain, corrected = mate_ranks(X, Y), mate_ranks(X, Y, csls=10)
    assert np.mean(plain > 1) > 0.3
    assert np.mean(corrected[1:] > 1) < 0.6 * np.mean(plain[1:] > 1)


def test_only_rows_with_both_languages_are_compared():
    Z = np.eye(6)
    present = np.ones((6, 2), dtype=bool)
    present[[0, 3], 1] = False
    report = compare({"en": Z, "de": Z[present[:, 1]]}, presence=present)
    assert report.pairs["en", "de"].documents == 4
    assert report.amrr == 1.0
    assert report.monolingual is None


def test_other_halves_give_a_monolingual_control():
    Z = np.eye(4)
    report = compare({"en": Z, "de": Z}, {"en": Z, "de": Z[::-1]}, presence=np.ones((4, 2), dtype=bool))
    assert report.pairs["en", "en"].mrr == 1.0
    assert report.monolingual == pytest.approx((1 + report.pairs["de", "de"].mrr) / 2)
    assert set(report.as_dict()) == {"amrr", "p1", "p10", "score", "monolingual", "pairs"}


def test_amrr_is_the_mean_over_ordered_pairs():
    rng = np.random.default_rng(3)
    report = compare({k: rng.standard_normal((9, 3)) for k in "abc"}, presence=np.ones((9, 3), dtype=bool))
    assert len(report.pairs) == 6
    assert report.amrr == pytest.approx(np.mean([scores.mrr for scores in report.pairs.values()]))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="a target for each query"):
        mate_ranks(np.ones((3, 2)), np.ones((4, 2)))
    with pytest.raises(ValueError, match="no row has two languages"):
        compare({"a": np.ones((2, 2)), "b": np.ones((0, 2))}, presence=np.array([[1, 0], [1, 0]], dtype=bool))
    with pytest.raises(ValueError, match="no ranks"):
        PairScores.of_ranks(np.zeros(0))
