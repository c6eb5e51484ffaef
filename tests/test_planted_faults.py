"""The table of planted faults is in order (quick), and every fault in it is caught (slow)."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def load_tool():
    spec = importlib.util.spec_from_file_location("faults", ROOT / "tools" / "faults.py")
    tool = importlib.util.module_from_spec(spec)
    sys.modules["faults"] = tool
    spec.loader.exec_module(tool)
    return tool


def run(*arguments):
    command = [sys.executable, "tools/faults.py", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_every_entry_can_be_planted():
    assert [problem for fault in load_tool().read_table() if (problem := fault.problem())] == []


def test_a_table_that_cannot_be_planted_is_refused(tmp_path):
    table = tmp_path / "faults.toml"
    table.write_text(
        '[[fault]]\nfile = "src/isogloss/views.py"\nfind = "no such text"\nreplace = ""\n'
        'test = "tests/test_package.py"\n'
    )
    done = run("--table", table)
    assert done.returncode == 2
    assert "occurs 0 times in src/isogloss/views.py" in done.stdout


@pytest.mark.slow
def test_a_fault_that_no_test_notices_is_reported(tmp_path):
    table = tmp_path / "faults.toml"
    table.write_text(
        '[[fault]]\nfile = "src/isogloss/views.py"\nfind = "Number of views."\nreplace = "How many."\n'
        'test = "tests/test_package.py::test_version_is_that_of_the_metadata"\n'
    )
    done = run("--table", table)
    assert done.returncode == 1
    assert "0 of 1 faults caught" in done.stdout


@pytest.mark.slow
def test_every_fault_is_caught():
    done = run()
    assert done.returncode == 0, done.stdout + done.stderr
