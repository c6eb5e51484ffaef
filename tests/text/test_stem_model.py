"""Stems and suffixes learned from a list of words."""

import numpy as np
import pytest

from isogloss.io import load, save
from isogloss.text import StemModel

STEMS = ["walk", "play", "talk", "jump", "look", "turn", "help", "call", "paint", "kick", "laugh", "climb"]
SUFFIXES = ["", "s", "ed", "ing"]
WORDS = [stem + suffix for stem in STEMS for suffix in SUFFIXES]


def test_stems_are_recovered():
    model = StemModel.learn(WORDS)
    assert [model.split(stem + suffix) for stem in STEMS for suffix in SUFFIXES] == [
        (stem, suffix) for stem in STEMS for suffix in SUFFIXES
    ]


def test_new_words_lose_a_known_suffix():
    model = StemModel.learn(WORDS)
    assert model.split("zapping") == ("zapp", "ing")
    assert model.split("walker")[0] == "walk"


def test_stems_of_random_words_are_the_words():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnopqrst"), 7)) for _ in range(200)]
    model = StemModel.learn(words)
    assert np.mean([model.stem(word) == word for word in words]) > 0.8


def test_the_order_and_the_frequency_of_words_do_not_matter():
    one, other = StemModel.learn(WORDS), StemModel.learn([*WORDS[::-1], *WORDS[:10]])
    assert {word: one.stem(word) for word in WORDS} == {word: other.stem(word) for word in WORDS}
    assert one.stems == pytest.approx(other.stems)


@pytest.mark.parametrize("word", ["", "a", "1984", "covid19ed", "日本", "ال"])
def test_short_words_and_numbers_are_not_divided(word):
    for words in (WORDS, [word], [*WORDS, word]):
        assert StemModel.learn(words).split(word) == (word, "")


def test_expected_counts_are_those_of_the_words():
    model = StemModel.learn(WORDS)
    assert sum(model.stems.values()) == pytest.approx(len(WORDS), rel=1e-3)
    assert sum(model.suffixes.values()) == pytest.approx(len(WORDS), rel=1e-3)


def test_nothing_to_learn_from():
    model = StemModel.learn([])
    assert model.stem("walking") == "walking"


def test_a_model_can_be_saved(tmp_path):
    model = StemModel.learn(WORDS)
    save(model, tmp_path / "stems")
    assert load(tmp_path / "stems") == model
