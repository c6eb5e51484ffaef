"""Both sides of a pair of languages, and what templates do to them."""

import numpy as np
import pytest

from isogloss.similarity import find_drift
from tests.similarity.data import as_corpus, comparable_corpus, comparable_texts


def test_templates_are_seen_on_their_side_only():
    texts = comparable_texts(n=60, languages=("en", "de", "fr"))
    texts["fr"] = [f"fr0w0 fr{row % 5}w1" for row in range(60)]
    found = find_drift(as_corpus(texts))
    assert list(found) == [("en", "de"), ("en", "fr")]
    assert found["en", "de"].gap < 0.1
    assert found["en", "fr"].ranks[1] == pytest.approx(5 / 6)
    assert found["en", "fr"].distinct == (60, 5)


def test_a_rank_is_a_share_of_the_highest_possible():
    corpus = comparable_corpus(n=40, languages=("en", "de"), missing=0.3)
    drift = find_drift(corpus)["en", "de"]
    rows = corpus.rows(["en", "de"])
    counts = corpus.matrix("en")[rows].toarray()
    limit = min(len(rows), (counts.sum(axis=0) > 0).sum())
    assert drift.rows == len(rows)
    assert drift.ranks[0] == pytest.approx(np.linalg.matrix_rank(counts) / limit)


def test_pairs_can_be_chosen_and_those_without_a_common_row_are_left_out():
    texts = comparable_texts(n=40, languages=("en", "de", "fr"))
    texts["de"] = [text if row % 2 else None for row, text in enumerate(texts["de"])]
    texts["fr"] = [None if row % 2 else text for row, text in enumerate(texts["fr"])]
    assert list(find_drift(as_corpus(texts), [("de", "fr"), ("fr", "en")])) == [("fr", "en")]


def test_the_hub_can_be_named_and_bad_requests_are_refused():
    corpus = comparable_corpus(n=30)
    assert [pair[0] for pair in find_drift(corpus, hub="fr")] == ["fr"] * 3
    with pytest.raises(ValueError, match="no language 'ru'"):
        find_drift(corpus, hub="ru")
    with pytest.raises(ValueError, match="max_rows=0"):
        find_drift(corpus, max_rows=0)
