"""Concept dictionaries from wordnets."""

import gzip
import json
import sys
from datetime import UTC, datetime
from math import sqrt

import numpy as np
import pytest
from typer.testing import CliRunner

from isogloss.cli.news._concepts import concepts_group
from isogloss.events import Article
from isogloss.events.annotate import (
    Annotator,
    ConceptDictionary,
    build_wordnet_concepts,
    phrase_words,
    wordnet_files,
)
from isogloss.events.annotate.concepts._dictionary import PhraseMeanings, phrase_key, write_meanings
from isogloss.exceptions import CorpusError

QUAKE, BANK, SHORE, SENATE = "07428954-n", "08420278-n", "09213565-n", "08319198-n"
NEPAL, STRIKE, HIT, QUICKLY, COURT = "08906374-n", "01157517-n", "01400044-v", "00085811-r", "08329453-n"

ENGLISH = [
    (QUAKE, "earthquake"), (QUAKE, "quake"), (BANK, "bank"), (SHORE, "bank"), (STRIKE, "strike"),
    (HIT, "strike"), (NEPAL, "Nepal"), (COURT, "court_of_law"), (QUICKLY, "quickly"), (SENATE, "the"),
    (SENATE, "senate"),
]  # fmt: skip
WORDNETS = {
    "eng": ENGLISH,
    "deu": [(QUAKE, "Erdbeben"), (BANK, "Bank"), (STRIKE, "Streik"), (NEPAL, "Nepal"), (COURT, "Gericht")],
    "fra": [(QUAKE, "tremblement de terre"), (BANK, "banque"), (STRIKE, "grève"), (NEPAL, "Népal")],
    "ukr": [(QUAKE, "землетрус"), (NEPAL, "Непал"), (COURT, "суд")],
    "cmn": [(QUAKE, "地震"), (NEPAL, "尼泊尔"), (BANK, "银行")],
    "arb": [(QUAKE, "زلْزال")],
    "nob": [(QUAKE, "jordskjelv")],
}


def tab(code, rows, *, header=True):
    first = [f"# Demo\t{code}\thttps://wordnets.example\tCC0"] if header else []
    return "\n".join([*first, *(f"{synset}\t{code}:lemma\t{lemma}" for synset, lemma in rows)]) + "\n"


@pytest.fixture
def wordnets(tmp_path):
    folder = tmp_path / "omw"
    folder.mkdir()
    for code, rows in WORDNETS.items():
        if code == "deu":
            with gzip.open(folder / "wn-data-deu.tab.gz", "wt", encoding="utf-8") as file:
                file.write(tab(code, rows))
        else:
            (folder / f"wn-data-{code}.tab").write_text(tab(code, rows), encoding="utf-8")
    return folder


@pytest.fixture
def concepts(wordnets, tmp_path):
    build_wordnet_concepts(wordnet_files(wordnets), tmp_path / "dictionary")
    return ConceptDictionary(tmp_path / "dictionary")


def weights(concepts, text, lang):
    return {
        name.partition(":")[0]: weight for name, _, weight in concepts.find(phrase_words(text, lang), lang)
    }


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "Two earthquakes"),
        ("de", "Schwere Erdbeben"),
        ("fr", "Un tremblement de terre"),
        ("uk", "Після землетрусу"),
        ("zh", "尼泊尔发生地震"),
        ("ar", "زلزال"),
        ("no", "Jordskjelvet"),
    ],
)
def test_a_synset_is_one_concept_in_all_languages(concepts, lang, text):
    assert QUAKE in weights(concepts, text, lang)


def test_concepts_are_labelled_in_english(concepts):
    assert [name for name, _, _ in concepts.find(["землетрус"], "uk")] == [f"{QUAKE}:earthquake"]


def test_synsets_of_one_language_are_no_concepts(concepts):
    assert weights(concepts, "bank", "en") == {BANK: 1.0}
    assert weights(concepts, "strike", "en") == {STRIKE: 1.0}


def test_the_weight_of_a_word_is_divided_over_its_senses(tmp_path):
    rows = {"eng": [(STRIKE, "strike"), (HIT, "strike")], "deu": [(STRIKE, "Streik"), (HIT, "schlagen")]}
    rows["fra"] = [(STRIKE, "grève")]
    for code, lemmas in rows.items():
        (tmp_path / f"{code}.tab").write_text(tab(code, lemmas), encoding="utf-8")
    build_wordnet_concepts(wordnet_files(tmp_path), tmp_path / "dictionary")
    found = weights(ConceptDictionary(tmp_path / "dictionary"), "strike", "en")
    assert found == pytest.approx({STRIKE: sqrt(3 / 5), HIT: sqrt(2 / 5)})


def test_only_the_three_strongest_senses_are_kept(tmp_path):
    keys = np.full(5, phrase_key(["set"]), np.uint64)
    table = PhraseMeanings(keys, np.arange(5), np.array([0.1, 0.5, 0.2, 0.4, 0.3]))
    write_meanings(tmp_path / "d", list("abcde"), [], {"en": table})
    found = list(ConceptDictionary(tmp_path / "d").find(["set"], "en"))
    assert [name for name, _, _ in found] == ["b", "d", "e"]


def test_phrases_stop_words_and_adverbs(concepts):
    assert weights(concepts, "The court of law spoke quickly in the senate", "en") == {COURT: 1.0}
    assert weights(concepts, "the", "en") == {}


def test_compounds_mean_their_parts(concepts):
    assert weights(concepts, "Das Erdbebengericht", "de") == pytest.approx(
        {QUAKE: sqrt(0.5), COURT: sqrt(0.5)}
    )
    assert weights(concepts, "bankstrike", "en") == {}


def test_what_is_capitalised_is_an_entity(concepts):
    found = {
        name.partition(":")[0]: is_entity for name, is_entity, _ in concepts.find(["nepal", "streik"], "de")
    }
    assert found == {NEPAL: True, STRIKE: False}


def test_annotation_uses_the_concept_in_place_of_the_word(concepts):
    time = datetime(2031, 3, 6, tzinfo=UTC)
    annotator = Annotator(concepts=concepts, gazetteer=None)
    de = annotator.annotate(Article("1", "de", "Erdbeben in Nepal", "Das Erdbeben traf Tausende.", time))
    fr = annotator.annotate(Article("2", "fr", "Tremblement de terre au Népal", "", time))
    quake = f"concept:{QUAKE}:earthquake"
    assert de.keywords.keys() & fr.keywords.keys() == {quake}
    assert de.keywords[quake] > fr.keywords[quake]
    assert f"concept:{NEPAL}:Nepal" in de.entities.keys() & fr.entities.keys()
    assert not any(word.startswith("word:ardb") for word in de.keywords)


def test_folders_of_version_1_still_open(tmp_path):
    write_meanings(
        tmp_path / "old",
        ["en:Flood"],
        [],
        {"en": PhraseMeanings(np.array([phrase_key(["flood"])], np.uint64), np.zeros(1, int), np.ones(1))},
    )
    header = tmp_path / "old" / "concepts.json"
    said = json.loads(header.read_text())
    sizes = {
        code: {key: each[key] for key in ("phrases", "filter")} for code, each in said["languages"].items()
    }
    old = {"format": said["format"], "version": 1, "concepts": 1, "languages": sizes}
    header.write_text(json.dumps(old))
    assert list(ConceptDictionary(tmp_path / "old").find(["flood"], "en")) == [("en:Flood", False, 1.0)]


def test_broken_lines_are_counted_and_skipped(wordnets, tmp_path):
    with (wordnets / "wn-data-fra.tab").open("ab") as file:
        file.write(
            b"07428954-n\tfra:lemma\n" + b"07428954-n\tfra:lemma\t \n" + b"0742\tfra:lemma\tsecousse\n"
        )
        file.write(b"07428954-n\tfra:lemma\ts\xe9isme\n\n" + b"07428954-n\tfra:def\t0\tune secousse\n")
    report = build_wordnet_concepts(wordnet_files(wordnets), tmp_path / "dictionary")
    assert report.problems == {"malformed": 2, "without lemma": 1, "not UTF-8": 1}
    said = str(report)
    assert "wn-data-fra.tab:6: got '07428954-n\\tfra:lemma'; expected a synset such as" in said
    assert "wn-data-fra.tab:9: the line is not UTF-8" in said
    assert QUAKE in weights(ConceptDictionary(tmp_path / "dictionary"), "tremblement de terre", "fr")


def test_unknown_languages_are_skipped(wordnets, tmp_path):
    (wordnets / "wn-data-xqx.tab").write_text(tab("xqx", [(QUAKE, "bebo")]))
    report = build_wordnet_concepts(wordnet_files(wordnets), tmp_path / "dictionary")
    assert len(report.skipped_files) == 1
    assert "wn-data-xqx.tab:2: file skipped: the language 'xqx' is not known" in report.skipped_files[0]
    assert "xqx" not in ConceptDictionary(tmp_path / "dictionary").languages
    with pytest.raises(CorpusError, match="no wordnet file could be used"):
        build_wordnet_concepts([wordnets / "wn-data-xqx.tab"], tmp_path / "other")


def empty(folder):
    (folder / "wn-data-ita.tab").write_bytes(b"")
    return r"wn-data-ita\.tab: is empty"


def mostly_broken(folder):
    (folder / "wn-data-ita.tab").write_text("terremoto\nbanca\n" + tab("ita", [(QUAKE, "terremoto")]))
    return (
        r"wn-data-ita\.tab: 2 of 3 lines are broken \(2 malformed\); the first: .*ita\.tab:1: got 'terremoto'"
    )


def other_encoding(folder):
    (folder / "wn-data-ita.tab").write_text(tab("ita", WORDNETS["ukr"]), encoding="utf-16")
    return r"wn-data-ita\.tab: the file is in UTF-16; expected UTF-8"


def truncated(folder):
    path = folder / "wn-data-deu.tab.gz"
    path.write_bytes(path.read_bytes()[:-20])
    return r"wn-data-deu\.tab\.gz: the gzip data are cut short"


def no_language(folder):
    (folder / "wn-data-ita.tab").write_text(f"{QUAKE}\tlemma\tterremoto\n")
    return r"wn-data-ita\.tab:1: the language is unknown"


@pytest.mark.parametrize("damage", [empty, mostly_broken, other_encoding, truncated, no_language])
def test_damaged_files_make_no_dictionary(wordnets, tmp_path, damage):
    message = damage(wordnets)
    with pytest.raises(CorpusError, match=message):
        build_wordnet_concepts(wordnet_files(wordnets), tmp_path / "dictionary")
    assert [one.name for one in tmp_path.iterdir()] == ["omw"]


def test_lines_name_the_language_before_the_header_does(wordnets, tmp_path):
    text = tab("ita", [(QUAKE, "terremoto")]).replace("# Demo\tita", "# Demo\tspa")
    (wordnets / "wn-data-ita.tab").write_text(text)
    build_wordnet_concepts(wordnet_files(wordnets), tmp_path / "dictionary")
    assert QUAKE in weights(ConceptDictionary(tmp_path / "dictionary"), "terremoti", "it")


def test_stems_need_the_stemmer(wordnets, concepts, tmp_path, monkeypatch):
    header = tmp_path / "dictionary" / "concepts.json"
    said = json.loads(header.read_text())
    said["languages"]["uk"]["forms"] = "snowball"
    header.write_text(json.dumps(said))
    with pytest.raises(CorpusError, match="has no stemmer for 'uk'"):
        ConceptDictionary(tmp_path / "dictionary")
    said["languages"]["uk"]["forms"] = "lemmas"
    header.write_text(json.dumps(said))
    with pytest.raises(CorpusError, match="forms of uk are 'lemmas'"):
        ConceptDictionary(tmp_path / "dictionary")
    monkeypatch.setitem(sys.modules, "snowballstemmer", None)
    with pytest.raises(ModuleNotFoundError, match=r"isogloss\[text\]"):
        build_wordnet_concepts(wordnet_files(wordnets), tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_folders_without_wordnets_are_refused(tmp_path):
    with pytest.raises(CorpusError, match="there is no such folder"):
        wordnet_files(tmp_path / "none")
    with pytest.raises(CorpusError, match="has no wordnet file"):
        wordnet_files(tmp_path)


def test_the_same_files_make_the_same_dictionary(wordnets, tmp_path):
    for name in ("one", "two"):
        build_wordnet_concepts(wordnet_files(wordnets), tmp_path / name)
    assert ConceptDictionary(tmp_path / "one").digest == ConceptDictionary(tmp_path / "two").digest
    (wordnets / "wn-data-nob.tab").unlink()
    build_wordnet_concepts(wordnet_files(wordnets), tmp_path / "three")
    assert ConceptDictionary(tmp_path / "one").digest != ConceptDictionary(tmp_path / "three").digest


def test_the_command(wordnets, tmp_path):
    runner, out = CliRunner(), tmp_path / "dictionary"
    (wordnets / "wn-data-xqx.tab").write_text(tab("xqx", [(QUAKE, "bebo")]))
    made = runner.invoke(
        concepts_group, ["build", "--wordnet", str(wordnets), "--output", str(out), "--json"]
    )
    assert made.exit_code == 0, made.output
    said = json.loads(made.stdout)
    assert said["languages"]["uk"]["forms"] == "truncated"
    assert said["files"] == len(WORDNETS)
    assert len(said["skipped_files"]) == 1
    shown = runner.invoke(concepts_group, ["find", str(out), "Erdbeben in Nepal", "--lang", "de", "--json"])
    assert {one["concept"] for one in json.loads(shown.stdout)["concepts"]} == {
        f"{QUAKE}:earthquake",
        f"{NEPAL}:Nepal",
    }
    table = runner.invoke(
        concepts_group, ["build", "--wordnet", str(wordnets), "--output", str(tmp_path / "again")]
    )
    assert "7 wordnet files" in table.output
    for wrong in (["--wordnet", str(wordnets), "en=dump.xml"], []):
        refused = runner.invoke(concepts_group, ["build", *wrong, "--output", str(tmp_path / "more")])
        assert refused.exit_code == 2, refused.output
