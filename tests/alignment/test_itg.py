"""Links that can be bracketed."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.alignment import Links, itg_links
from isogloss.alignment.decoding._itg import inside_out

INSIDE_OUT = ((1, 3, 0, 2), (2, 0, 3, 1))


def offends(links):
    """Some four links of different words, in order of source, are inside out."""
    for four in combinations(sorted(links), 4):
        sources, targets = {i for i, _ in four}, [j for _, j in four]
        if len(sources) == len(set(targets)) == 4 and tuple(np.argsort(np.argsort(targets))) in INSIDE_OUT:
            return True
    return False


def bracketed(order):
    """Whether a permutation splits into halves that do, by the definition of the grammar."""
    if len(order) < 2:
        return True
    for cut in range(1, len(order)):
        left, right = order[:cut], order[cut:]
        if max(left) < min(right) or min(left) > max(right):
            return bracketed(left) and bracketed(right)
    return False


def found(links):
    array = np.array(sorted(links), dtype=int).reshape(-1, 2)
    return inside_out(array[:, 0], array[:, 1])


@pytest.mark.parametrize("n", range(1, 7))
def test_permutations_without_the_two_orders_are_those_of_the_grammar(n):
    for order in permutations(range(n)):
        assert (found(enumerate(order)) is None) == bracketed(order)


@given(links=st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=14))
def test_four_offending_links_are_found_when_there_are_any(links):
    four = found(links)
    assert (four is not None) == offends(links)
    if four is not None:
        assert offends([sorted(links)[k] for k in four])


def weighted(rng, n_links, width):
    cells = rng.choice(width * width, n_links, replace=False)
    source, target = np.divmod(np.sort(cells), width)
    return Links([0, n_links], source, target, np.round(rng.random(n_links), 3) + 0.01)


def test_the_best_links_that_can_be_bracketed_are_found(rng):
    """Against all subsets of random links."""
    for _ in range(4):
        links = weighted(rng, 11, 6)
        p, pairs = links.probability, links.to_lists()[0]
        best = max(
            sum(p[k] for k in range(11) if mask >> k & 1)
            for mask in range(1 << 11)
            if not offends([pairs[k] for k in range(11) if mask >> k & 1])
        )
        kept = itg_links(links)
        assert not offends(kept.to_lists()[0])
        assert kept.probability.sum() == pytest.approx(best, rel=1e-5)


def test_one_link_is_dropped_rather_than_two_cheaper_ones():
    links = Links([0, 6], [0, 1, 3, 3, 3, 5], [3, 0, 2, 4, 5, 2], [0.8, 0.8, 0.9, 0.3, 0.35, 0.4])
    assert set(links.to_lists()[0]) - itg_links(links).to_sets()[0] == {(5, 2)}
    assert set(links.to_lists()[0]) - itg_links(links, max_nodes=0).to_sets()[0] == {(3, 4), (3, 5)}


def test_without_a_search_nothing_more_can_be_added_and_the_likeliest_stays(rng):
    for _ in range(5):
        links = weighted(rng, 25, 8)
        kept = itg_links(links, max_nodes=0).to_sets()[0]
        assert not offends(kept)
        assert all(offends(kept | {link}) for link in links.to_sets()[0] - kept)
        assert links.to_lists()[0][links.probability.argmax()] in kept
        assert itg_links(links).probability.sum() >= itg_links(links, max_nodes=0).probability.sum()


def test_what_can_be_bracketed_stays_as_it_is():
    links = Links.from_sets([{(0, 3), (1, 2), (2, 0), (2, 1), (5, 5)}, set(), {(0, 0)}])
    assert itg_links(links) == links


def test_sentences_and_parts_of_them_do_not_touch(rng):
    """The same tangle alone, after other links, and in another sentence pair."""
    links = weighted(rng, 25, 8)
    kept = itg_links(links)
    shifted = Links.from_arrays(
        np.repeat([0, 0, 1], [1, 25, 25]),
        np.concatenate([[0], links.source + 1, links.source]),
        np.concatenate([[0], links.target + 1, links.target]),
        np.concatenate([[0.1], links.probability, links.probability]),
        n=2,
    )
    first, second = itg_links(shifted).to_sets()
    assert second == kept.to_sets()[0]
    assert first == {(0, 0)} | {(i + 1, j + 1) for i, j in second}


def test_long_sentences_are_done_in_time(rng):
    links = weighted(rng, 200, 150)
    kept = itg_links(links)
    assert 4 < kept.n_links < 200
    assert found(map(tuple, kept[0].tolist())) is None
