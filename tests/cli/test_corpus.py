"""``isogloss corpus``: files in, a folder out, tables about it, or one sentence that says why not."""

import bz2
import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isogloss.cli.app import app
from isogloss.corpora import ComparableCorpus
from isogloss.exceptions import CorpusError
from isogloss.text import Tokeniser

runner = CliRunner()

TEXTS = {
    "en": {"a": "The old house", "b": "A cat and a dog", "c": "Rain again"},
    "de": {"a": "Das alte Haus", "c": "Wieder Regen"},
    "pt-BR": {"b": "Um gato e um cão", "c": "Chuva de novo"},
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with documents of three languages; nothing waits for the disk."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    for code, texts in TEXTS.items():
        lines = (json.dumps({"id": key, "text": text}) for key, text in texts.items())
        (tmp_path / f"{code}.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def call(*arguments):
    return runner.invoke(app, ["corpus", *map(str, arguments)])


def build(*more):
    return call("build", "en.jsonl", "de=de.jsonl", "pt-BR.jsonl", "-o", "c",
                "--min-words", 1, "-j", 1, *more)  # fmt: skip


def test_build_info_split():
    result = build("--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["languages"]["de"]["documents"] == 2
    corpus = ComparableCorpus("c")
    assert corpus.languages == ("en", "de", "pt-BR")
    assert list(corpus.vocabulary("de")) == ["alte", "das", "haus", "regen", "wieder"]
    assert Tokeniser(**corpus.tokeniser("pt-BR")) == Tokeniser("pt-BR")

    shown = call("info", "c", "--check")
    assert shown.exit_code == 0, shown.output
    assert "3 rows" in shown.stdout
    assert "en - pt-BR" in shown.stdout
    said = json.loads(call("info", "c", "--hub", "de", "--json").stdout)
    assert said["pairs"] == {"en-de": 2, "en-pt-BR": 2, "de-pt-BR": 1}
    assert said["ranks"]["en"] == {"rows": 2, "hub": 1.0, "language": 1.0}

    parted = call("split", "c", "--train", "t", "--test", "u", "--pairs", "de:pt-BR", "--json")
    assert json.loads(parted.stdout) == {"t": 2, "u": 1}
    assert list(ComparableCorpus("u").ids) == ["c"]
    beside = call("info", "t", "--test", "u", "--rank-rows", 0)
    assert "2 - 1" in beside.stdout
    assert "rank" not in beside.stdout
    assert json.loads(call("info", "t", "--test", "u", "--json").stdout)["test_pair_sizes"][0] == [1, 1, 1]

    assert call("split", "c", "--train", "t3", "--test", "u", "--share", 0.34).exit_code == 1
    assert not Path("t3").exists()
    drawn = call("split", "c", "--train", "t2", "--test", "u2", "--share", 0.34)
    assert drawn.stdout.strip() == "t2: 2 rows, u2: 1 rows"


def test_a_table_of_what_was_built(folder):
    with open(folder / "de.jsonl", "a") as file:
        file.write('{"id": "d"}\n{"id": "e", "text": "Haus"}\n')
    result = build("--min-words", 2, "--stem", "--ngrams", 2)
    assert result.exit_code == 0, result.output
    assert "1 stubs, 1 without text" in result.stdout
    assert 'de.jsonl:3: field "text" is missing' in result.stderr.replace("\n", " ")
    assert ComparableCorpus("c").tokeniser("en")["stem"] == "snowball"
    assert "old hous" in ComparableCorpus("c").vocabulary("en")


def test_strict_stops_at_a_bad_record(folder):
    with open(folder / "de.jsonl", "a") as file:
        file.write("{\n")
    result = build("--strict")
    assert isinstance(result.exception, CorpusError)
    assert "de.jsonl:3: is not JSON" in str(result.exception)
    assert not os.path.exists("c")
    with open(folder / "de.jsonl", "w") as file:
        file.write('{"id": "a", "text": "Haus"}\n')
    again = build("--strict")
    assert "differs from this one in de" in str(again.exception)
    assert build("--strict", "--restart").exit_code == 0


def test_line_aligned_text(folder):
    for code, text in {"en": "a house\n\na cat\n", "de": "ein Haus\nein Hund\n"}.items():
        (folder / f"{code}.txt").write_text(text)
    assert call("build", "en.txt", "de.txt", "-o", "c", "--min-words", 1, "-j", 1).exit_code == 0
    corpus = ComparableCorpus("c")
    assert list(corpus.ids) == ["1", "3", "2"]
    assert corpus.presence.tolist() == [[True, True], [True, False], [False, True]]


def test_many_languages_fit_the_width_of_the_screen(folder):
    codes = ["en", "de", "fr", "it", "es", "sl", "hr", "cs", "pl", "nl", "da", "sv", "fi", "hu", "ru"]
    for code in codes:
        (folder / f"{code}.txt").write_text("word\n" * 1000)
    call("build", *(f"{code}.txt" for code in codes), "-o", "c", "--min-words", 1, "-j", 1)
    shown = call("info", "c", "--rank-rows", 0).stdout
    assert "…" not in shown
    assert shown.count("1,000 │") == 15 * 16 // 2
    assert max(map(len, shown.splitlines())) <= 80


def wiki(code, pages):
    """A dump of a small Wikipedia, and its tables of pages and links."""
    entries = "".join(
        f"<page><title>{title}</title><ns>0</ns><id>{number}</id><revision><text>{text}</text></revision></page>"
        for number, (title, text) in enumerate(pages.items(), 1)
    )
    site = f"<siteinfo><dbname>{code}wiki</dbname></siteinfo>"
    with bz2.open(f"{code}.xml.bz2", "wt") as file:
        file.write(f"<mediawiki>{site}{entries}</mediawiki>")


def table(path, name, columns, rows):
    made = ",\n".join(f"  `{column}` text" for column in columns)
    values = ",".join("(" + ",".join(f"'{value}'" for value in row) + ")" for row in rows)
    with open(path, "w") as file:
        file.write(f"CREATE TABLE `{name}` (\n{made}\n);\nINSERT INTO `{name}` VALUES {values};\n")


def test_wikipedias_joined_by_links_tables_or_items():
    wiki("en", {"House": "A '''house''' stands.", "Cat": "A [[cat]] sleeps."})
    wiki("de", {"Katze": "Eine Katze.", "Haus": "Ein Haus steht."})
    table("links.sql", "langlinks", ["ll_from", "ll_lang", "ll_title"], [(1, "de", "Haus")])
    table("pages.sql", "page", ["page_id", "page_namespace", "page_title"], [(1, 0, "House")])
    items = ["ips_item_id", "ips_site_id", "ips_site_page"]
    table("items.sql", "wb_items_per_site", items, [(7, "enwiki", "House"), (7, "dewiki", "Haus")])
    files = "en.xml.bz2", "de.xml.bz2", "--min-words", 1, "-j", 1
    by_links = call("build", *files, "--links", "en=links.sql", "-o", "l")
    assert by_links.exit_code == 0, by_links.output
    assert list(ComparableCorpus("l").ids) == ["en:House"]
    assert list(ComparableCorpus("l").vocabulary("en")) == ["a", "house", "stands"]
    by_tables = call("build", *files, "--links", "en=links.sql", "--pages", "en=pages.sql", "-o", "t")
    assert by_tables.exit_code == 0, by_tables.output
    assert list(ComparableCorpus("t").ids) == ["en:House"]
    by_items = call("build", *files, "--sitelinks", "items.sql", "-o", "i")
    assert by_items.exit_code == 0, by_items.output
    assert list(ComparableCorpus("i").ids) == ["Q7"]
    assert ComparableCorpus("i").titles("de")[0] == "Haus"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["build", "en.jsonl", "en=de.jsonl", "-o", "c"], "a second file for 'en'"),
        (
            ["build", "en.jsonl", "-o", "c", "--format", "csv"],
            "'csv' is not one of 'auto', 'jsonl', 'lines', 'wikipedia'",
        ),
        (["build", "en.jsonl", "-o", "c", "--links", "l.sql"], "expected LANGUAGE=FILE"),
        (["build", "news.jsonl", "-o", "c"], "'news' is not a language; write LANGUAGE=FILE"),
        (["build", "en.jsonl", "-o", "c", "--links", "en=l.sql"], "--links needs the articles of 'en'"),
        (["split", "c", "--train", "t", "--test", "u", "--pairs", "de"], "expected pairs of languages"),
    ],
)
def test_wrong_usage(arguments, said):
    assert build().exit_code == 0 or arguments[0] == "build"
    result = call(*arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_unknown_languages_and_folders():
    result = call("build", "xx9=en.jsonl", "-o", "c")
    assert result.exit_code == 1
    assert "xx9" in str(result.exception)
    assert "no: is not a corpus" in str(call("info", "no").exception)
