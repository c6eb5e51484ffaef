"""Words of an article: the compiled loops agree with their slow twins."""

from hypothesis import given, settings
from hypothesis import strategies as st

from isogloss.events.words import Words, _marks
from isogloss.kernels import cut_parts, letter_kinds, sound_key
from tests.oracles import words as twin

TEXTS = st.text(st.characters() | st.sampled_from('aBé. "«-5٣\u01c5\u2028\U0001d400Σß'), max_size=40)


@given(TEXTS)
@settings(deadline=None)
def test_parts_are_those_of_the_slow_twin(text):
    assert cut_parts(text, _marks()) == twin.cut_parts(text, _marks())
    assert letter_kinds(text, _marks()) == twin.letter_kinds(text, _marks())


@given(st.text("abceghijkpqstuwxyz -", max_size=14), st.integers(1, 9))
@settings(max_examples=500, deadline=None)
def test_keys_are_those_of_the_slow_twin(word, letters):
    assert sound_key(word, letters) == twin.sound_key(word, letters)


def test_words_and_more_words():
    both = Words.of('He: "Storm', "en") + Words.of("Ada, 5 dead", "en")
    assert both == Words.of('He: "Storm Ada, 5 dead', "en")
    assert (both.capitals, both.digits, both.small) == ([0, 1, 2], [3], {"dead"})
    assert [both.begins(place) for place in range(5)] == [True, True, False, False, False]
    assert [both.follows(place) for place in range(5)] == [False, False, True, False, True]


def test_scripts_without_blanks_are_cut_into_words():
    assert Words.of("東京タワーの高さ", "ja").bare == ["東京タワー", "の", "高", "さ"]
    assert Words.of("", "ja") == Words.of(" ", "en")
