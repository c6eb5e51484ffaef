"""``isogloss align sentences``."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isogloss.cli.app import app
from isogloss.corpora import TmxPairs

runner = CliRunner()
WORDS = [
    "river",
    "house",
    "Anna",
    "stone",
    "bridge",
    "garden",
    "Berlin",
    "winter",
    "Karel",
    "music",
    "forest",
]
ENGLISH = [f"{word.title()} and Praha are near the number {k}." for k, word in enumerate(WORDS)]
ENGLISH += [f"We saw {one} without any {two}." for one in WORDS for two in WORDS[:5]]
IN_CZECH = {"and": "a", "are near the number": "jsou u čísla", "We saw": "Viděli jsme", "without any": "bez"}
CZECH = ENGLISH[:]
for english, czech in IN_CZECH.items():
    CZECH = [line.replace(f"{english} ", f"{czech} ") for line in CZECH]


@pytest.fixture
def text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("en.txt").write_text(" ".join(ENGLISH))
    Path("cs.txt").write_text(" ".join(CZECH), encoding="utf-16")
    return tmp_path


def sentences(*arguments, code=0):
    result = runner.invoke(app, ["align", "sentences", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def test_raw_text_becomes_pairs(text):
    output = sentences("en.txt", "cs.txt", "-o", "out.tsv").output
    rows = [line.split("\t") for line in Path("out.tsv").read_text().splitlines()]
    assert [(row[0], row[1]) for row in rows] == list(zip(ENGLISH, CZECH, strict=True))
    assert f"out.tsv: {len(ENGLISH)} pairs of 1 document" in output
    assert f"{len(ENGLISH)} sentences in utf-16-le" in output


def test_the_result_is_printed_as_json(text):
    result = sentences("en.txt", "cs.txt", "-o", "o", "--format", "lines", "--languages", "en,cs", "--json")
    told = json.loads(result.stdout)
    assert told["output"] == ["o.en", "o.cs"]
    assert told["kinds"] == {"1-1": len(ENGLISH)}
    assert told["one_to_one"] == 1
    assert told["warnings"] == []
    assert Path("o.cs").read_text().splitlines() == CZECH


def test_folders_and_translation_memories(text):
    for code, file in (("en", "en.txt"), ("cs", "cs.txt")):
        Path(code).mkdir()
        Path(file).rename(Path(code, f"story.{code}.txt"))
    Path("en", "other.en.txt").write_text("Alone.")
    output = sentences("en", "cs", "-o", "out.tmx", "--languages", "en,cs").output
    assert "1 file without a partner: en/other.en.txt" in output.replace("\n", " ").replace("\\", "/")
    assert len(list(TmxPairs("out.tmx", "en", "cs"))) == len(ENGLISH)


def test_bad_input_is_explained(text):
    Path("mixed.txt").write_bytes("dům\ndům\nd\xf9m\n".encode() + b"d\xf9m\n")
    result = sentences("mixed.txt", "en.txt", "-o", "o", code=1)
    assert "mixed.txt:4: the line is not UTF-8" in str(result.exception)
    result = sentences("mixed.txt", "en.txt", "-o", "o", "--encoding", "cp1250,utf-8")
    assert "4 sentences in cp1250" in result.output
    Path("empty.txt").touch()
    assert "the target text has no sentences" in sentences("en.txt", "empty.txt", "-o", "o").output
    Path("sr.txt").write_text("Добар дан. Dobar dan. " * 30)
    assert "more than one script (Cyrl 240, Latn 240 letters)" in " ".join(
        sentences("sr.txt", "en.txt", "-o", "o").output.split()
    )
    assert "needs --languages" in sentences("en.txt", "cs.txt", "-o", "o.tmx", code=2).output
    for option, choices in (("--format", "'tsv', 'tmx', 'lines'"), ("--layout", "'auto', 'paragraphs'")):
        wrong = sentences("en.txt", "cs.txt", "-o", "o", option, "xml", code=2)
        assert f"'xml' is not one of {choices}" in wrong.output
    result = sentences("en.txt", "cs.txt", "-o", "no/o.tsv", code=1)
    assert "cannot be written" in str(result.exception)


def test_a_dictionary_is_used(text):
    Path("known.tsv").write_text("stone\tstone\t5\n")
    sentences("en.txt", "cs.txt", "-o", "out.tsv", "--lexicon", "known.tsv", "--passes", "0")
    assert len(Path("out.tsv").read_text().splitlines()) == len(ENGLISH)
