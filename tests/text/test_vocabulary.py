import random

import pytest

from isogloss.io import load, save
from isogloss.text import DocumentFrequencies, Vocabulary

# Document frequencies: the 6, of 4, sea 3, ship 3, oar 1, rum 1 (18 in all).
DOCUMENTS = [["the", "of", "sea"], ["the", "of", "sea"], ["the", "of", "sea"], ["the", "of", "ship", "ship"],
             ["the", "ship", "oar"], ["the", "ship", "rum"]]  # fmt: skip
SEEN = DocumentFrequencies().update_many(DOCUMENTS)


def kept(**limits):
    return Vocabulary.from_frequencies(SEEN, **limits).words


def test_the_order_is_by_frequency_then_by_letters():
    assert kept() == ("the", "of", "sea", "ship", "oar", "rum")
    shuffled = random.Random(0).sample(DOCUMENTS, len(DOCUMENTS))
    assert Vocabulary.from_frequencies(DocumentFrequencies().update_many(shuffled)).words == kept()


def test_pruning_as_in_the_thesis():
    assert kept(min_df=2) == ("the", "of", "sea", "ship")
    assert kept(drop_top=2) == ("sea", "ship", "oar", "rum")
    assert kept(min_df=2, drop_top=1, max_features=2) == ("of", "sea")
    assert kept(max_features=100) == kept()
    assert kept(drop_top=100) == kept(min_df=100) == ()


def test_the_tail_of_rare_words_goes():
    assert kept(coverage=13 / 18) == ("the", "of", "sea")
    assert kept(coverage=0.73) == ("the", "of", "sea", "ship")
    assert kept(coverage=1e-9) == ("the",)
    assert kept(coverage=0.73, drop_top=1) == ("of", "sea", "ship")
    assert Vocabulary.from_frequencies(DocumentFrequencies(), coverage=0.9).words == ()


@pytest.mark.parametrize(
    "limits",
    [
        {"min_df": 0},
        {"min_df": 0.5},
        {"drop_top": -1},
        {"coverage": 0},
        {"coverage": 1.1},
        {"max_features": 0},
    ],
)
def test_limits_are_checked(limits):
    with pytest.raises(ValueError, match=rf"got {next(iter(limits))}=.*; expected"):
        kept(**limits)


def test_columns_are_words_each_once():
    words = Vocabulary(["a", "b"])
    assert words.columns(["b", "c", "a"]).tolist() == [1, -1, 0]
    assert repr(words) == "Vocabulary(2 words)"
    with pytest.raises(ValueError, match="'a' occurs twice"):
        Vocabulary(("a", "b", "a"))
    with pytest.raises(TypeError, match="expected a tuple of words"):
        Vocabulary("abc")


def test_it_is_kept_in_model_files(tmp_path):
    words = Vocabulary(tuple(f"wört{n}" for n in range(200)))
    save(words, tmp_path / "words.isogloss")
    assert load(tmp_path / "words.isogloss") == words
