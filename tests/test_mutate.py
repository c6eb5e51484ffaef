"""tools/mutate.py: which tests it chooses, and that it tells noticed changes from others."""

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parent.parent / "tools" / "mutate.py"


def load():
    spec = spec_from_file_location("mutate", TOOL)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_chooses_the_tests_of_the_package_and_its_examples():
    chosen = set(load().tests_of(Path("src/isogloss/stats/_moments.py")))
    assert chosen == {"src/isogloss/stats/_moments.py", "tests/stats", "tests/properties/test_merge_laws.py"}
    assert set(load().tests_of(Path("src/isogloss/threads.py"))) == {
        "src/isogloss/threads.py",
        "tests/test_threads.py",
    }


@pytest.mark.parametrize("path", ["README.md", "src/isogloss", "src/isogloss/nothing"])
def test_mutates_only_what_is_in_the_package(path, request):
    done = subprocess.run(
        [sys.executable, TOOL, path], cwd=request.config.rootpath, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert f"{path} is not a file or folder below src/isogloss" in done.stderr


@pytest.mark.slow
def test_reports_every_mutant_of_a_sample(request):
    pytest.importorskip("mutmut")
    command = [sys.executable, TOOL, "src/isogloss/stats/_counts.py", "--sample", "3"]
    done = subprocess.run(command, cwd=request.config.rootpath, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    name, tried, *counts, score = done.stdout.splitlines()[-1].split()
    assert (name, int(tried)) == ("all", 3)
    assert sum(map(int, counts)) == 3
    assert score.endswith("%")
