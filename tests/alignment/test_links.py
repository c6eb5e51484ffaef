"""Links of many sentence pairs in four arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.alignment import Links
from isogloss.alignment.decoding import link_keys

sets = st.lists(st.sets(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=8), max_size=6)


@given(sentences=sets)
def test_sets_go_in_and_come_out(sentences):
    links = Links.from_sets(sentences)
    assert links.to_sets() == sentences
    assert links.to_lists() == [sorted(s) for s in sentences]
    assert [set(map(tuple, row.tolist())) for row in links] == sentences
    assert links.counts.tolist() == [len(s) for s in sentences]
    assert links.swapped().swapped() == links
    assert links.swapped().to_sets() == [{(j, i) for i, j in s} for s in sentences]


@given(sentences=sets, seed=st.integers(0, 99))
def test_order_and_repetition_do_not_matter(sentences, seed):
    links = Links.from_sets(sentences)
    order = np.random.default_rng(seed).permutation(links.n_links)
    twice = [np.tile(column[order], 2) for column in (links.sentence, links.source, links.target)]
    assert Links.from_arrays(*twice, n=len(links)) == links


@given(sentences=sets, data=st.data())
def test_rows_are_those_asked_for(sentences, data):
    links = Links.from_sets(sentences)
    rows = data.draw(
        st.lists(st.integers(-len(sentences), len(sentences) - 1), max_size=5) if sentences else st.just([])
    )
    assert links[np.array(rows, dtype=int)].to_sets() == [sentences[row] for row in rows]
    assert links[1:4].to_sets() == sentences[1:4]
    assert Links.concatenate([links[:2], links[2:]]) == links


def test_rows_keep_their_probabilities():
    links = Links([0, 1, 3], [0, 0, 1], [0, 1, 1], [0.5, 0.25, 1.0])
    assert links[[1]].probability.tolist() == [0.25, 1.0]
    assert links[::-1].probability.tolist() == [0.25, 1.0, 0.5]
    assert links.swapped().probability.tolist() == [0.5, 0.25, 1.0]
    assert links != links.select(links.probability > 0.3)
    assert Links.concatenate([links, links]).probability.tolist() == [0.5, 0.25, 1.0] * 2


def test_of_equal_links_the_likeliest_stays():
    links = Links.from_arrays([0, 0, 0], [1, 1, 0], [1, 1, 0], [0.2, 0.8, 0.5], n=1)
    assert links.to_lists() == [[(0, 0), (1, 1)]]
    np.testing.assert_allclose(links.probability, [0.5, 0.8])


def test_no_sentences_and_no_links():
    assert len(Links.from_sets([])) == 0
    assert Links.concatenate([]) == Links.from_sets([])
    assert Links.from_sets([set(), set()]).swapped().to_sets() == [set(), set()]


def test_arrays_cannot_be_written_to_and_are_not_the_callers():
    source = np.array([0, 1])
    links = Links([0, 2], source, [0, 1])
    source[0] = 7
    assert links.source.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        links.source[0] = 3


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0, 1], [0, 1], [0, 1]), "offsets"),
        (([0, 2, 1, 2], [0, 1], [0, 1]), "offsets"),
        (([1, 2], [0, 1], [0, 1]), "offsets"),
        (([0, 2], [0, 1], [0]), "one length"),
        (([0, 1], [0], [0], [0.5, 0.5]), "one length"),
        (([0, 1], [-1], [0]), "counted from zero"),
        (([0, 2], [1, 0], [0, 1]), "from_arrays"),
        (([0, 2], [1, 1], [1, 1]), "from_arrays"),
    ],
)
def test_arrays_that_are_no_links_are_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        Links(*arrays)


def test_bad_requests_say_what_to_do():
    plain, likely = Links.from_sets([{(0, 0)}]), Links([0, 1], [0], [0], [0.5])
    with pytest.raises(ValueError, match="expected 0 to 1"):
        Links.from_arrays([2], [0], [0], n=2)
    with pytest.raises(ValueError, match="all or none"):
        Links.concatenate([plain, likely])
    with pytest.raises(IndexError):
        plain[1]
    with pytest.raises(ValueError, match="too many"):
        link_keys(plain, (2**32, 2**32))


def test_a_picture_of_itself():
    assert repr(Links([0, 1], [0], [0], [0.5])) == "Links(1 sentence pairs, 1 links, with probabilities)"
    assert Links.from_sets([]) != []
