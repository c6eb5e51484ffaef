"""Help, version and usage errors come without the numerical libraries; packages import only what they need.

What is measured is what was imported, not how long it took.
"""

import inspect
import json
import subprocess
import sys
from typing import get_args

import pytest

from isogloss.alignment import PRESETS, Aligner
from isogloss.alignment.decoding import Heuristic
from isogloss.alignment.models import AGREEMENTS
from isogloss.cli import _similar as similar
from isogloss.cli.align import _commands as align
from isogloss.cli.align import _options as align_options
from isogloss.cli.align import _sentences as align_sentences
from isogloss.cli.news import _evaluate as evaluate_news
from isogloss.events.cluster import ClusterSettings
from isogloss.text.raw import LAYOUTS

HEAVY = (
    *("numpy", "scipy", "sklearn", "matplotlib", "fastapi", "sqlite3", "asyncio.base_events"),
    *("pydantic_settings", "rich.markdown", "rich.traceback"),
)

EVERY_HELP = """
import json, sys
from typer.main import get_command
from typer.testing import CliRunner
from isogloss.cli.app import app

def commands(group, path):
    for name in group.list_commands(None):
        _, command, _ = group.resolve_command(None, [name])
        yield [*path, name]
        if hasattr(command, "list_commands"):
            yield from commands(command, [*path, name])

runner = CliRunner()
calls = [["--version"], ["no-such-command"], ["align", "--no-such-option"], ["--help"]]
calls += [[*path, "--help"] for path in commands(get_command(app), [])]
codes = {" ".join(call): runner.invoke(app, call).exit_code for call in calls}
pydantic = "pydantic" in sys.modules  # typer needs it to convert arguments, which a call without some has
codes["ingest"] = runner.invoke(app, ["ingest"]).exit_code
imported = sorted(set(sys.modules) & set(sys.argv[1:]))
print(json.dumps({"codes": codes, "pydantic": pydantic, "imported": imported}))
"""


def run(code, *arguments):
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_help_version_and_usage_errors_import_no_numerical_library():
    told = run(EVERY_HELP, *HEAVY)
    assert told["imported"] == []
    assert not told["pydantic"]
    assert len(told["codes"]) > 40
    wrong = {"no-such-command", "align --no-such-option", "ingest"}
    assert {call for call, code in told["codes"].items() if code} == wrong


@pytest.mark.parametrize(
    ("module", "name", "without"),
    [
        ("isogloss", "__version__", ("numpy", "scipy", "sklearn")),
        ("isogloss.service.client", "Client", ("numpy", "scipy", "sklearn", "fastapi", "pydantic")),
        ("isogloss.feeds", "Watcher", ("numpy", "scipy", "sklearn")),
        ("isogloss.events", "Article", ("scipy", "sklearn")),
        ("isogloss.store", "Store", ("scipy", "sklearn")),
        ("isogloss.text", "Tokeniser", ("scipy", "sklearn")),
        ("isogloss.graphical", "BayesianNetwork", ("scipy", "sklearn", "cotengra")),
        ("isogloss.alignment", "Aligner", ("rich", "matplotlib", "sklearn.svm")),
        ("isogloss.multiview", "CCA", ("matplotlib", "sqlite3", "sklearn.svm")),
    ],
)
def test_a_package_imports_only_what_it_needs(module, name, without):
    code = (
        "import importlib, json, sys; getattr(importlib.import_module(sys.argv[1]), sys.argv[2]); "
        "print(json.dumps(sorted(set(sys.modules) & set(sys.argv[3:]))))"
    )
    assert run(code, module, name, *without) == []


def default(command, name):
    return inspect.signature(command).parameters[name].default


def test_options_have_the_defaults_of_the_models():
    """The command line repeats them, so that help need not import the models."""
    plain = Aligner()
    assert default(align.run, "threshold") == plain.threshold
    assert PRESETS[default(align.run, "preset")] == {}
    assert get_args(similar.Kind) == tuple(similar.MODELS)
    assert get_args(align_sentences.Layout) == LAYOUTS
    assert tuple(PRESETS) == get_args(align_options.PresetName)
    own = {"schedule", "agreement", "priors", "lower", "threshold", "n_jobs"}
    assert set(align_options.SETTINGS) | own | {"fertility", "engine"} == set(plain.get_params())
    for name in ("threshold", "body_threshold"):
        assert default(evaluate_news.clusters, name) == getattr(ClusterSettings(), name)
    assert set(get_args(align.Combination)) >= set(Heuristic.__args__) - {"posterior"}
    assert tuple(str(name or "none") for name in AGREEMENTS) == get_args(align_options.AgreementName)
