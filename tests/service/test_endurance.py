"""The script that sends very many articles through a store, with few of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_is_looked_at_and_a_store_is_never_written_over(request, tmp_path):
    script = request.config.rootpath / "tools" / "endurance.py"
    command = [sys.executable, script, "--folder", tmp_path, "--articles", "750", "--jobs", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    assert [look["articles"] for look in told["looks"]] == [250, 500, 750]
    assert told["looks"][-1]["stored"] == 750
    assert told["looks"][-1]["events"] > 100
    assert told["second_half_mb"] == pytest.approx(told["looks"][2]["mb"] - told["looks"][0]["mb"], abs=0.06)
    assert done.returncode == int(told["second_half_mb"] > told["allowed_mb"])
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode
    assert "is there already" in again.stderr
