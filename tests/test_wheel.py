"""The wheel works where nothing else is installed."""

import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_wheel_works_in_an_empty_environment(request, tmp_path):
    root = request.config.rootpath
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, root]
    subprocess.run([*build, f"--config-settings=build-dir={tmp_path / 'build'}"], check=True, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    done = subprocess.run(
        [sys.executable, root / "tools" / "wheel.py", wheel], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fit: fitted, saved and loaded" in done.stdout
