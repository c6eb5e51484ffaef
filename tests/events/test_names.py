"""Names by capital letters, and the key that their spellings share."""

import gzip
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.events.annotate._names import consonant_key, count_names, name_key
from isogloss.events.annotate._words import TokenisedText

DATA = Path(os.environ.get("ISOGLOSS_DATA", Path(__file__).parents[3] / "shared" / "data"))


def names(text, lang="en", title=""):
    return count_names(TokenisedText.of(title, lang), TokenisedText.of(text, lang), lang).names


@pytest.mark.parametrize(
    "spellings",
    [
        "Müller Muller Мюллер Мюллера",
        "Merkel Меркель Меркелем Μέρκελ",
        "Putin Путин Путиным Putina Poutine",
        "Washington Вашингтон Вашингтоне",
        "Schmidt Шмидт Šmidt",
        "Zelensky Зеленский",
    ],
)
def test_spellings_of_a_name_have_one_key(spellings):
    keys = {name_key(word) for word in spellings.split()}
    assert len(keys) == 1
    assert keys != {""}


def test_other_names_have_other_keys():
    different = ["Merkel", "Markle", "Putin", "Biden", "Macron", "Scholz", "Johnson", "Jackson", "Orban"]
    assert len({name_key(word) for word in different}) == len(different)


@given(st.text(max_size=30))
def test_keys_are_short_and_plain(word):
    assert re.fullmatch("[a-z]{3,6}|", name_key(word))


def test_names_inside_and_at_the_beginning_of_sentences():
    found = names("Storms came. Yesterday Maria Lovelace spoke to Babbage. Lovelace left. Nobody knows why.")
    maria, lovelace = name_key("Maria"), name_key("Lovelace")
    assert found == {maria: 1, lovelace: 2, f"{maria} {lovelace}": 1, name_key("Babbage"): 1}


def test_a_word_that_is_also_written_small_is_no_name():
    assert not names("He likes Storms and storms.")
    assert names("He likes Storms.")


def test_a_title_with_capital_letters_throughout_is_read_with_its_body():
    title = "Minister Keller Opens Bridge Near Harbour"
    assert set(names("The new bridge was opened by Keller on Monday.", title=title)) >= {name_key("Keller")}
    found = names("The new bridge was opened by Keller.", title=title)
    assert set(found) == {name_key("Keller")}
    assert found[name_key("Keller")] == 2
    assert name_key("Keller") in names("", title=title)


def test_german_nouns_are_no_names():
    found = names(
        "Die Regierung sagte, dass Keller den Vertrag mit Norda und die Verwaltung von Selm prüfe.", "de"
    )
    assert set(found) == {name_key("Keller"), name_key("Norda"), name_key("Selm")}


def test_abbreviations_and_katakana():
    assert names("He joined the BBC last year.")["bbc"] == 1
    assert name_key("メルケル") in names("昨日、メルケル首相が話した。", "ja")


@pytest.mark.parametrize("lang", ["ar", "zh", "hi", "ko"])
def test_scripts_without_capital_letters_have_no_names(lang):
    assert not names("نص 文本 पाठ 글", lang)


def sentences(code):
    path = DATA / "parallel" / "ntrex" / f"{code}.txt.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there; it is a corpus of news sentences (NTREX)")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return file.read().split("\n")[1:1997:2]


@pytest.mark.parametrize(
    ("code", "lang", "developed"), [("deu", "de", 0.572), ("spa", "es", 0.669), ("rus", "ru", 0.432)]
)
def test_names_meet_in_translations_and_not_elsewhere(code, lang, developed):
    """Names of an English sentence in its translation and in another sentence, by odd sentences of NTREX.

    The expected shares are those of the even sentences, from which the key was developed.
    """
    english = [set(names(text)) for text in sentences("eng")]
    other = [set(names(text, lang)) for text in sentences(code)]
    total = sum(map(len, english))
    met = sum(len(a & b) for a, b in zip(english, other, strict=True)) / total
    by_chance = sum(len(a & b) for a, b in zip(english, other[300:] + other[:300], strict=True)) / total
    assert met > developed - 0.05
    assert by_chance < 0.01


@pytest.mark.parametrize(
    "spellings",
    [
        ("Putin", "Путин", "بوتين", "पुतिन", "푸틴", "ปูติน", "პუტინი"),
        ("Trump", "Трамп", "ट्रम्प", "ტრამპ", "ترامب"),
    ],
)
def test_scripts_agree_on_the_consonants_of_a_name(spellings):
    assert len({consonant_key(word) for word in spellings}) == 1


@pytest.mark.parametrize(
    ("text", "lang"), [("التقى فلاديمير بوتين الوزير", "ar"), ("푸틴의 발언", "ko"), ("पुतिन ने कहा", "hi")]
)
def test_names_in_scripts_without_capitals_are_found_by_their_consonants(text, lang):
    empty = TokenisedText.of("", lang)
    found = count_names(TokenisedText.of(text, lang), empty, lang)
    assert not found.names
    assert "btn" in found.sounds
    assert "btn" not in count_names(TokenisedText.of(text, lang), empty, lang, frozenset(text.split())).sounds
