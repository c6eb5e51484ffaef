"""The wheel works where there is nothing else."""

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
