# ruff: noqa: RUF001
"""Raw text: scripts, spelling, paragraphs, sentences."""

import pytest

from isogloss.text.raw import (
    Spelling,
    SplitText,
    count_scripts,
    mixed_scripts,
    split_paragraphs,
    split_sentences,
    split_text,
)
from isogloss.text.raw import _sentences as sentences_module

SENTENCES = [
    ("en", "He came. Did she? No!", ["He came.", "Did she?", "No!"]),
    ("en", 'He said "Stop!" and left. She stayed.', ['He said "Stop!" and left.', "She stayed."]),
    ("en", "J. R. R. Tolkien wrote it. We read it.", ["J. R. R. Tolkien wrote it.", "We read it."]),
    ("ja", "今日は。元気ですか？はい。", ["今日は。", "元気ですか？", "はい。"]),
    ("hi", "यह घर है। वह नदी है।", ["यह घर है।", "वह नदी है।"]),
    ("ar", "أين البيت؟ هنا. شكرا!", ["أين البيت؟", "هنا.", "شكرا!"]),
    ("el", "Ποιος είναι; Δεν ξέρω.", ["Ποιος είναι; Δεν ξέρω."]),
    ("xx", "Aka bo. Eke ti!", ["Aka bo.", "Eke ti!"]),
]


@pytest.mark.parametrize(("lang", "text", "wanted"), SENTENCES)
@pytest.mark.parametrize("icu", [True, False])
def test_sentences_end_at_their_marks(monkeypatch, lang, text, wanted, icu):
    monkeypatch.setattr(sentences_module, "has_module", lambda name: icu)
    if lang == "el" and icu:
        wanted = ["Ποιος είναι;", "Δεν ξέρω."]
    assert split_sentences(text, lang) == wanted


@pytest.mark.parametrize("icu", [True, False])
def test_abbreviations_are_learned_from_the_text(monkeypatch, icu):
    monkeypatch.setattr(sentences_module, "has_module", lambda name: icu)
    text = "\n".join(
        f"Sv. Marko {verb} do Brna. Kdo je sv. Marko? To je on." for verb in ("jde", "jel", "sel")
    )
    assert split_sentences(text)[:3] == ["Sv. Marko jde do Brna.", "Kdo je sv. Marko?", "To je on."]
    assert split_sentences("It ran. Then it sat.\nThey ran. He sat.") == [
        "It ran.", "Then it sat.", "They ran.", "He sat.",
    ]  # fmt: skip


def test_numbers_of_verses_stay_with_them():
    assert split_sentences("1. In the beginning. 2. And the earth.") == [
        "1. In the beginning.",
        "2. And the earth.",
    ]


def test_wrapped_lines_are_joined_and_other_lines_are_paragraphs():
    wrapped = "It was the best of\ntimes, it was the\nworst of times.\n\nThe end\nof it.\n"
    assert split_paragraphs(wrapped) == [
        "It was the best of times, it was the worst of times.",
        "The end of it.",
    ]
    assert split_paragraphs("One line.\nAnother.\n\nThird.") == ["One line.", "Another.", "Third."]
    assert split_paragraphs("a\r\nb\rc", layout="paragraphs") == ["a", "b", "c"]
    assert split_paragraphs("\n \n") == []


def test_lines_that_are_sentences_stay_whole():
    text = split_text("A. B.\nC.\n\n\nD.\n", layout="sentences")
    assert text == SplitText(("A. B.", "C.", "D."), (0, 0, 1))
    assert split_text("A b. C d.\nE f.", "en") == SplitText(("A b.", "C d.", "E f."), (0, 0, 1))
    assert len(split_text("")) == 0


def test_an_unknown_layout_is_refused():
    with pytest.raises(ValueError, match="wrapped"):
        split_text("A.", layout="verse")
    with pytest.raises(ValueError, match="a number for each sentence"):
        SplitText(("A.",), ())


def test_scripts_are_counted_by_letters():
    assert count_scripts("ab, яй ab 12") == {"Latn": 4, "Cyrl": 2}
    assert count_scripts("Ａ漢ﾊｱ") == {"Kana": 2, "Hani": 1, "Latn": 1}
    assert count_scripts("12 - !") == {}


def test_a_text_in_two_scripts_is_noticed_and_some_names_are_not():
    assert set(mixed_scripts("добар дан " * 5 + "dobar dan " * 4)) == {"Cyrl", "Latn"}
    assert mixed_scripts("добар дан " * 50 + "BBC") == {}
    assert mixed_scripts("漢字かなカナ") == {}
    assert mixed_scripts("한국어 漢字") == {}


def test_spellings():
    assert Spelling(diacritics=False)("Kůň à la, ไม่ หิน्दी ἄνθρωπος ё") == "Kun a la, ไม่ หิน्दी ανθρωπος е"
    assert Spelling(diacritics=False)("שָׁלוֹם") == "שלום"
    assert Spelling(apostrophes="letters")("'okina ha`i o’") == "ʼokina haʼi oʼ"
    assert Spelling(apostrophes="inside")("'okina ha`i") == "'okina haʼi"
    with pytest.raises(ValueError, match="'marks'"):
        Spelling(apostrophes="yes")


def test_two_letters_without_a_vowel_are_an_abbreviation_at_once():
    assert split_sentences("There lived Dr. Novak, an old man. He left.") == [
        "There lived Dr. Novak, an old man.",
        "He left.",
    ]
    assert len(split_sentences("To je smrt. Kdo ví.")) == 2


def test_words_at_the_ends_of_sentences_are_no_abbreviations():
    text = " ".join(f"{name} has the number {k}." for k in range(9) for name in ("Anna", "Karel"))
    assert len(split_sentences(text)) == 18
    assert len(split_sentences("Dobar dan. " * 20)) == 20
    months = "Přišel 3. března a odešel 5. května. Mluvili 7. března. Vrátil se 9. dubna."
    assert split_sentences(months) == [
        "Přišel 3. března a odešel 5. května.",
        "Mluvili 7. března.",
        "Vrátil se 9. dubna.",
    ]
