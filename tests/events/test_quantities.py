"""Quantities that articles state, in several languages, and where they differ."""

from datetime import UTC, datetime, timedelta

import pytest

from isogloss.events import Article
from isogloss.events.story import compare_quantities, find_quantities
from isogloss.events.story._numbers import find_number_mentions

MORNING = datetime(2031, 3, 5, 6, tzinfo=UTC)

STATED = [
    ("en", "At least 12 people were killed and 30 injured in the quake", {"dead": 12, "injured": 30}),
    ("en", "The death toll rose to 1,214 on 6 March", {"dead": 1214}),
    ("en", "Carriers agree 11.4-billion-euro merger", {"EUR": 11.4e9}),
    (
        "en",
        "Interest rate stays at 4.5%, inflation at 3.2 percent",
        {"interest rate (%)": 4.5, "inflation (%)": 3.2},
    ),
    ("de", "Zwölf Tote und 30 Verletzte bei Beben", {"dead": 12, "injured": 30}),
    ("de", "Zahl der Toten steigt auf 1.214", {"dead": 1214}),
    ("de", "Fusion für 11,4 Milliarden Euro", {"EUR": 11.4e9}),
    ("fr", "Séisme : douze morts, 1 200 blessés", {"dead": 12, "injured": 1200}),
    ("fr", "Une fusion à 11,4 milliards d'euros", {"EUR": 11.4e9}),
    ("es", "Al menos 12 muertos y 30 heridos tras el terremoto", {"dead": 12, "injured": 30}),
    ("es", "Fusión por 11.400 millones de euros", {"EUR": 11.4e9}),
    ("ru", "Погибли двое, ещё 30 человек ранены", {"dead": 2, "injured": 30}),
    ("ru", "Слияние на 11,4 млрд евро", {"EUR": 11.4e9}),
    ("zh", "地震造成12人死亡、30人受伤。1.2万人疏散", {"dead": 12, "injured": 30, "evacuated": 12000}),
    ("ar", "مقتل ١٢ شخصا", {"dead": 12}),
]

NOT_STATED = [
    ("en", "Singer dies at 79 after 12 years of silence"),
    ("en", "79-year-old found dead in 2031"),
    ("en", "Team wins 2-1, coach calls it a killer game"),
    ("en", "7.1 magnitude quake kills many"),
    ("de", "Sänger stirbt mit 79 Jahren am 5. März"),
    ("fr", "Le chanteur meurt à 79 ans"),
    ("es", "Muere el cantante a los 79 años"),
    ("ru", "Певец умер в возрасте 79 лет"),
    ("de", "1.200 Wörter über nichts"),
    ("xx", "12 dead"),
]


@pytest.mark.parametrize(("lang", "text", "expected"), STATED)
def test_a_number_counts_what_the_nearest_news_word_names(lang, text, expected):
    assert {one.kind: one.value for one in find_quantities(text, lang)} == expected


@pytest.mark.parametrize(("lang", "text"), NOT_STATED)
def test_ages_dates_durations_and_unknown_nouns_are_no_quantities(lang, text):
    assert find_quantities(text, lang) == []


@pytest.mark.parametrize(
    ("lang", "text", "values"),
    [
        ("de", "1.200 und 12 000 und 1.234.567,5", [1200, 12000, 1234567.5]),
        ("en", "1,200 is clear, 1.200 is not", [1200]),
        ("en", "$3bn, 5 mn, 3.5 thousand", [3e9, 5e6, 3500]),
        ("es", "5 mil millones", [5e9]),
        ("ja", "3.2万人", [32000]),
        ("hi", "१२", [12]),
        ("xx", "12 a 3,5", [12, 3.5]),
        ("en", "1,2,3 and 12345678901234567890", []),
        ("en", "4x4, A380, 3D", []),
    ],
)
def test_numbers_are_read_as_their_language_writes_them(lang, text, values):
    assert [number.value for number in find_number_mentions(text, lang)] == values


def article(name, lang, title, *, hours=0, body=""):
    return Article(name, lang, title, body, MORNING + timedelta(hours=hours), source=name)


def test_values_that_differ_between_languages_are_marked():
    quake = [
        article("Bote", "de", "Zwölf Tote bei Erdbeben"),
        article("Gull", "en", "Quake kills 12 people", hours=1),
        article("Phare", "fr", "Séisme : 12 morts", hours=2),
        article("Faro", "es", "Al menos 9 muertos", hours=3, body="Ayer eran 7 muertos."),
        article("Vesti", "ru", "Погибли 12 человек, 30 ранены", hours=4),
    ]
    (dead,) = compare_quantities(quake)
    assert dead.kind == "dead"
    assert {lang: one.value for lang, one in dead.latest.items()} == {
        "ru": 12,
        "es": 9,
        "fr": 12,
        "en": 12,
        "de": 12,
    }
    assert dead.differing == {"es"}
    assert [one.article.source for one in dead.mentions] == ["Vesti", "Faro", "Phare", "Gull", "Bote"]
    assert dead.latest["es"].phrase == "Al menos 9 muertos"


def test_the_latest_value_of_a_language_counts():
    (dead,) = compare_quantities(
        [
            article("Bote", "de", "12 Tote", hours=5),
            article("Kurier", "de", "9 Tote"),
            article("Gull", "en", "9 dead"),
        ]
    )
    assert dead.latest["de"].value == 12
    assert dead.differing == {"en"}  # as many languages say 12 as 9, and 12 is later


def test_nothing_differs_where_no_value_is_that_of_half_of_the_languages():
    rising = [
        article("Gull", "en", "9 dead"),
        article("Bote", "de", "12 Tote", hours=1),
        article("Phare", "fr", "Le bilan s'établit à quatorze morts", hours=2),
        article("Faro", "es", "15 muertos", hours=3),
        article("Vesti", "ru", "15 погибших", hours=4),
    ]
    (dead,) = compare_quantities(rising)
    assert [one.value for one in dead.mentions] == [15, 15, 14, 12, 9]
    assert dead.differing == frozenset()


def test_one_article_is_not_enough():
    assert compare_quantities([article("Bote", "de", "Zwölf Tote, 30 Verletzte")]) == []


def test_different_amounts_of_money_are_different_quantities():
    deal = [
        article("Gull", "en", "Deal worth 11.4 billion euros"),
        article("Bote", "de", "Fusion für 11,5 Milliarden Euro"),
        article("Phare", "fr", "L'amende de 3 millions d'euros"),
    ]
    (euros,) = compare_quantities(deal)
    assert {one.article.source for one in euros.mentions} == {"Gull", "Bote"}
    assert compare_quantities(deal[1:]) == []


def test_an_age_in_one_language_is_no_toll_in_another():
    assert (
        compare_quantities(
            [
                article("Gull", "en", "Singer dead, 79"),
                article("Bote", "de", "Sänger stirbt mit 79 Jahren"),
                article("Standaard", "nl", "Zanger dood, 79"),
            ]
        )
        == []
    )
