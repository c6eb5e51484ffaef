"""Concept dictionaries from lexicons and parallel text."""

import gzip
import json

import pytest
from typer.testing import CliRunner

from isogloss.cli.news._concepts import concepts_group
from isogloss.corpora import ColumnPairs
from isogloss.events.annotate import (
    ConceptDictionary,
    TranslationCounts,
    build_lexicon_concepts,
    phrase_words,
)
from isogloss.exceptions import CorpusError

runner = CliRunner()
GERMAN = """\
The strike began in Oslo.\tDer Streik begann in Oslo.
The long strike ended.\tDer lange Streik endete.
Strikes are rare.\tStreiks sind selten.
A storm hit Oslo.\tEin Sturm traf Oslo.
The storm ended.\tDer Sturm endete.
Two storms began.\tZwei Stürme begannen.
"""
SPANISH = """\
The strike began in Oslo.\tLa huelga empezó en Oslo.
The long strike ended.\tLa larga huelga terminó.
Strikes are rare.\tLas huelgas son raras.
A storm hit Oslo.\tUna tormenta azotó Oslo.
The storm ended.\tLa tormenta terminó.
Two storms began.\tDos tormentas empezaron.
"""


@pytest.fixture
def texts(tmp_path):
    (tmp_path / "en-de.tsv").write_text(GERMAN, encoding="utf-8")
    with gzip.open(tmp_path / "en-es.tsv.gz", "wt", encoding="utf-8") as file:
        file.write(SPANISH)
    return tmp_path


def read(path, source="en", target="de"):
    table = TranslationCounts(source, target)
    table.add_text(ColumnPairs(path))
    return table


def weights(folder, text, lang):
    found = ConceptDictionary(folder).find(phrase_words(text, lang), lang)
    return {name: weight for name, _, weight in found}


def entities(folder, text, lang):
    found = ConceptDictionary(folder).find(phrase_words(text, lang), lang)
    return {name for name, is_entity, _ in found if is_entity}


def lexicon(folder, name, *rows):
    path = folder / name
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    return path


def test_languages_meet_in_the_words_of_the_hub(texts):
    tables = [read(texts / "en-de.tsv"), read(texts / "en-es.tsv.gz", target="es")]
    report = build_lexicon_concepts(tables, texts / "dictionary")
    assert report.hub == "en"
    assert set(report.pairs) == {"en-de", "en-es"}
    for text, lang in (("Streiks", "de"), ("las huelgas", "es"), ("striking", "en")):
        found = weights(texts / "dictionary", text, lang)
        assert max(found, key=found.get) == "en:strike"
    assert weights(texts / "dictionary", "der die in", "de") == {}


def test_names_of_the_parallel_text_are_entities(texts):
    build_lexicon_concepts([read(texts / "en-de.tsv")], texts / "dictionary")
    assert entities(texts / "dictionary", "ein Sturm in Oslo", "de") == {"en:oslo"}


def test_weights_are_roots_of_shares(tmp_path):
    lines = [("bank", "Bank", 8), ("bank", "Ufer", 2), ("shore", "Ufer", 6)]
    table = TranslationCounts("en", "de")
    table.add_lexicon(lexicon(tmp_path, "en-de.tsv", *lines))
    build_lexicon_concepts([table], tmp_path / "dictionary")
    found = weights(tmp_path / "dictionary", "Ufer", "de")
    assert found == pytest.approx({"en:bank": 0.25**0.5, "en:shore": 0.75**0.5})
    assert weights(tmp_path / "dictionary", "bank", "en") == pytest.approx({"en:bank": 1.0})


def test_rare_and_scattered_pairs_are_left_out(tmp_path):
    lines = [("bank", "Bank", 90), ("bank", "Geldhaus", 5), ("bank", "Sparkasse", 1)]
    table = TranslationCounts("en", "de")
    table.add_lexicon(lexicon(tmp_path, "en-de.tsv", *lines))
    kept = {(word, concept) for word, concept in table.shares("de", min_count=2, min_agreement=0.1)}
    assert kept == {("bank", "bank")}
    loose = table.shares("de", min_count=2, min_agreement=0.0)
    assert {word for word, _ in loose} == {"bank", "geldhaus"}
    with pytest.raises(CorpusError, match="no pair of words was aligned 1000 times or more"):
        build_lexicon_concepts([table], tmp_path / "dictionary", min_count=1000)
    assert not (tmp_path / "dictionary").exists()


def test_several_files_of_a_pair_add_up(tmp_path):
    once, twice = TranslationCounts("en", "de"), TranslationCounts("en", "de")
    path = lexicon(tmp_path, "en-de.tsv", ("strike", "Streik", 1.5))
    once.add_lexicon(path)
    for _ in range(2):
        twice.add_lexicon(path)
    assert once.shares("de", 2, 0.1) == {}
    assert twice.shares("de", 2, 0.1) == {("streik", "strike"): 1.0}


def test_a_language_without_stemmer_and_one_with_marks(tmp_path):
    (tmp_path / "en-ko.tsv").write_text(
        "strike\t파업이\nlong strike\t긴 파업을\nstorm\t폭풍이\nlong storm\t긴 폭풍을\n" * 2, encoding="utf-8"
    )
    (tmp_path / "en-hi.tsv").write_text(
        "strike\tहड़ताल\nstorm\tतूफ़ान\nlong strike\tलंबी हड़ताल\n" * 2, encoding="utf-8"
    )
    tables = [read(tmp_path / "en-ko.tsv", target="ko"), read(tmp_path / "en-hi.tsv", target="hi")]
    build_lexicon_concepts(tables, tmp_path / "dictionary")
    assert "en:strike" in weights(tmp_path / "dictionary", "파업", "ko")
    assert "en:strike" in weights(tmp_path / "dictionary", "हड़ताल", "hi")


def test_pairs_without_a_common_language_are_refused(texts):
    tables = [TranslationCounts("en", "de"), TranslationCounts("fr", "es")]
    with pytest.raises(CorpusError, match="en-de, fr-es, which have no language in common"):
        build_lexicon_concepts(tables, texts / "dictionary")
    with pytest.raises(CorpusError, match="no translations were given"):
        build_lexicon_concepts([], texts / "dictionary")
    with pytest.raises(ValueError, match="expected two languages"):
        TranslationCounts("en", "eng")


def test_text_without_sentences_is_refused(tmp_path):
    (tmp_path / "en-de.tsv").write_text("...\t!!!\n", encoding="utf-8")
    with pytest.raises(CorpusError, match="has no pair of sentences"):
        read(tmp_path / "en-de.tsv")


def test_the_command_builds_from_text_and_lexicons(texts):
    lexicon(texts, "known.tsv", ("flood", "Flut", 5), ("flood", "Hochwasser", 5))
    output = texts / "dictionary"
    options = ["--parallel", f"{texts}/en-de.tsv", "--parallel", f"en-es={texts}/en-es.tsv.gz"]
    options += ["--lexicon", f"en-de={texts}/known.tsv", "--output", str(output), "--json"]
    answer = runner.invoke(concepts_group, ["build", *options])
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.stdout)
    assert told["hub"] == "en"
    assert set(told["languages"]) == {"de", "en", "es"}
    assert weights(output, "Hochwasser", "de") == pytest.approx({"en:flood": 1.0})


def test_the_command_reads_two_files_of_lines(texts):
    for code, column in (("en", 0), ("de", 1)):
        lines = [line.split("\t")[column] for line in GERMAN.splitlines()]
        (texts / f"news.{code}").write_text("\n".join(lines), encoding="utf-8")
    given = f"de-en={texts}/news.de,{texts}/news.en"
    answer = runner.invoke(concepts_group, ["build", "--parallel", given, "-o", str(texts / "dictionary")])
    assert answer.exit_code == 0, answer.output
    assert "concepts are words of de" in answer.output
    assert "de:streik" in weights(texts / "dictionary", "strike", "en")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--parallel", "sentences.tsv"], "the file name does not begin with two languages"),
        (["--parallel", "sentences.tsv"], "write PAIR=FILE, for example en-de=sentences.tsv"),
        (["--parallel", "en-xx=a.tsv"], "the language 'xx' is not known"),
        (["--parallel", "en-eng=a.tsv"], "expected two languages"),
        (["--parallel", "en-de=a,b,c"], "got 3 files; expected one or two"),
        (["--lexicon", "en-de=a,b"], "expected one file"),
        (["--lexicon", "en-de=a", "--wordnet", "."], "cannot be combined"),
        (["--parallel", "en-de=a", "en=dump.xml"], "cannot be combined"),
        ([], "--lexicon"),
    ],
)
def test_wrong_options_are_refused(tmp_path, options, said):
    answer = runner.invoke(concepts_group, ["build", *options, "-o", str(tmp_path / "dictionary")])
    assert answer.exit_code == 2
    assert said in " ".join(answer.output.replace("│", "").split())
    assert not (tmp_path / "dictionary").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"strike\n", "is incomplete; expected source, target"),
        (b"strike\tStreik\tmany\n", "is incomplete; expected source, target"),
        (b"\xff\xff\tStreik\n", "is incomplete; expected source, target"),
    ],
)
def test_a_broken_lexicon_is_refused(tmp_path, content, said):
    (tmp_path / "en-de.tsv").write_bytes(content)
    with pytest.raises(CorpusError, match=said):
        TranslationCounts("en", "de").add_lexicon(tmp_path / "en-de.tsv")
