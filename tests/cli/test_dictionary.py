"""``isogloss dictionary``: files in, a table out, or one sentence that says why not."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from isogloss.cli.app import app
from isogloss.exceptions import DictionaryError, VectorFileError
from isogloss.lexicon import read_induced, read_vectors, write_dictionary, write_vectors
from tests.lexicon.data import dictionary, languages

runner = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Vectors of three languages, a seed and a test dictionary."""
    path = tmp_path_factory.mktemp("words")
    for name, vectors in languages().items():
        write_vectors(vectors, path / f"{name}.vec")
    write_dictionary(dictionary("en", "it", range(200)), path / "seed.tsv")
    write_dictionary(dictionary("de", "it", range(200)), path / "de-it.tsv")
    write_dictionary(dictionary("en", "it", range(200, 400)), path / "test.tsv")
    return path


@pytest.fixture(scope="module")
def model(folder):
    result = call("build", *between(folder), "--seed", folder / "seed.tsv", "-o", folder / "m.tsv",
                  "--save", folder / "space.isogloss")  # fmt: skip
    assert result.exit_code == 0, result.output
    return folder / "space.isogloss"


def between(folder):
    return "--src", folder / "en.vec", "--tgt", folder / "it.vec"


def call(*arguments):
    return runner.invoke(app, ["dictionary", *map(str, arguments)])


def test_build_writes_a_table_with_score_rank_and_margin(folder, tmp_path):
    output = tmp_path / "en-it.tsv"
    result = call("build", *between(folder), "--seed", folder / "seed.tsv", "-o", output, "-k", 3, "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    found = read_induced(output)
    assert summary["pairs"] == len(found) == 1200
    assert summary["held_out"][0]["precision"] > 0.5
    assert output.read_text().splitlines()[0] == "source\ttarget\tscore\trank\tmargin"
    right = [s[2:] == t[2:] for (s, t), rank in zip(found.pairs, found.ranks, strict=True) if rank == 1]
    assert sum(right) > 200
    assert os.listdir(tmp_path) == ["en-it.tsv"]


def test_further_languages_help_and_files_are_named_by_language(folder, tmp_path):
    vectors = [
        "--src",
        f"english={folder / 'en.vec'}",
        "--tgt",
        folder / "it.vec",
        "--also",
        folder / "de.vec",
    ]
    seeds = ["--seed", f"english-it={folder / 'seed.tsv'}", "--seed", folder / "de-it.tsv"]
    result = call("build", *vectors, *seeds, "-o", tmp_path / "o.tsv", "--mutual", "--rounds", 1, "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert [test["name"] for test in summary["held_out"]] == ["english-it", "de-it"]
    assert len(summary["rounds"]) == 2
    assert 0 < summary["pairs"] < 400


def test_evaluate_a_model_and_a_table(folder, model):
    asked = call("evaluate", "-m", model, *between(folder), "--test", folder / "test.tsv", "--json")
    assert asked.exit_code == 0, asked.output
    figures = json.loads(asked.stdout)
    assert figures["queries"] == 200
    assert 0.4 < figures["p@1"] <= figures["p@5"] <= figures["p@10"] <= 1
    assert figures["p@1_error"] > 0
    table = call("evaluate", "--dictionary", folder / "m.tsv", "--test", folder / "test.tsv", "--json")
    assert json.loads(table.stdout)["p@1"] == figures["p@1"]
    shown = call(
        "evaluate", "-m", model, *between(folder), "--test", folder / "test.tsv", "--rule", "density"
    )
    assert shown.exit_code == 0, shown.output
    assert "MRR" in shown.output
    assert "coverage" in shown.output


def test_a_table_and_its_model_have_the_same_figures(folder, model, tmp_path):
    """Also where some right translations have no vector."""
    pairs = (folder / "test.tsv").read_text().splitlines()
    rare = [f"en{i}\trara{i}" for i in range(100)] + [f"unseen{i}\tit{i}" for i in range(20)]
    (tmp_path / "test.tsv").write_text("\n".join([*pairs, *rare]) + "\n")
    test = ("--test", tmp_path / "test.tsv")
    asked = call("evaluate", "-m", model, *between(folder), *test, "--json")
    table = call("evaluate", "--dictionary", folder / "m.tsv", *test, "--json")
    of_model, of_table = json.loads(asked.stdout), json.loads(table.stdout)
    for name in ("words", "queries", "coverage", "p@1", "p@1_error", "p@1_all", "p@1_all_error"):
        assert of_model[name] == of_table[name], name
    assert (of_table["words"], of_table["queries"], of_model["reachable"]) == (320, 300, 200)
    assert of_table["p@1_all"] < of_table["p@1"] < of_model["p@1_reachable"]
    precision = f"{100 * of_table['p@1']:.1f} ± {100 * of_table['p@1_error']:.1f}"
    for shown in (
        call("evaluate", "-m", model, *between(folder), *test).output,
        call("evaluate", "--dictionary", folder / "m.tsv", *test).output,
    ):
        assert "300 of 320 test words translated (coverage 93.8 %)" in shown
        assert precision in shown


def test_neighbours_and_their_picture(folder, model, tmp_path):
    vectors = ["-v", folder / "en.vec", "-v", folder / "it.vec"]
    result = call("neighbours", "en3", "-l", "en", "-m", model, *vectors, "-k", 2, "--json")
    assert result.exit_code == 0, result.output
    assert {one["language"] for one in json.loads(result.stdout)} == {"en", "it"}
    assert "it3" in call("neighbours", "en3", "-l", "en", "-m", model, *vectors).output
    drawn = call("plot", "en3", "-l", "en", "-m", model, *vectors, "-o", tmp_path / "around.svg")
    assert drawn.exit_code == 0, drawn.output
    assert (tmp_path / "around.svg").read_text().count("<svg") == 1
    assert os.listdir(tmp_path) == ["around.svg"]
    told = call("plot", "en3", "-l", "en", "-m", model, *vectors, "-o", tmp_path / "around.svg", "--json")
    assert json.loads(told.stdout) == {"output": str(tmp_path / "around.svg")}


def test_a_place_that_cannot_be_written_is_refused_before_the_vectors_are_read(tmp_path):
    asked = ["build", "--src", "en=absent.vec", "--tgt", "it=absent.vec"]
    for files in (["-o", tmp_path], ["-o", tmp_path / "out", "--save", tmp_path / "absent" / "model"]):
        result = call(*asked, *files)
        assert result.exit_code == 1
        assert "cannot be written; give the path of a file" in str(result.exception)
    assert os.listdir(tmp_path) == []


def test_bad_lines_are_left_out_with_a_warning_and_refused_when_strict(folder, tmp_path):
    broken = tmp_path / "en.vec"
    lines = (folder / "en.vec").read_text().splitlines()
    broken.write_text("\n".join([*lines[:5], "oops 1 2", *lines[5:]]) + "\n")
    arguments = [
        "--src",
        broken,
        "--tgt",
        folder / "it.vec",
        "--seed",
        folder / "seed.tsv",
        "-o",
        tmp_path / "o",
    ]
    result = call("build", *arguments)
    assert result.exit_code == 0, result.output
    said = " ".join(result.stderr.split())
    assert "left out 1 lines (1 wrong number of values)" in said
    assert "line 6: 2 values after 'oops', expected 10" in said
    (tmp_path / "o").unlink()
    strict = call("build", *arguments, "--strict")
    assert strict.exit_code == 1
    assert "en.vec:6:" in str(strict.exception)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        ("", "holds no pairs of words"),
        ("dog\tcane\n", "0 of 1 pairs have vectors for both words"),
        ("en1\tit1\nen2\tit2\n", "at least 10 are needed"),
        ("".join(f"en{i}\tit{(7 * i) % 200}\n" for i in range(200)), "no better than chance"),
    ],
    ids=["empty", "foreign", "few", "wrong"],
)
def test_a_seed_without_use_is_refused_in_a_sentence(folder, tmp_path, seed, message):
    (tmp_path / "bad.tsv").write_text(seed)
    result = call("build", *between(folder), "--seed", tmp_path / "bad.tsv", "-o", tmp_path / "out.tsv")
    assert result.exit_code == 1
    assert isinstance(result.exception, DictionaryError)
    assert message in str(result.exception)
    assert not (tmp_path / "out.tsv").exists()


def test_the_program_says_what_is_wrong_in_one_sentence(folder, tmp_path):
    """Without a seed, words that are spelt alike are taken; here there are none."""
    arguments = ["dictionary", "build", *map(str, between(folder)), "-o", str(tmp_path / "out.tsv")]
    command = [sys.executable, "-c", "from isogloss.cli import main; main()", *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "have 0 pairs of identical words; at least 50 pairs are needed" in " ".join(result.stderr.split())
    assert not (tmp_path / "out.tsv").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["build", "--src", "a.vec"],
        ["build", "--src", "a.vec", "--tgt", "b.vec", "-o", "x", "-k", "0"],
        ["evaluate", "--test", "t.tsv"],
    ],
)
def test_wrong_usage_is_code_two(arguments):
    assert call(*arguments).exit_code == 2


def test_two_files_of_one_language_must_be_named(folder, tmp_path):
    both = ["--src", folder / "en.vec", "--tgt", folder / "en.vec", "-o", tmp_path / "o"]
    assert call("build", *both).exit_code == 2


def test_a_seed_no_better_than_chance_is_left_out_and_reported(folder, tmp_path):
    wrong = tmp_path / "en-de.tsv"
    wrong.write_text("".join(f"en{i}\tde{(7 * i + 3) % 60}\n" for i in range(60)))
    languages = [*between(folder), "--also", folder / "de.vec"]
    seeds = ["--seed", folder / "seed.tsv", "--seed", folder / "de-it.tsv", "--seed", wrong]
    options = ["--kind", "mbfa", "--rounds", 0, "-o", tmp_path / "o.tsv"]
    result = call("build", *languages, *seeds, *options)
    assert result.exit_code == 0, result.output
    said = {line.split(":")[0].strip(): line for line in result.stdout.splitlines() if "by chance" in line}
    assert {name for name, line in said.items() if "left out" in line} == {"en-de"}
    assert said.keys() == {"en-it", "de-it", "en-de"}


def test_vectors_are_trained_from_text(tmp_path):
    lines = ["A small cat sleeps.", "A small dog sleeps.", "The old cat eats!", "The old dog eats!"]
    (tmp_path / "text.en").write_text("\n".join(lines * 9) + "\n")
    command = ("vectors", tmp_path / "text.en", "-o", tmp_path / "en.vec", "--components", 2, "--window", 2)
    for method in ("pmi", "cca"):
        result = call(*command, "--method", method, "--json")
        assert result.exit_code == 0, result.output
        told = json.loads(result.stdout)
        assert (told["words"], told["dimensions"], told["method"]) == (8, 2, method)
        assert {"cat", "dog"} < set(read_vectors(tmp_path / "en.vec").words)
    few = call(*command[:-3], 90)
    assert isinstance(few.exception, VectorFileError)
    assert "8 words occur 5 times or more" in str(few.exception)
    assert call(*command, "--method", "glove").exit_code == 2
    (tmp_path / "text.en").write_bytes(b"caf\xe9\n")
    assert "text.en:1: is not UTF-8" in str(call(*command).exception)
