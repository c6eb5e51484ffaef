"""From text to a dictionary on the command line: what is written, and what is refused."""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isogloss.cli.app import app
from isogloss.exceptions import CorpusError, DictionaryError
from tests.lexicon.aligned.text import tale

runner = CliRunner()
ROWS = tale()


def make(*arguments, code=0):
    result = runner.invoke(app, ["dictionary", "from-text", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def refused(*arguments):
    """The reason why nothing was made."""
    before = sorted(Path().rglob("*"))
    result = make(*arguments, code=1)
    assert isinstance(result.exception, CorpusError | DictionaryError), result.exception
    assert sorted(Path().rglob("*")) == before
    return str(result.exception)


@pytest.fixture(autouse=True)
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("tale.en", (row[0] for row in ROWS))
    write("tale.es", (row[1] for row in ROWS))


@pytest.fixture
def tale_texts():
    """The sample, in paragraphs."""
    result = runner.invoke(app, ["dictionary", "sample", "--json"])
    assert result.exit_code == 0
    source, target = map(Path, json.loads(result.stdout)["files"])
    return source, target


def write(name, lines):
    Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def headwords(folder, name="en-es"):
    lines = Path(folder, "files", f"{name}.jsonl").read_text("utf-8").splitlines()
    return {line["headword"]: line for line in map(json.loads, lines)}


def test_two_files_make_a_site_and_files():
    said = make("tale.en", "tale.es", "-o", "site").output
    assert "open site/index.html in a browser" in said
    assert headwords("site")["dog"]["translations"][0]["text"] == "perro"
    assert "English\u2013Spanish dictionary" in Path("site/index.html").read_text("utf-8")
    assert "short" in Path("site/about.html").read_text("utf-8")
    assert sorted(Path().iterdir()) == [Path("site"), Path("tale.en"), Path("tale.es")]


def test_json_says_what_was_made():
    found = json.loads(make("tale.en", "tale.es", "-o", "site", "--json").stdout)
    assert (found["pairs"], found["left_out"]) == (len(ROWS), {})
    assert found["headwords"]["en"] == len(headwords("site"))
    assert all(Path("site", name).is_file() for name in found["files"])
    assert 0 < min(found["linked"]) <= max(found["linked"]) <= 1


def test_a_table_makes_a_dictionary():
    write("tale.tsv", (f"{en}\t{es}" for en, es, _ in ROWS))
    make("tale.tsv", "-o", "site", "--languages", "en,es", "--names", "Inglés,Español", "--title", "Cuento")
    page = Path("site/index.html").read_text("utf-8")
    assert "<h1>Cuento</h1>" in page
    assert "Inglés" in page


def test_languages_are_required_where_file_names_lack_them():
    write("a.txt", ["x"])
    write("b.txt", ["y"])
    assert "--languages en,cs" in make("a.txt", "b.txt", "-o", "site", code=2).output
    assert "two values" in make("a.txt", "b.txt", "-o", "site", "--languages", "en", code=2).output
    assert "folder of the site" in make("a.txt", "b.txt", "-o", "s", "--languages", "en,data", code=2).output
    assert "not a code" in make("a.txt", "b.txt", "-o", "s", "--languages", "en,../x", code=2).output


def test_a_language_that_is_unknown_is_accepted():
    make("tale.en", "tale.es", "-o", "site", "--languages", "en,qzx")
    assert "en-qzx.lift" in os.listdir("site/files")


def test_a_folder_with_something_else_in_it_is_kept():
    Path("site").mkdir()
    Path("site/letter.txt").touch()
    assert "what is in it is not a dictionary" in refused("tale.en", "tale.es", "-o", "site", "--overwrite")


def test_a_dictionary_is_replaced_with_overwrite():
    make("tale.en", "tale.es", "-o", "site")
    Path("site/old").touch()
    assert "--overwrite" in refused("tale.en", "tale.es", "-o", "site")
    make("tale.en", "tale.es", "-o", "site", "--overwrite", "--min-count", "40")
    assert not Path("site/old").exists()
    assert {entry["frequency"] >= 40 for entry in headwords("site").values()} == {True}


def test_an_empty_folder_is_used():
    Path("site").mkdir()
    make("tale.en", "tale.es", "-o", "site")
    assert Path("site/index.html").is_file()


def test_a_folder_in_no_folder_is_refused():
    assert "does not exist" in refused("tale.en", "tale.es", "-o", "no/site")
    assert "is a file" in refused("tale.en", "tale.es", "-o", "tale.en")


def test_twenty_sentences_make_a_small_dictionary_with_a_warning():
    write("few.en", (row[0] for row in ROWS[:20]))
    write("few.es", (row[1] for row in ROWS[:20]))
    result = make("few.en", "few.es", "-o", "site")
    assert "20 sentence pairs" in result.output
    assert "so many translations are wrong" in result.output
    assert headwords("site")


def test_files_of_unequal_length_are_refused_as_lines_and_aligned_as_texts():
    write("tale.es", (row[1] for row in ROWS[1:]))
    reason = refused("tale.en", "tale.es", "-o", "site", "--lines")
    assert "tale.en has 96 lines and tale.es has 95" in reason
    make("tale.en", "tale.es", "-o", "site")
    assert "96 and 95 sentences of 1 text" in Path("site/about.html").read_text("utf-8")
    assert headwords("site")["dog"]["translations"][0]["text"] == "perro"


def test_texts_in_paragraphs_are_aligned_by_sentences(tale_texts):
    make(*tale_texts, "-o", "site")
    found = headwords("site")
    right = {"river": "río", "wolf": "lobo", "bread": "pan", "mountain": "montaña", "village": "pueblo"}
    assert {word: found[word]["translations"][0]["text"] for word in right} == right
    assert found["Marta"]["name"]


def test_texts_in_any_encoding_are_read(tale_texts):
    text = tale_texts[1].read_text("utf-8")
    tale_texts[1].write_text(text, "utf-16")
    make(*tale_texts, "-o", "site", "--texts")
    assert headwords("site")["river"]["translations"][0]["text"] == "río"


def test_a_file_in_two_encodings_is_refused(tale_texts):
    lines = tale_texts[1].read_text("utf-8").split("\n")
    encoded = [line.encode("latin-1" if k % 4 else "utf-8") for k, line in enumerate(lines)]
    tale_texts[1].write_bytes(b"\n".join(encoded))
    assert "the file has mixed encodings" in refused(*tale_texts, "-o", "site")


def test_folders_of_texts_are_matched_by_name(tale_texts):
    for code, path in zip(("en", "es"), tale_texts, strict=True):
        Path(code).mkdir()
        path.rename(Path(code, "tale.txt"))
    Path("en", "alone.txt").write_text("Nobody translated this.")
    said = make("en", "es", "-o", "site", "--languages", "en,es").output
    assert "1 file without a partner" in said


def test_a_text_in_two_scripts_has_a_warning():
    latin = "Beograd je glavni grad"
    cyrillic = "\u0411\u0435\u043e\u0433\u0440\u0430\u0434 \u0458\u0435 \u0433\u0440\u0430\u0434"
    write("tale.en", [latin, cyrillic] * 20)
    write("tale.es", ["Belgrado es la capital", "Belgrado es una ciudad"] * 20)
    assert "in more than one script" in make("tale.en", "tale.es", "-o", "site").output


def test_all_pairs_are_counted_if_a_part_is_looked_at(monkeypatch):
    monkeypatch.setattr("isogloss.cli.dictionary._texts.LOOKED_AT", 5)
    monkeypatch.setattr("isogloss.cli.dictionary._from_text.LOOKED_AT", 5)
    with Path("tale.en").open("a") as english, Path("tale.es").open("a") as spanish:
        english.write("\n")
        spanish.write("Nada\n")
    found = json.loads(make("tale.en", "tale.es", "-o", "site", "--json").stdout)
    assert (found["pairs"], found["left_out"]) == (97, {"empty": 1})
    assert "tale.en and tale.es" in Path("site/about.html").read_text("utf-8")


def test_the_sample_is_not_written_over(tale_texts):
    again = runner.invoke(app, ["dictionary", "sample"])
    assert isinstance(again.exception, DictionaryError)


def test_an_empty_side_is_refused():
    write("tale.es", [""] * len(ROWS))
    assert "none with words on both sides" in refused("tale.en", "tale.es", "-o", "site")


def test_the_same_text_twice_is_refused():
    write("copy.es", (row[0] for row in ROWS))
    assert "the same text in 96 of 96 sentence pairs" in refused("tale.en", "copy.es", "-o", "site")


def test_lines_that_are_not_utf_8_are_left_out_and_counted():
    with Path("tale.es").open("ab") as file:
        file.write("El niño\n".encode("latin-1"))
    with Path("tale.en").open("a") as file:
        file.write("The boy\n")
    result = make("tale.en", "tale.es", "-o", "site")
    assert "1 not UTF-8" in result.output
    assert "1 left out: 1 not UTF-8" in Path("site/about.html").read_text("utf-8")


def test_case_and_accents_are_distinguished_on_request():
    write("tale.en", ["Él mira. él mira el"] * 5)
    write("tale.es", ["he looks he looks the"] * 5)
    make("tale.en", "tale.es", "-o", "a", "--keep-case")
    make("tale.en", "tale.es", "-o", "b", "--ignore-marks")
    assert {"Él", "él"} <= set(headwords("a"))
    assert not {"Él", "él"} <= set(headwords("b"))


def test_apostrophes_are_letters_on_request():
    write("tale.en", ["p'unchay kay, p'unchay"] * 5)
    write("tale.es", ["el dia es el dia"] * 5)
    make("tale.en", "tale.es", "-o", "site", "--letters", "'")
    assert set(headwords("site")) == {"p'unchay", "kay"}


def test_an_interrupted_run_resumes_with_the_same_result(monkeypatch):
    make("tale.en", "tale.es", "-o", "whole")
    from isogloss.cli.align import _progress

    advance, seen = _progress.AlignProgress.advance, []

    def stop(self, place, line):
        advance(self, place, line)
        seen.append(place)
        if len(seen) == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_progress.AlignProgress, "advance", stop)
        runner.invoke(app, ["dictionary", "from-text", "tale.en", "tale.es", "-o", "site"])
    assert Path("site.checkpoint").is_file()
    assert not Path("site").exists()
    make("tale.en", "tale.es", "-o", "site", "--resume")
    assert not Path("site.checkpoint").exists()
    assert headwords("site") == headwords("whole")


def test_a_disk_that_fails_leaves_the_old_dictionary(monkeypatch):
    make("tale.en", "tale.es", "-o", "site")
    before = headwords("site")

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("isogloss.lexicon.formats.write_files", fail)
    reason = refused("tale.en", "tale.es", "-o", "site", "--overwrite", "--min-count", "30")
    assert "No space left on device" in reason
    assert headwords("site") == before


def test_the_commands_of_the_tutorial_print_what_it_says():
    page = Path(__file__).parents[2] / "docs" / "tutorials" / "from-text.rst"
    blocks = re.findall(r"^   \$ isogloss (.*)\n((?:   \w.*\n)*)", page.read_text("utf-8"), re.MULTILINE)
    assert len(blocks) == 2
    for command, printed in blocks:
        result = runner.invoke(app, shlex.split(command))
        assert result.exit_code == 0
        assert result.output.splitlines() == [line.strip() for line in printed.splitlines()]
