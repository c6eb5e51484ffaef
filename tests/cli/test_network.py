"""``isogloss network`` and its commands."""

import json
import subprocess
import sys
from pathlib import Path
from xml.dom import minidom

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from isogloss.cli import main
from isogloss.cli.app import app
from isogloss.cli.network._commands import network_group
from isogloss.graphical import bdeu, bic, read_network, read_rows, sample, student, write_network, write_rows

runner = CliRunner()
LAZY_COMMANDS = typer.main.get_group(network_group).lazy_commands


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Files s.bif and rows.csv in the folder at hand."""
    monkeypatch.chdir(tmp_path)
    write_network(student(), "s.bif")
    write_rows("rows.csv", student(), sample(student(), 400, random_state=0))


def network(*arguments, code=0):
    result = runner.invoke(app, ["network", *map(str, arguments)])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def answer(*arguments):
    return json.loads(network(*arguments, "--json").stdout)


@pytest.mark.parametrize("command", LAZY_COMMANDS)
def test_every_command_has_help(command):
    assert "--help" in network(command, "--help").output


def test_a_network_is_shown():
    shown = network("show", "s.bif").output
    assert "P(D, I, G, S, L) = P(D) P(I) P(G | I, D) P(S | I) P(L | G)" in shown
    assert "15 parameters; a joint table has 47" in shown
    assert "G  g1, g2, g3  <- I, D" in shown
    assert "0.9000" not in shown
    assert "i1  d0  0.9000  0.0800  0.0200" in network("show", "s.bif", "--tables").output
    assert network("show", "student").output == shown


def test_a_network_is_described_to_machines():
    described = answer("show", "s.bif")
    assert described["parents"]["G"] == ["I", "D"]
    assert (described["parameters"], described["joint_parameters"]) == (15, 47)
    assert "cpds" not in described
    assert answer("show", "s.bif", "--tables")["cpds"]["D"]["values"] == [0.6, 0.4]


def test_pictures_are_written():
    network(
        "show", "s.bif", "--svg", "s.svg", "--html", "s.html", "--observed", "G", "--plate", "n = 1..N: G, L"
    )
    assert "n = 1..N" in minidom.parse("s.svg").toxml()
    assert Path("s.html").read_text().startswith("<!doctype html>")
    latex = network("show", "s.bif", "--latex").output
    assert r"\[ P(D, I, G, S, L) = " in latex
    assert r"\begin{tikzpicture}" in latex


@pytest.mark.parametrize(
    ("asked", "given", "expected"),
    [
        ("L", {}, {"l1": 0.502}),
        ("L", {"I": "i0"}, {"l1": 0.389}),
        ("L", {"I": "i0", "D": "d0"}, {"l1": 0.513}),
        ("I", {"G": "g3"}, {"i1": 0.079}),
        ("D", {"G": "g3"}, {"d1": 0.629}),
        ("I", {"G": "g3", "S": "s1"}, {"i1": 0.578}),
        ("D", {"G": "g3", "S": "s1"}, {"d1": 0.760}),
    ],
)
def test_answers_are_those_of_the_textbook(asked, given, expected):
    options = [option for name, state in given.items() for option in ("-g", f"{name}={state}")]
    found = answer("query", "s.bif", asked, *options)
    assert found["evidence"] == given
    for state, p in expected.items():
        assert round(found["answers"][asked][state], 3) == p


def test_questions_have_several_forms():
    shown = network("query", "s.bif", "I", "D", "--given", "G=g3").output
    assert "P(I | G=g3)\nI   P(I)\ni0  0.9211\ni1  0.0789" in shown
    assert "P(D | G=g3)" in shown
    together = answer("query", "s.bif", "I", "D", "-g", "G=g3", "--joint")["answers"]["I, D"]
    assert sum(p for row in together.values() for p in row.values()) == pytest.approx(1)
    assert set(answer("query", "s.bif", "-g", "G=g3")["answers"]) == {"D", "I", "S", "L"}
    assert answer("query", "s.bif", "-g", "G=g3")["probability"] == pytest.approx(0.3496)
    assert answer("query", "s.bif", "--map", "-g", "L=l0")["states"]["G"] == "g3"
    assert "G  g3" in network("query", "s.bif", "--map", "-g", "L=l0").output
    network("query", "s.bif", "I", "-g", "G=g3", "--html", "answers.html")
    assert "P(I | G=g3)" in Path("answers.html").read_text()


def test_independence_is_explained():
    assert "D -> G <- I -> S is open" in network("explain", "s.bif", "D", "S", "-g", "L").output
    assert answer("explain", "s.bif", "D", "S")["independent"] is True


def test_networks_are_converted():
    assert answer("convert", "s.bif", "s.xml") == {"output": "s.xml"}
    assert read_network("s.xml") == student()


def test_probabilities_are_learned_from_complete_rows():
    told = answer("learn", "s.bif", "rows.csv", "-o", "learned.json")
    assert (told["rows"], told["em_steps"], told["parameters"]) == (400, 0, 15)
    codes = read_rows("rows.csv", student()).codes
    share = (codes[:, 1] == 1).mean()
    assert read_network("learned.json").cpd("I").values[1] == pytest.approx(share)
    assert "from 400 rows, log-likelihood" in network("learn", "student", "rows.csv", "-o", "a.bif").output


def test_hidden_variables_are_learned_by_em():
    options = ["--hidden", "I", "--starts", 2, "--smoothing", 1, "--random-state", 3, "--html", "report.html"]
    told = answer("learn", "s.bif", "rows.csv", "-o", "learned.isogloss", *options)
    assert told["em_steps"] > 1
    assert np.isfinite(told["log_likelihood"])
    assert read_network("learned.isogloss").name == "student"
    assert "P(G | I, D)" in Path("report.html").read_text()
    assert "steps of EM" in network("learn", "s.bif", "rows.csv", "-o", "a.bif", *options).output


def test_a_tree_is_learned_from_the_rows_alone():
    told = answer("tree", "rows.csv", "-o", "tree.bif", "--root", "G", "--smoothing", 1)
    tree = read_network("tree.bif")
    assert told["parameters"] == tree.n_parameters
    assert len(tree.edges) == 4
    assert tree.parents("G") == ()


def test_graphs_are_compared():
    network("tree", "rows.csv", "-o", "tree.bif")
    scores = answer("compare", "rows.csv", "tree.bif", "s.bif")
    assert [line["name"] for line in scores] == ["s.bif", "tree.bif"]
    codes = read_rows("rows.csv", student()).codes
    assert scores[0]["bic"] == pytest.approx(bic(student(), codes))
    assert scores[0]["bdeu"] == pytest.approx(bdeu(student(), codes))
    assert answer("compare", "rows.csv", "s.bif", "--sample-size", 1)[0]["bdeu"] == pytest.approx(
        bdeu(student(), codes, sample_size=1)
    )
    assert f"{scores[0]['bic']:,.1f}" in network("compare", "rows.csv", "tree.bif", "s.bif").output


def test_rows_are_drawn():
    printed = network("sample", "s.bif", "--rows", 3, "--random-state", 1).output.splitlines()
    assert printed[0] == "D,I,G,S,L"
    assert len(printed) == 4
    assert [
        ",".join(row.values()) for row in answer("sample", "s.bif", "--rows", 3, "--random-state", 1)
    ] == printed[1:]
    network("sample", "s.bif", "--rows", 3, "--random-state", 1, "-o", "drawn.tsv")
    assert Path("drawn.tsv").read_text() == "\n".join(printed).replace(",", "\t") + "\n"
    assert answer("sample", "s.bif", "--rows", 2, "-o", "drawn.csv") == {"output": "drawn.csv", "rows": 2}


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "s.bif", "I", "-g", "G"),
        ("query", "s.bif", "I", "-g", "G=g1", "-g", "G=g2"),
        ("show", "s.bif", "--plate", "no colon"),
        ("sample", "s.bif", "--rows", "-1"),
        ("learn", "s.bif", "rows.csv"),
        ("compare", "rows.csv"),
        ("query", "s.bif", "--joint"),
        ("query", "s.bif", "--map", "--html", "out.html"),
        ("sample", "s.bif", "--random-state", "-1"),
    ],
)
def test_wrong_usage_ends_with_2(arguments):
    network(*arguments, code=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "none.bif"), "none.bif: there is no such file"),
        (("show", "s.txt"), "ends in .bif"),
        (("query", "s.bif", "X"), "there is no variable 'X'"),
        (("query", "s.bif", "I", "-g", "G=g9"), "G has no state 'g9'; it has g1, g2, g3"),
        (("query", "certain.json", "-g", "A=no"), "impossible"),
        (("learn", "s.bif", "bad.csv", "-o", "out.bif"), "bad.csv:2: G has no state 'g9'"),
        (("learn", "s.bif", "none.csv", "-o", "out.txt"), "out.txt: a network is kept"),
        (("compare", "rows.csv", "s.bif", "asia"), "rows.csv:1: the column 'D' is no variable"),
        (("convert", "s.bif", "out.txt"), "ends in .bif"),
        (("show", "list.json"), "list.json: a list; expected a dict with 'variables' and 'cpds'"),
        (("show", "deep.json"), "deep.json: is nested too deeply; expected a network"),
        (("show", "other.xml"), "other.xml:1: is in the encoding 'shift_jis'; convert the file to UTF-8"),
        (("learn", "s.bif", "none.csv", "-o", "absent/out.bif"), "absent/out.bif: cannot be written; give"),
        (("tree", "none.csv", "-o", "absent/out.bif"), "absent/out.bif: cannot be written; give"),
        (("compare", "names.csv", "s.bif"), "there are no rows; expected at least one"),
        (("tree", "empty.csv", "-o", "out.bif"), "empty.csv: is empty or begins with an empty line"),
        (("sample", "s.bif", "--rows", 10**17), "out of memory (Unable to allocate"),
    ],
)
def test_failures_end_with_1_and_one_sentence(arguments, message, monkeypatch, capsys):
    Path("bad.csv").write_text("G\ng9\n")
    certain = {"variables": {"A": ["no", "yes"]}, "cpds": {"A": {"values": [0, 1]}}}
    Path("certain.json").write_text(json.dumps(certain))
    Path("list.json").write_text("[1, 2]")
    Path("deep.json").write_text("[" * 100_000)
    Path("other.xml").write_text('<?xml version="1.0" encoding="shift_jis"?><BIF/>')
    Path("names.csv").write_text("I,G\n")
    Path("empty.csv").touch()
    monkeypatch.setattr(sys, "argv", ["isogloss", "network", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    assert message in " ".join(capsys.readouterr().err.split())
    assert not Path("out.bif").exists()


def test_asking_needs_no_library_of_learning():
    code = "import sys, isogloss.cli as c\ntry: c.main()\nfinally: print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, "network", "show", "s.bif"], capture_output=True, text=True, check=False
    )
    assert "P(D)" in done.stdout
    assert not {"sklearn", "scipy", "isogloss.em"} & set(done.stderr.split())


@pytest.mark.parametrize("name", LAZY_COMMANDS)
def test_the_list_says_what_the_command_says(name):
    command = LAZY_COMMANDS[name].load(name)
    assert command.help.split("\n\n")[0].replace("\n", " ") == LAZY_COMMANDS[name].help
