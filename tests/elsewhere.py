"""Another process, in which hashes of strings and so the order of sets are others."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout


def same_elsewhere(script):
    """Run a script here and in a process with other hashes; return what it prints, which must be the same."""
    here = io.StringIO()
    with redirect_stdout(here):
        exec(script, {"__name__": "__main__"})
    there = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout == here.getvalue()
    return there.stdout
