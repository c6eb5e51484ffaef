"""Spans that translate each other, against a slow search over all pairs of spans."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from isogloss.lexicon.aligned._spans import UnitSequences, consistent_spans
from tests.lexicon.aligned.text import aligned

CELLS = list(product(range(5), range(5)))


def slow_spans(links, n, m, longest):
    for i, length, j, width in product(range(n), range(1, longest + 1), range(m), range(1, longest + 1)):
        if i + length > n or j + width > m:
            continue
        inside = [(a, b) for a, b in links if i <= a < i + length and j <= b < j + width]
        leaving = [(a, b) for a, b in links if (i <= a < i + length) != (j <= b < j + width)]
        rows, columns = {a for a, _ in inside}, {b for _, b in inside}
        if not leaving and {i, i + length - 1} <= rows and {j, j + width - 1} <= columns:
            yield i, length, j, width


@settings(deadline=None)
@given(st.lists(st.sets(st.sampled_from(CELLS)), min_size=1, max_size=4))
def test_consistent_spans_are_those_of_the_slow_search(sentences):
    rows = [("a b c d e", "v w x y z", " ".join(f"{i}-{j}" for i, j in sorted(links))) for links in sentences]
    found = consistent_spans(aligned(rows), 3, 3)
    expected = {
        (5 * k + i, length, 5 * k + j, width)
        for k, links in enumerate(sentences)
        for i, length, j, width in slow_spans(links, 5, 5, 3)
    }
    assert set(zip(*(column.tolist() for column in found), strict=True)) == expected


def test_equal_groups_have_equal_numbers():
    text = aligned([("a b a b c", "x", "0-0"), ("b a b", "x", "0-0")])
    terms = UnitSequences(text.source.tokens, len(text.source.words), 3)
    starts = text.source.tokens * 0 + range(len(text.source.tokens))
    pairs = terms.of(starts, starts * 0 + 2).tolist()
    assert pairs[0] == pairs[2] == pairs[6] != pairs[1]
    assert terms.of(starts, starts * 0 + 1).tolist() == text.source.tokens.tolist()
    assert not {*pairs} & {*terms.of(starts, starts * 0 + 3).tolist()}
