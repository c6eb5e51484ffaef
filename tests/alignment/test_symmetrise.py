"""Symmetrisation: the rules of Moses, all sentence pairs at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.alignment import Links, symmetrise
from tests.oracles import symmetrise as oracle

METHODS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")

link_sets = st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=14)
sentence_pairs = st.lists(st.tuples(link_sets, link_sets), max_size=4)


def directed(rng, n_source, n_target):
    """Links as a model gives them: near the diagonal, one source word per target word or none."""
    near = np.arange(n_target) * n_source / n_target + rng.normal(0, 1.2, n_target)
    words = np.clip(near, 0, n_source - 1).astype(int)
    return {(int(i), j) for j, i in enumerate(words) if rng.random() < 0.85}


def both_directions(rng, n):
    lengths = rng.integers(1, 25, size=(n, 2))
    forward = [directed(rng, a, b) for a, b in lengths]
    backward = [{(i, j) for j, i in directed(rng, b, a)} for a, b in lengths]
    return forward, backward


@pytest.mark.parametrize("method", METHODS)
def test_the_rules_agree_with_their_slow_twins(method, rng):
    forward, backward = both_directions(rng, 500)
    found = symmetrise(Links.from_sets(forward), Links.from_sets(backward), method)
    expected = [oracle.symmetrise(f, b, method) for f, b in zip(forward, backward, strict=True)]
    assert found == Links.from_sets(expected)


@pytest.mark.parametrize("method", METHODS)
@given(pairs=sentence_pairs)
def test_any_links_can_be_joined(method, pairs):
    forward, backward = [f for f, _ in pairs], [b for _, b in pairs]
    found = symmetrise(Links.from_sets(forward), Links.from_sets(backward), method).to_sets()
    assert found == [oracle.symmetrise(f, b, method) for f, b in pairs]


@given(pairs=sentence_pairs)
def test_each_rule_adds_to_the_one_before(pairs):
    forward, backward = (Links.from_sets([pair[side] for pair in pairs]) for side in (0, 1))
    chain = ("intersection", "grow-diag", "grow-diag-final-and", "grow-diag-final", "union")
    found = [symmetrise(forward, backward, method).to_sets() for method in chain]
    for small, large in zip(found[:2] + found[:1] * 2, found[1:3] + found[3:], strict=True):
        assert all(a <= b for a, b in zip(small, large, strict=True))


def test_a_link_beside_covers_its_words_at_once():
    """Both (1, 2) and (2, 2) touch what is there; the first one tried leaves no bare word to the other."""
    forward = Links.from_sets([{(1, 1), (1, 2), (2, 2)}])
    backward = Links.from_sets([{(1, 1)}])
    assert symmetrise(forward, backward, "grow-diag").to_sets() == [{(1, 1), (1, 2), (2, 2)}]
    blocked = Links.from_sets([{(1, 1), (2, 1)}])
    assert symmetrise(blocked, Links.from_sets([{(1, 1), (2, 1), (2, 2)}]), "grow-diag").n_links == 3


def test_final_looks_at_forward_links_first():
    """Far from the intersection, two links compete for one bare source word when both words must be bare."""
    forward, backward = Links.from_sets([{(0, 0), (5, 9)}]), Links.from_sets([{(0, 0), (5, 5)}])
    assert symmetrise(forward, backward, "grow-diag-final-and").to_sets() == [{(0, 0), (5, 9)}]
    assert symmetrise(backward, forward, "grow-diag-final-and").to_sets() == [{(0, 0), (5, 5)}]


def test_probabilities_are_means_and_absent_links_count_as_zero():
    forward = Links([0, 2], [0, 1], [0, 1], [0.9, 0.8])
    backward = Links([0, 2], [0, 2], [0, 2], [0.7, 1.0])
    union = symmetrise(forward, backward, "union")
    np.testing.assert_allclose(union.probability, [0.8, 0.4, 0.5])
    assert symmetrise(forward, backward, "posterior", threshold=0.5).to_sets() == [{(0, 0), (2, 2)}]
    assert symmetrise(forward, backward, "posterior", threshold=0.3).to_sets() == union.to_sets()


def test_bad_requests_say_what_to_do():
    links = Links.from_sets([{(0, 0)}])
    with pytest.raises(ValueError, match="grow-diag-final-and"):
        symmetrise(links, links, "best")
    with pytest.raises(ValueError, match="1 sentence pairs forward and 2 backward"):
        symmetrise(links, Links.from_sets([set(), set()]))
    with pytest.raises(ValueError, match="probabilities"):
        symmetrise(links, links, "posterior")
