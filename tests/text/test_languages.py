import sys

import pytest

from isogloss.text import known_languages, language, stopwords


@pytest.mark.parametrize(
    ("code", "expected"),
    [("en", "en"), ("ENG", "en"), ("pt-BR", "pt"), ("zh_Hant", "zh"), ("arb", "ar"), ("srp-Latn", "sr"),
     ("pms", "pms"), ("iw", "he"), ("nob", "nb"), ("cmn", "zh"), ("war", "war"), (" sl ", "sl")],
)  # fmt: skip
def test_codes_are_taken_as_people_write_them(code, expected):
    assert language(code).code == expected


def test_the_registry_is_large_and_has_no_code_twice():
    known = known_languages()
    assert len(known) >= 60
    assert len({one.code for one in known}) == len({one.code3 for one in known}) == len(known)
    assert len({one.name for one in known}) == len(known)
    assert all(len(one.script) == 4 and len(one.code3) == 3 and one.name[0].isupper() for one in known)


def test_scripts_tell_the_direction_and_whether_there_are_blanks():
    assert {one.code for one in known_languages() if one.segmenter == "unspaced"} == {
        "zh", "yue", "wuu", "ja", "th", "lo", "km", "my",
    }  # fmt: skip
    assert {"ar", "he", "fa", "ur", "yi", "ps", "dv"} <= {
        one.code for one in known_languages() if one.direction == "rtl"
    }


def test_an_unknown_language_is_refused_with_near_ones():
    with pytest.raises(ValueError, match=r"'slvv' is not known; near ones: .*sl \(Slovenian\)"):
        language("slvv")
    with pytest.raises(ValueError, match="near ones: none; give an ISO 639 code"):
        language("@@@@@@@@@")
    with pytest.raises(TypeError, match="got None as a language"):
        language(None)


def test_stop_words_come_for_most_large_languages():
    have = []
    for one in known_languages():
        try:
            have.append(bool(stopwords(one.code)))
        except ValueError:
            have.append(False)
    assert sum(have) >= 58
    with pytest.raises(ValueError, match=r"for Piedmontese \(pms\); drop the most frequent"):
        stopwords("pms")


def test_a_missing_package_is_named_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "stopwordsiso", None)
    stopwords.cache_clear()
    with pytest.raises(ModuleNotFoundError, match=r"stop words needs stopwordsiso.* 'isogloss\[text\]'"):
        stopwords("en")
