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


ISO_639_1 = """
aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz
ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik
io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml
mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd
se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve
vi vo wa wo xh yi yo za zh zu
"""


def test_every_two_letter_code_is_known():
    assert [language(code).code for code in ISO_639_1.split() if code != "bh"] == [
        code for code in ISO_639_1.split() if code != "bh"
    ]
    assert language("bh").code == "bho"


@pytest.mark.parametrize(
    ("code", "expected"),
    [("simple", "en"), ("zh-min-nan", "nan"), ("zh-yue", "yue"), ("zh-classical", "lzh"), ("be-x-old", "be"),
     ("be-tarask", "be"), ("azb", "azb"), ("ckb", "ckb"), ("arz", "arz"), ("als", "sq"), ("pnb", "pnb"),
     ("xmf", "xmf"), ("kaa", "kaa"), ("min", "min"), ("frp", "frp"), ("mzn", "mzn"), ("ny", "ny")],
)  # fmt: skip
def test_codes_of_wikipedias_are_known(code, expected):
    assert language(code).code == expected


def test_the_registry_is_large_and_has_no_code_twice():
    known = known_languages()
    assert len(known) >= 60
    assert len({one.code for one in known}) == len({one.code3 for one in known}) == len(known)
    assert len({one.name for one in known}) == len(known)
    assert all(len(one.script) == 4 and len(one.code3) == 3 and one.name[0].isupper() for one in known)


def test_scripts_have_a_direction_and_spaces_or_none():
    assert {one.code for one in known_languages() if one.segmenter == "unspaced"} == {
        "zh", "yue", "wuu", "gan", "lzh", "ja", "th", "lo", "km", "my",
    }  # fmt: skip
    assert {"ar", "he", "fa", "ur", "yi", "ps", "dv"} <= {
        one.code for one in known_languages() if one.direction == "rtl"
    }


def test_an_unknown_language_is_refused_with_near_ones():
    with pytest.raises(ValueError, match=r"'slvv' is not known; near ones: .*sl \(Slovenian\)"):
        language("slvv")
    with pytest.raises(ValueError, match=r"'@+' is not known; give an ISO 639 code"):
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
