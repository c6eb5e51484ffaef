"""Sides of an aligned text: words, offsets, signs that are letters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.lexicon.aligned import WordRules, detect_letters, read_sides
from tests.lexicon.aligned.text import Pair, aligned, tale


def test_a_token_is_found_in_its_sentence_again():
    text = aligned(tale(12))
    for side in (text.source, text.target):
        for token, word in enumerate(side.tokens.tolist()):
            assert side.surface(token).lower() == side.words[word]


def test_words_that_differ_in_case_and_marks_are_merged_on_request():
    pairs = [Pair("Él vio. El vio. él vio", "He saw")]
    assert sorted(read_sides(pairs)[0].words) == ["el", "vio", "él"]
    assert sorted(read_sides(pairs, WordRules(marks=False))[0].words) == ["el", "vio"]
    assert len(read_sides(pairs, WordRules(case=True))[0].words) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("p'unchay kay", ["p'unchay", "kay"]),
        ("'okina ka'u'", ["'okina", "ka'u'"]),
        ("a 'b c' '", ["a", "'b", "c'"]),
    ],
)
def test_apostrophes_are_letters_on_request(text, words):
    assert read_sides([Pair(text, "x")], WordRules(letters="'"))[0].words == words


@given(st.text(alphabet="ab' -", max_size=30))
def test_extended_words_do_not_overlap(text):
    spans = WordRules(letters="'-").extend(text, Pair(text, "").offsets[0])
    flat = [edge for span in spans for edge in span]
    assert flat == sorted(flat)
    assert all(a < b for a, b in spans)


def test_apostrophes_are_letters_where_many_words_are_on_both_sides():
    letters = "aeiouptkmnlrsw"
    words = [f"{a}{b}'{b}{a}" for a in letters for b in letters]
    assert "'" in detect_letters(words)
    assert detect_letters(f"l'{a}{b}e" for a in letters for b in letters) == ""
    assert detect_letters(f"{a}{b}e's" for a in letters for b in letters) == ""
    assert detect_letters([]) == ""


def test_pairs_with_an_empty_side_are_left_out():
    sides = read_sides([Pair("a b", "c"), Pair("a", ""), Pair("", "c"), Pair("d", "e")])
    assert [side.texts for side in sides] == [["a b", "d"], ["c", "e"]]


def test_control_characters_become_blanks():
    (side, _) = read_sides([Pair("a\x1b[31m b\x00", "c")])
    assert side.texts == ["a [31m b "]


def test_linked_shares_count_tokens_once():
    text = aligned([("a b", "c d e", "0-0 0-1")])
    assert text.linked_shares == (1 / 2, 2 / 3)
    assert np.array_equal(text.swapped().swapped().source_token, text.source_token)
