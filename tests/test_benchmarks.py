"""The harness measures what it says, and every benchmark can be found; figures are never asserted."""

import ast
import importlib
import json
import mmap
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MEGABYTE = 10**6

pytest.importorskip("psutil")


@pytest.fixture
def harness():
    return importlib.import_module("benchmarks.harness")


def run(*arguments):
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_every_benchmark_says_what_it_compares_and_has_a_main():
    for path in (ROOT / "benchmarks").glob("[a-z]*.py"):
        tree = ast.parse(path.read_text())
        assert ast.get_docstring(tree), path.name
        functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert path.stem == "harness" or "main" in functions, path.name


def test_without_a_name_they_are_listed():
    done = run()
    assert done.returncode == 0
    assert "moments" in done.stdout


def test_an_unknown_name_is_wrong_usage():
    done = run("no-such-benchmark")
    assert done.returncode == 2
    assert "moments" in done.stderr


def test_a_missing_peer_is_a_sentence(harness):
    with pytest.raises(harness.MissingPeerError, match="pip install sporran"):
        harness.need("kilt.pleats", package="sporran")


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux alone keeps this mark")
@pytest.mark.parametrize("megabytes", [8, 80])
def test_a_peak_is_seen_however_short(harness, megabytes):
    """The pages are mapped for each run: those of malloc may have been freed before and be resident still."""

    def allocate():
        with mmap.mmap(-1, megabytes * MEGABYTE) as pages:
            for start in range(0, len(pages), mmap.PAGESIZE):
                pages[start] = 1

    allocate()
    assert harness.peak_extra_mb(allocate) == pytest.approx(megabytes, abs=3)
    assert harness.peak_extra_mb(lambda: None) < 3


def test_cpu_seconds_count_children(harness):
    before = harness.cpu_seconds()
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    subprocess.run([sys.executable, "-c", burn], check=True)
    assert harness.cpu_seconds() - before >= 0.45


def test_both_sides_run_by_turns_and_the_last_line_is_json(harness, capsys):
    turns = []
    result = harness.compare(
        "letters",
        ours=lambda: turns.append("a") or 1.0,
        peer=lambda: turns.append("b") or 2.0,
        peer_name="other",
        accuracy=lambda value: value,
        repeats=3,
        measure="wall_seconds",
    )
    harness.report(result)
    assert "".join(turns) == "ab" + "ab" * 3 + "ab"
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {"name", "ours", "peer", "ratio", "accuracy", "threads"} <= told.keys()
    assert told["accuracy"] == {"ours": 1.0, "peer": 2.0}
    assert told["ratio"] == pytest.approx(told["ours"]["wall_seconds"] / told["peer"]["wall_seconds"])


@pytest.mark.slow
def test_a_benchmark_runs_from_the_command_line():
    done = run("moments")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["details"]["difference"] < 1e-12
