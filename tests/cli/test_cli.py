"""The command line: what it prints, what it writes, and how it fails."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import pytest
from typer.testing import CliRunner

from isogloss import __version__, io
from isogloss.cli import main
from isogloss.cli.app import app
from isogloss.mixture import GaussianMixture

runner = CliRunner()


def isogloss(*arguments, cwd=None):
    command = [sys.executable, "-c", "from isogloss.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def test_help_names_every_command():
    result = runner.invoke(app, ["--help"])
    assert result.exit_code == 0
    for command in ("demo", "model"):
        assert command in result.output


def test_version():
    assert runner.invoke(app, ["--version"]).output.strip() == f"isogloss {__version__}"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What ``demo models`` prints as JSON, and the folder that it writes to."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    result = runner.invoke(app, ["demo", "models", "--rows", "600", "--json", "--output", str(folder)])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout), folder


def test_demo_writes_a_page_and_a_model(demo):
    _, folder = demo
    page = (folder / "index.html").read_text()
    assert page.count("<svg") == 2
    assert not re.search(r'(src|href)="http', page)
    assert io.load(folder / "mixture.isogloss").n_components == 6


def test_demo_as_json(demo):
    report, _ = demo
    bounds = [fit["bound_per_row"] for fit in report["mixture"].values()]
    assert len(bounds) == 5
    assert report["moments"]["largest_difference"] < 1e-12
    assert report["views"]["globally_optimal"]
    assert report["gaps"]["error_of_mixture"] < report["gaps"]["error_of_mean"]


def test_demo_without_matplotlib_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = runner.invoke(app, ["demo", "models", "--rows", "300", "--output", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "One mixture, five ways" in result.output
    assert "isogloss[plot]" in result.output.replace("\n", "")
    assert not (tmp_path / "index.html").exists()


def test_model_info(tmp_path, rng):
    path = tmp_path / "m.isogloss"
    io.save(GaussianMixture(2, random_state=0).fit(rng.normal(size=(50, 2))), path)
    result = runner.invoke(app, ["model", "info", str(path), "--json"])
    assert json.loads(result.output)["class"] == "isogloss.mixture.GaussianMixture"
    assert "GaussianMixture" in runner.invoke(app, ["model", "info", str(path)]).output


def test_known_errors_are_one_sentence(tmp_path):
    bad = tmp_path / "bad.isogloss"
    bad.write_text("not a model")
    done = isogloss("model", "info", bad)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "bad.isogloss" in done.stderr.replace("\n", "")


def test_ctrl_c_ends_with_a_word(monkeypatch, capsys):
    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("isogloss.io.describe", interrupted)
    monkeypatch.setattr(sys, "argv", ["isogloss", "model", "info", "any"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    assert capsys.readouterr().err.strip() == "stopped"


@pytest.mark.parametrize(
    "arguments", [["nothing"], ["demo", "models", "--rows", "3"], ["demo", "models", "--rows", "many"]]
)
def test_wrong_usage_is_code_two(arguments):
    assert runner.invoke(app, arguments).exit_code == 2


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    done = isogloss("demo", "models", "--rows", 200, "--output", tmp_path / "file" / "under")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "error:" in done.stderr


def hint(tmp_path, *command, **settings):
    """What ``init`` tells people to type next."""
    folder = tempfile.mkdtemp(dir=tmp_path)
    done = subprocess.run([*command, "init", folder], capture_output=True, text=True, check=True, **settings)
    return done.stdout.splitlines()[-1]


def test_hints_name_the_program_as_it_was_called(tmp_path):
    installed = shutil.which("isogloss", path=os.path.dirname(sys.executable))
    if installed is None:
        pytest.skip("the isogloss script is not installed beside this Python")
    folder = os.path.dirname(installed)
    path = {**os.environ, "PATH": os.pathsep.join([folder, os.environ["PATH"]])}
    elsewhere = {**os.environ, "PATH": os.defpath}
    assert hint(tmp_path, "isogloss", env=path).startswith("next: isogloss ingest NEWS.jsonl")
    relative = os.path.join(os.curdir, "isogloss")
    assert f"next: {relative} ingest" in hint(tmp_path, relative, cwd=folder, env=elsewhere)
    spaced = tmp_path / "a folder"
    spaced.mkdir()
    (spaced / "isogloss").symlink_to(installed)
    assert f"next: '{spaced}/isogloss' ingest" in hint(tmp_path, spaced / "isogloss", env=elsewhere)
    module = hint(tmp_path, sys.executable, "-m", "isogloss")
    assert f"next: {sys.executable} -m isogloss ingest" in module
