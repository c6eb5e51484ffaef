"""Words of an article: the compiled loops agree with their slow twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isogloss.events.annotate._words import TokenisedText, _marks
from isogloss.kernels import cut_parts, letter_kinds, score_languages, sound_key, spot_words, strongest_keys
from tests.oracles import words as twin

TEXTS = st.text(st.characters() | st.sampled_from('aBé. "«-5٣\u01c5\u2028\U0001d400Σß'), max_size=40)


@given(TEXTS)
@settings(deadline=None)
def test_parts_are_those_of_the_slow_twin(text):
    assert cut_parts(text, _marks()) == twin.cut_parts(text, _marks())
    assert letter_kinds(text, _marks()) == twin.letter_kinds(text, _marks())


@given(st.text("abceghijkpqstuwxyz -", max_size=14), st.integers(1, 9))
def test_keys_are_those_of_the_slow_twin(word, letters):
    assert sound_key(word, letters) == twin.sound_key(word, letters)


@given(TEXTS, st.integers(0, 99), st.sampled_from([0, 60, 1 << 16]))
@settings(deadline=None)
def test_spotted_words_are_those_of_the_slow_twin(text, seed, size):
    kinds = np.random.default_rng(seed).integers(0, 8, size).astype(np.uint8)
    every = twin.spot_words(text, kinds, set())
    dull = {word for _, _, word in every[::3]}
    assert spot_words(text, kinds, set()) == every
    assert spot_words(text, kinds, dull) == twin.spot_words(text, kinds, dull)


@given(st.lists(st.sampled_from("abcdef"), max_size=9), st.lists(st.sampled_from("abcdef"), max_size=30))
@settings(deadline=None)
def test_strongest_keys_are_those_of_the_slow_twin(title, body):
    keys = {"a": "one", "b": "two", "c": "", "d": "one", "e": "three", "f": "four"}
    for most in (0, 2, 9):
        expected = twin.strongest_keys(title, body, keys, 3, most)
        assert strongest_keys(title, body, keys, 3, most) == expected


def test_keys_that_are_not_known_yet_are_asked_for():
    class Keys(dict):
        def __missing__(self, word):
            if word == "bad":
                raise LookupError("no key")
            return word.upper()

    assert strongest_keys(["a"], ["b", "a"], Keys(a="A"), 1, 9) == [("A", 2), ("B", 1)]
    with pytest.raises(LookupError, match="no key"):
        strongest_keys([], ["bad"], Keys(), 1, 9)


@given(st.binary(max_size=30), st.integers(0, 99))
@settings(deadline=None)
def test_scores_of_languages_are_those_of_the_slow_twin(text, seed):
    rng = np.random.default_rng(seed)
    moves = rng.integers(0, 5, 3 * 256).astype(np.uint32)
    states = np.column_stack([256 * rng.integers(0, 3, 5), rng.integers(-1, 4, 5)]).astype(np.int32)
    weights = (
        (rng.standard_normal((4, 6)) * 10.0 ** rng.integers(-7, 2, (4, 6))).astype(np.float16).view(np.uint16)
    )
    scores = rng.standard_normal(6).astype(np.float32)
    expected, n = twin.score_languages(text, moves, states, weights, scores.astype(np.float64))
    assert score_languages(text, moves, states, weights, scores) == n
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-4)


def test_tables_of_languages_that_do_not_fit_are_refused():
    moves, states = np.full(256, 7, np.uint32), np.zeros((1, 2), np.int32)
    weights, scores = np.zeros((1, 2), np.uint16), np.zeros(2, np.float32)
    with pytest.raises(ValueError, match="a move to no state"):
        score_languages(b"a", moves, states, weights, scores)
    with pytest.raises(ValueError, match="of other languages"):
        score_languages(b"a", moves, states, weights, scores[:1])
    with pytest.raises(ValueError, match="a feature without weights"):
        score_languages(b"a", moves * 0, states + np.array([0, 1], np.int32), weights, scores)


def test_words_and_more_words():
    both = TokenisedText.of('He: "Storm', "en") + TokenisedText.of("Ada, 5 dead", "en")
    assert both == TokenisedText.of('He: "Storm Ada, 5 dead', "en")
    assert (both.capitals, both.digits, both.lowercase) == ([0, 1, 2], [3], {"dead"})
    assert [both.starts_sentence(place) for place in range(5)] == [True, True, False, False, False]
    assert [both.adjoins_previous(place) for place in range(5)] == [False, False, True, False, True]


def test_scripts_without_blanks_are_cut_into_words():
    assert TokenisedText.of("東京タワーの高さ", "ja").words == ["東京タワー", "の", "高", "さ"]
    assert TokenisedText.of("", "ja") == TokenisedText.of(" ", "en")
