"""Word lists for the gazetteer: other names of countries, common words, case endings."""

# ruff: noqa: RUF001 -- letters of many scripts

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache, partial

from isogloss.extras import has_module
from isogloss.text._languages import language, stopwords

OTHER_NAMES: dict[str, dict[str, tuple[str, ...]]] = {
    "en": {
        "US": ("USA", "U.S.", "United States of America", "America"),
        "GB": ("UK", "U.K.", "Britain", "Great Britain"),
        "CZ": ("Czech Republic",), "TR": ("Turkey",), "CD": ("Democratic Republic of the Congo", "DR Congo"),
        "CI": ("Ivory Coast",), "HK": ("Hong Kong",), "PS": ("Palestine",), "AE": ("UAE", "Emirates"),
        "BA": ("Bosnia",), "VA": ("Vatican",), "MO": ("Macau",), "CG": ("Republic of the Congo",),
    },
    "de": {
        "US": ("USA", "Vereinigte Staaten von Amerika", "Vereinigten Staaten", "Amerika"),
        "GB": ("Großbritannien", "Vereinigten Königreich"), "CI": ("Elfenbeinküste",), "HK": ("Hongkong",),
        "PS": ("Palästina",), "BA": ("Bosnien", "Bosnien-Herzegowina"), "VA": ("Vatikan",), "MO": ("Macau",),
        "CD": ("Demokratische Republik Kongo",), "AE": ("Emirate", "Vereinigten Arabischen Emirate"),
        "CZ": ("Tschechische Republik", "Tschechischen Republik"), "BY": ("Weißrussland",),
        "NL": ("Holland", "Niederlanden"), "PH": ("Philippinen",),
    },
    "es": {
        "US": ("EE. UU.", "EEUU", "EE.UU.", "USA"), "GB": ("Gran Bretaña",), "CI": ("Costa de Marfil",),
        "HK": ("Hong Kong",), "PS": ("Palestina",), "BA": ("Bosnia",), "VA": ("Vaticano",), "MO": ("Macao",),
        "CZ": ("República Checa",), "NL": ("Holanda",), "BY": ("Bielorrusia",),
    },
    "fr": {
        "US": ("USA", "États-Unis d’Amérique"), "GB": ("Grande-Bretagne",), "CZ": ("République tchèque",),
        "HK": ("Hong Kong",), "PS": ("Palestine",), "BA": ("Bosnie",), "VA": ("Vatican",), "MO": ("Macao",),
        "CD": ("République démocratique du Congo", "RDC"), "AE": ("Émirats",),
    },
    "ru": {
        "US": ("США", "Америка"), "GB": ("Британия", "Соединённое Королевство"), "KR": ("Южная Корея",),
        "KP": ("Северная Корея",), "HK": ("Гонконг",), "PS": ("Палестина",), "BA": ("Босния",),
        "MO": ("Макао",),
        "AE": ("Объединённые Арабские Эмираты", "Эмираты"), "BY": ("Белоруссия",), "NL": ("Голландия",),
        "CN": ("КНР",), "DE": ("ФРГ",), "ZA": ("ЮАР",), "RU": ("РФ",),
    },
    "zh": {
        "US": ("美國",), "HK": ("香港",), "MO": ("澳门", "澳門"), "PS": ("巴勒斯坦",),
        "AE": ("阿联酋", "阿聯酋"),
        "BA": ("波黑",), "KR": ("南韓",), "KP": ("北韓",),
    },
    "ar": {
        "US": ("أمريكا", "أميركا", "الولايات المتحدة الأمريكية"), "GB": ("بريطانيا",), "PS": ("فلسطين",),
        "HK": ("هونغ كونغ",), "AE": ("الإمارات",), "BA": ("البوسنة",),
    },
    "el": {
        "US": ("ΗΠΑ", "Ηνωμένες Πολιτείες Αμερικής"), "GB": ("Βρετανία", "Μεγάλη Βρετανία"),
        "PS": ("Παλαιστίνη",),
        "HK": ("Χονγκ Κονγκ",), "BA": ("Βοσνία",), "NL": ("Ολλανδία",),
    },
    "it": {
        "US": ("USA", "Stati Uniti d’America"), "GB": ("Gran Bretagna",), "HK": ("Hong Kong",),
        "PS": ("Palestina",),
        "CZ": ("Repubblica Ceca",), "CI": ("Costa d’Avorio",), "NL": ("Olanda",), "VA": ("Vaticano",),
    },
    "pl": {"US": ("USA",), "GB": ("Brytania",), "HK": ("Hongkong",), "PS": ("Palestyna",), "BA": ("Bośnia",)},
    "pt": {"US": ("EUA",), "GB": ("Grã-Bretanha",), "HK": ("Hong Kong",), "PS": ("Palestina",)},
    "nl": {"US": ("VS",), "GB": ("Groot-Brittannië",), "HK": ("Hongkong",), "PS": ("Palestina",)},
    "ja": {"US": ("米国",), "GB": ("英国",), "HK": ("香港",), "PS": ("パレスチナ",)},
    "uk": {"US": ("США",), "GB": ("Британія",), "HK": ("Гонконг",), "PS": ("Палестина",)},
}  # fmt: skip
"""Names of countries in the news that are not CLDR's first choice, by language and ISO 3166 code."""

_EVERYWHERE = (
    "google julia sam nico george samba corona vista san santa wau jos victoria salazar duma saga damas pet "
    "para logo gold bender alvar hamid kati lira enterprise franca wei mobile orange most central union "
    "mission"
)
"""Names of persons, products and things that GeoNames lists as alternative names of cities."""

_COMMON: dict[str, str] = {
    "en": "nice reading bath split man bar best bend male bay independence centennial federal industry "
    "commerce liberty victory date van turkey china jordan chad",
    "de": "essen halle hof bergen siegen regen baden worms aalen kind bar rat tor linden weiden lage mitte "
    "split ware see bund born namen kanton rest kern tara gerne",
    "es": "real independencia libertad palma general bello cruz unión merced trinidad padre madre",
    "fr": "centre est sens sale",
    "pt": "real união cruz contagem",
    "nl": "hoorn best born weert met kern engels vereniging turks jaren",
    "sq": "nuk hapur puna disa",
    "ru": "орел мирный свободный артем артём куру",  # a first name; Kourou, which is too small to be listed
    "uk": "артем",
}
"""Common words that are also names of cities, in the form in which they are looked up."""

_SLAVIC_CYRILLIC = (
    "ами ями ого его ому ему ыми ими ией ой ей ом ем ам ям ах ях ые ие ых их ым им ую юю ая яя "
)
_ENDINGS: dict[str, str] = {
    "ru": _SLAVIC_CYRILLIC + "ия ии ию ье ью а я о е у ю ы и ь й",
    "uk": _SLAVIC_CYRILLIC + "ія ії ію єю ові еві а я о е у ю и і ї ь й",
    "be": _SLAVIC_CYRILLIC + "ія іі ію аў ы а я о е у ю і ь й",
    "sr": "ијом ија ије ији ију ом ем ама има ога ој а е и о у ijom ija ije iji iju om em ama ima oga oj a e "
    "i o u",
    "mk": "ија та а е и о",
    "bg": "ия та а е и о",
    "pl": "iach ach ami ami iem iej iego iemu ych ią ie em om ów ia ii ię a ą e ę i o u y",
    "cs": "ech ách ami emi ích ém ím ého ie ií em ou ou ům a e ě i í o u ů y á é",
    "sk": "och ách ami ej om ou ie ia ii iu ou a e i í o u y á é",
    "sl": "ijo ija ije iji ama ami ega em om ih im a e i o u",
    "el": "ους ων ος ου ον οι ας ης ες α η ο ι ε",
    "lt": "iuose uose ijos ijoje ija iją iai oje ėje yje ame ui us os ės as is ys ą ę į ų a e o u",
    "lv": "iem ijas ijā ija ām as ai ā ē ī ū us is es am ei a e s u",
    "fi": "ssa ssä sta stä lla llä lta ltä lle seen iin aan een oon än an on en in n",
    "et": "sse st sse le lt ks ga l s i",
    "hu": "ban ben ból ből hoz hez höz nak nek ról ről tól től val vel ért ba be ra re on en ön t n",
}
_ENDINGS |= {"hr": _ENDINGS["sr"], "bs": _ENDINGS["sr"], "sh": _ENDINGS["sr"]}
WHOLE_NAMES = frozenset(("de", "sv", "da", "nb", "nn", "no", "is", "nl", "fi", "et", "hu"))
"""Languages whose endings are added to the whole name; in others, one ending replaces another."""

_PREFIXES = {"ar": "وبال وال بال كال فال لل وب ول و ب ل ف ك ال", "he": "וב ול ומ ב ל מ ה ו ש"}

_MIN_STEM_CHARS = 3
"""Letters that stripping an ending leaves at least."""


@cache
def common_words(lang: str) -> frozenset[str]:
    """Return words of a language that are also names of cities, but rarely used as such."""
    return frozenset((_EVERYWHERE + " " + _COMMON.get(language(lang).code, "")).split())


@cache
def stop_words(lang: str) -> frozenset[str]:
    """Return the stop words of a language; none where no list is installed."""
    code = language(lang).code
    try:
        return stopwords(code) if has_module("stopwordsiso") else frozenset()
    except ValueError:
        return frozenset()


def stemmer(lang: str) -> Callable[[str], str] | None:
    """Return the function that strips case endings or attached prepositions; None for most languages.

    The longest known ending is stripped, as long as three letters remain. In German and related languages,
    only the s of the genitive is.

    Examples
    --------
    >>> [stemmer("ru")(word) for word in ("москва", "москве", "москвой", "рим")]
    ['москв', 'москв', 'москв', 'рим']
    >>> stemmer("ar")("بباريس"), stemmer("es")
    ('باريس', None)
    """
    code = language(lang).code
    if code in _PREFIXES:
        return partial(_without_prefix, tuple(_PREFIXES[code].split()))
    if code in _ENDINGS or code in WHOLE_NAMES:
        endings = frozenset(_ENDINGS.get(code, "s").split())
        lengths = sorted({len(ending) for ending in endings}, reverse=True)
        return partial(
            _without_accents_and_ending if code == "el" else _without_ending, endings, tuple(lengths)
        )
    return None


def _without_ending(endings: frozenset[str], lengths: tuple[int, ...], word: str) -> str:
    for n in lengths:
        if len(word) - n >= _MIN_STEM_CHARS and word[-n:] in endings:
            return word[:-n]
    return word


def _without_accents_and_ending(endings: frozenset[str], lengths: tuple[int, ...], word: str) -> str:
    """Stem Greek words, whose accents move from case to case."""
    letters = unicodedata.normalize("NFD", word)
    return _without_ending(endings, lengths, "".join(c for c in letters if not unicodedata.combining(c)))


def _without_prefix(prefixes: tuple[str, ...], word: str) -> str:
    for prefix in prefixes:
        if word.startswith(prefix) and len(word) - len(prefix) >= _MIN_STEM_CHARS:
            return word[len(prefix) :]
    return word
