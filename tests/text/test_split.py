"""Words of raw sentences, and where they stand."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.text import _split, is_tokenised, split_words, word_offsets

TOKENISED = ["the house , they said .", "what ? no !", "mr. smith left ."]
RAW = ["The house, they said.", "What? No!", "Mr. Smith left."]


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_words_are_found_in_their_text_again(text):
    text = text.replace("\n", " ")
    words = split_words(text).split()
    spans = word_offsets(text, words)
    assert [text[start:end] for start, end in spans] == words
    assert all(end <= after for (_, end), (after, _) in pairwise(spans))


def test_lines_stay_lines():
    assert split_words("a, b\n...\n\nc-d") == "a b\n\n\nc d"


@pytest.mark.parametrize("icu", [True, False])
def test_scripts_without_spaces_are_segmented_without_overlap(monkeypatch, icu):
    if icu:
        pytest.importorskip("icu4py")
    monkeypatch.setattr(_split, "has_module", lambda name: icu)
    for text in ("東京タワーの高さは333m", "ฉันรักภาษาไทย", "我爱北京大学。", "ខ្ញុំស្រឡាញ់"):
        words = split_words(text).split()
        assert len(words) > 1
        assert "".join(words) == text.replace("。", "")


def test_words_out_of_order_are_refused():
    with pytest.raises(ValueError, match="'a' is not in ' c'"):
        word_offsets("a b c", ["b", "a"])


@pytest.mark.parametrize(
    ("sentences", "tokenised"),
    [
        (TOKENISED, True),
        (RAW, False),
        (["the house", "a flower"], True),
        (["l' eau est froide .", "qu' est -ce ?"], True),
        (["L'eau est froide.", "Qu'est-ce ?", "Non, merci !", "Oui, bien."], False),
        (["浄土 真宗 は 、 日本 の 仏教 の 宗派 。"], True),
        (["浄土真宗は、日本の仏教の宗派のひとつで、鎌倉時代初期に成立した。"], False),
        (["ฉัน รัก ภาษา ไทย มาก"], True),
        (["ฉันรักภาษาไทยมากเพราะมันสวยงาม"], False),
        ([], True),
    ],
)
def test_tokenised_text_is_recognised(sentences, tokenised):
    assert is_tokenised(sentences) is tokenised
