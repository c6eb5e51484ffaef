"""Precision, recall, F1 and AER."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.alignment import Gold, Links, read_gold, score_links

sets = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=8)
triples = st.lists(st.tuples(sets, sets, sets), min_size=1, max_size=5)


def gold_of(sure, possible):
    return Gold.join(Links.from_sets(sure), Links.from_sets(possible))


def counted(found, sure, possible):
    """The definitions, with sets of (sentence, source, target)."""
    a, s, p = ({(k, *link) for k, links in enumerate(x) for link in links} for x in (found, sure, possible))
    p |= s
    precision = len(a & p) / len(a) if a else 1.0
    recall = len(a & s) / len(s) if s else 1.0
    aer = 1 - (len(a & s) + len(a & p)) / (len(a) + len(s)) if a or s else 0.0
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0, aer


@given(sentences=triples)
def test_rates_follow_their_definitions(sentences):
    found, sure, possible = ([row[k] for row in sentences] for k in range(3))
    score = score_links(Links.from_sets(found), gold_of(sure, possible))
    rates = score.precision, score.recall, score.f1, score.aer
    np.testing.assert_allclose(rates, counted(found, sure, possible))
    alone = score.per_sentence()
    for k, row in enumerate(sentences):
        expected = counted(*([x] for x in row))
        np.testing.assert_allclose(
            [alone[name][k] for name in ("precision", "recall", "f1", "aer")], expected
        )


def test_sentences_weigh_by_their_links():
    gold = gold_of([{(0, 0)}, {(0, 0), (1, 1), (2, 2)}], [set(), set()])
    score = score_links(Links.from_sets([{(0, 0)}, {(0, 1)}]), gold)
    assert score.recall == 0.25
    assert score.precision == 0.5
    assert score.aer == pytest.approx(1 - 2 / 6)


def test_the_standard_error_is_that_of_resampled_sentences(rng):
    """For recall with equal sentences it is the binomial one."""
    n, p = 400, 0.3
    hit = rng.random(n) < p
    gold = gold_of([{(0, 0)}] * n, [set()] * n)
    score = score_links(Links.from_sets([{(0, 0)} if h else set() for h in hit]), gold)
    share = hit.mean()
    expected = np.sqrt(share * (1 - share) / n)
    assert score.standard_errors(resamples=4000)["recall"] == pytest.approx(expected, rel=0.08)
    assert score.standard_errors() == score.standard_errors()


def test_no_spread_when_all_sentences_are_alike():
    gold = gold_of([{(0, 0), (1, 1)}] * 9, [set()] * 9)
    score = score_links(Links.from_sets([{(0, 0)}] * 9), gold)
    assert max(score.standard_errors().values()) < 1e-12
    assert score.summary()["links"] == 9


def test_no_sentences():
    score = score_links(Links.from_sets([]), gold_of([], []))
    assert score.summary()["sentences"] == 0
    assert score.aer == 0.0


def test_other_text_is_refused():
    with pytest.raises(ValueError, match="1 sentence pairs and gold of 2"):
        score_links(Links.from_sets([set()]), gold_of([set()] * 2, [set()] * 2))


def test_gold_scores_perfectly_against_itself_on_hansards():
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    path = Path(os.environ.get("ISOGLOSS_DATA", default)) / "alignment" / "hansards-en-fr" / "test.gold"
    if not path.exists():
        pytest.skip("the Hansards are not here; set ISOGLOSS_DATA to their folder")
    gold = read_gold(path)
    assert len(gold) == 447
    assert score_links(gold.sure, gold).aer == 0.0
    everything = score_links(gold.possible, gold)
    assert everything.precision == everything.recall == 1.0
    assert everything.aer == 0.0
    assert gold.sure.n_links < gold.possible.n_links
