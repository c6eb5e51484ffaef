"""A service on several hosts: one is cut off, and events are those that one host makes alone."""

import json
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("blow", ["cut-off-helper", "kill-worker"])
def test_hosts_that_fail_lose_nothing(request, tmp_path, blow):
    script = request.config.rootpath / "tools" / "hosts.py"
    command = [sys.executable, script, "--folder", tmp_path, "--blows", blow]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.stdout.startswith("skipped: "):
        pytest.skip(done.stdout.removeprefix("skipped: ").strip())
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["acknowledged"] > 0
    assert (told["lost"], told["twice"], told["events_as_alone"]) == (0, 0, True)


def test_without_root_or_tools_it_says_so_and_skips(request, tmp_path):
    script = request.config.rootpath / "tools" / "hosts.py"
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("skipped: ")
    assert not any(tmp_path.iterdir())
