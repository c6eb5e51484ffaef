"""The wheel works where there is nothing else, and what is known of its packages is told as it is."""

import importlib.util
import json
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_wheel_works_in_an_empty_environment(request):
    script = request.config.rootpath / "tools" / "wheel.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " commands" in done.stdout
    assert "fit: fitted, saved and loaded" in done.stdout
    assert "events: " in done.stdout


@pytest.fixture(scope="module")
def tool(request):
    place = request.config.rootpath / "tools" / "wheel.py"
    spec = importlib.util.spec_from_file_location("wheel_tool", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def told(*packages):
    return json.dumps({"dependencies": list(packages)})


SOUND = {"name": "numpy", "version": "2.4.6", "vulns": []}


def test_packages_without_known_weaknesses_are_sound(tool):
    assert tool.judged(told(SOUND), "") == "1 packages, no known weakness"


@pytest.mark.parametrize(
    ("answer", "said", "problem"),
    [
        (told(SOUND, {"name": "jinja2", "version": "2.10", "vulns": [{"id": "PYSEC-2021-66"}]}), "",
         "jinja2 2.10: PYSEC-2021-66"),
        (told(SOUND, {"name": "jinja2", "skip_reason": "not found"}), "",
         "knows nothing of 1 of 2 packages, such as jinja2"),
        ("", "Traceback\nConnectionError: no such host", "nothing is known: ConnectionError: no such host"),
    ],
)  # fmt: skip
def test_an_audit_that_found_or_learnt_nothing_good_fails(tool, answer, said, problem):
    with pytest.raises(tool.StepError, match=problem):
        tool.judged(answer, said)
