import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import isogloss.text._segment
import isogloss.text._tokens
from isogloss.io import load, save
from isogloss.kernels import find_words
from isogloss.text import Tokeniser
from isogloss.text._segment import put_blanks
from isogloss.text._tokens import _word_table, word_pattern
from tests.oracles import words as twin


def test_words_of_spaced_scripts():
    assert Tokeniser("fr")("L'Été, c'est fini\u00a0!") == ["l", "été", "c", "est", "fini"]
    assert Tokeniser("ru")("Москва — столица") == ["москва", "столица"]
    assert Tokeniser("ar")("اللغة العربية") == ["اللغة", "العربية"]
    assert Tokeniser("ko")("한국어 문장입니다.") == ["한국어", "문장입니다"]
    assert Tokeniser("el")("ΟΔΟΣ") == ["οδος"]


def test_vowel_signs_and_joiners_are_parts_of_words():
    assert Tokeniser("hi")("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert Tokeniser("fa")("می\u200cروم") == ["می\u200cروم"]
    assert Tokeniser("ta")("தமிழ் மொழி") == ["தமிழ்", "மொழி"]


@given(st.text(st.characters() | st.sampled_from("ab_ \u0301\u200d\U00020000\U0001f600京é"), max_size=40))
def test_words_are_those_of_the_slow_twin_and_of_the_pattern(text):
    found = find_words(text, _word_table())
    assert found == twin.find_words(text, _word_table()) == word_pattern().findall(text)


def test_compatible_forms_are_one():
    assert Tokeniser("en")("ﬁne ½ ① Ångström") == Tokeniser("en")("fine 1 2 1 A\u030angström")


def test_case_follows_the_language():
    assert Tokeniser("tr")("ISPARTA İzmir") == ["\u0131sparta", "izmir"]
    assert Tokeniser("en")("IZMIR") == ["izmir"]
    assert Tokeniser("en", lower=False)("New York") == ["New", "York"]


def test_entities_are_left_alone():
    assert Tokeniser("en")("Fish &amp; chips &#39;") == ["fish", "amp", "chips", "39"]


def test_digits_of_all_scripts_are_the_same_numbers():
    assert Tokeniser("ar")("سنة ١٩٨٤")[-1] == "1984"
    assert Tokeniser("th")("ปี ๒๕๖๗")[-1] == "2567"
    assert Tokeniser("en", numbers="drop")("in 1984 b2b") == ["in", "b2b"]
    assert Tokeniser("en", numbers="shape")("in 1984") == ["in", "0000"]


@pytest.mark.parametrize(
    ("lang", "text", "words"),
    [
        ("zh", "我们在北京大学学习", ["我们", "在", "北京", "大学", "学习"]),
        ("ja", "日本語の解析は難しい。", ["日本語", "の", "解析", "は", "難しい"]),
        ("th", "ภาษาไทยไม่มีช่องว่าง", ["ภาษา", "ไทย", "ไม่มี", "ช่อง", "ว่าง"]),
        ("lo", "ພາສາລາວບໍ່ມີຊ່ອງຫວ່າງ", ["ພາສາ", "ລາວ", "ບໍ່ມີ", "ຊ່ອງຫວ່າງ"]),
        ("km", "ភាសាខ្មែរមិនមានចន្លោះ", ["ភាសាខ្មែរ", "មិន", "មាន", "ចន្លោះ"]),
        ("my", "မြန်မာဘာသာစကား", ["မြန်မာဘာသာ", "စကား"]),
    ],
)
def test_scripts_without_blanks_are_segmented_by_dictionaries(lang, text, words):
    assert Tokeniser(lang)(text) == words
    pairs = Tokeniser(lang, segmenter="bigrams")(text)
    assert all(len(pair) == 2 for pair in pairs)
    assert pairs[0] == text[:2]


def test_runs_are_put_back_where_they_were():
    mixed = "Tokyo 東京タワー, Beijing 北京 (x) 京"
    assert put_blanks(mixed, "en", "bigrams").split() == [
        "Tokyo", "東京", "京タ", "タワ", "ワー", ",", "Beijing", "北京", "(x)", "京",
    ]  # fmt: skip
    assert put_blanks(mixed, "ja", "icu").split() == [
        "Tokyo", "東京タワー", ",", "Beijing", "北京", "(x)", "京",
    ]  # fmt: skip


def test_mixed_scripts_fall_into_words_of_each():
    assert Tokeniser("zh")("价格iPhone手机") == ["价格", "iphone", "手机"]
    assert Tokeniser("en")("the word 北京大学 means") == ["the", "word", "北京", "京大", "大学", "means"]


def test_without_the_dictionary_pairs_of_characters_serve(monkeypatch):
    monkeypatch.setattr(isogloss.text._segment, "has_module", lambda module: False)
    assert Tokeniser("zh").segmenter == "bigrams"
    assert Tokeniser("zh")("北京大学") == ["北京", "京大", "大学"]
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    with pytest.raises(ModuleNotFoundError, match=r"Chinese.* needs icu4py.*'isogloss\[text\]'"):
        Tokeniser("zh", segmenter="icu")


def test_stop_words_are_left_out_before_ngrams():
    words = Tokeniser("en", stop_words=True, ngrams=2)("The house isn't on the hill")
    assert words == ["house", "hill", "house hill"]
    assert Tokeniser("en", stop_words=True, lower=False)("The Hill") == ["Hill"]


def test_stems():
    assert Tokeniser("en", stem="snowball")("Running houses") == ["run", "hous"]
    assert Tokeniser("nb", stem="snowball")("husene") == Tokeniser("no", stem="snowball")("husene") == ["hus"]
    with pytest.raises(ValueError, match="no stemmer for Chinese; use stem=None"):
        Tokeniser("zh", stem="snowball")


def test_a_stemmer_may_be_used_in_threads():
    stem = Tokeniser("de", stem="snowball")
    text = " ".join(f"Häuser{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}ungen" for i in range(600))
    expected = [stem(word)[0] for word in text.split()]
    isogloss.text._stems._stem.cache_clear()
    found = [None] * 4

    def work(n):
        found[n] = stem(text)

    team = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for one in team:
        one.start()
    for one in team:
        one.join()
    assert all(words == expected for words in found)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lang": "xx"}, "'xx' is not known"),
        ({"ngrams": 0}, "got ngrams=0"),
        ({"min_length": "2"}, "got min_length='2'"),
        ({"numbers": "no"}, "got numbers='no'"),
        ({"stem": "porter"}, "got stem='porter'"),
        ({"segmenter": "jieba"}, "got segmenter='jieba'"),
        ({"lang": "pms", "stop_words": True}, "no list of stop words"),
    ],
)
def test_settings_are_checked_when_they_are_made(settings, message):
    with pytest.raises(ValueError, match=message):
        Tokeniser(**{"lang": "en", **settings})


@pytest.mark.parametrize("lang", ["en", "zh", "tr"])
def test_what_is_no_text_is_refused(lang):
    with pytest.raises(TypeError, match=r"got bytes .*text.decode\('utf-8'\)"):
        Tokeniser(lang)(b"caf\xc3\xa9")
    with pytest.raises(TypeError, match="got NoneType"):
        Tokeniser(lang)(None)
    assert Tokeniser(lang)("") == Tokeniser(lang)(" \n\t\x00") == []


@given(st.text(st.characters(), max_size=60), st.sampled_from(["en", "zh", "hi", "tr", "th", "ar"]))
def test_any_string_gives_words_that_are_words(text, lang):
    words = Tokeniser(lang)(text)
    assert all(words)
    assert all(Tokeniser(lang, segmenter="bigrams")(word) for word in words)


def test_lone_surrogates_separate_words():
    assert Tokeniser("en")("left\ud800right") == ["left", "right"]
    assert Tokeniser("zh")("北京\udc00大学") == ["北京", "大学"]


def test_emoji_are_no_words_and_rare_han_are():
    assert Tokeniser("en")("good😀day") == ["good", "day"]
    assert Tokeniser("zh", segmenter="bigrams")("𠀀") == ["𠀀"]


@given(st.lists(st.sampled_from(["a", "bb", "ccc"]), max_size=40), st.integers(1, 3), st.integers(4, 15))
def test_a_long_text_cut_into_blocks_has_the_same_terms(words, ngrams, size):
    text, whole = " ".join(words), Tokeniser("en", ngrams=ngrams)
    expected = sorted(whole(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(isogloss.text._tokens, "_BLOCK_CHARS", size)
        assert sorted(whole(text)) == expected


def test_a_text_without_blanks_is_cut_all_the_same(monkeypatch):
    monkeypatch.setattr(isogloss.text._tokens, "_BLOCK_CHARS", 10)
    assert "".join(Tokeniser("en")("x" * 95)) == "x" * 95


@pytest.mark.slow
def test_a_text_of_100_mb_streams():
    blocks = Tokeniser("en").blocks("lorem ipsum dolor " * 6_000_000)
    assert sum(map(len, blocks)) == 18_000_000


def test_settings_are_kept_in_model_files(tmp_path):
    made = Tokeniser("ja", ngrams=2, segmenter="bigrams", numbers="shape")
    save(made, tmp_path / "tokeniser.isogloss")
    assert load(tmp_path / "tokeniser.isogloss") == made
