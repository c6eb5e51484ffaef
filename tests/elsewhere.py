"""Another process, in which hashes of strings and so the order of sets are others."""

import atexit
import io
import json
import os
import subprocess
import sys
import traceback
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path


def same_elsewhere(script):
    """Run a script here and in a process with other hashes; return what it prints, which must be the same."""
    here = _run(script)
    assert run_elsewhere(script) == here
    return here


def run_elsewhere(script):
    """Run a script in a process with other hashes; return what it prints."""
    process = _start()
    process.stdin.write(json.dumps(script) + "\n")
    process.stdin.flush()
    printed, error = json.loads(process.stdout.readline())
    assert not error, error
    return printed


@cache
def _start():
    """Start a process that has imported the library, and runs each script in a copy of itself."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.elsewhere"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parent.parent,
        env=os.environ | {"PYTHONHASHSEED": "1"},
    )
    atexit.register(process.communicate)
    return process


def _run(script):
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(script, {"__name__": "__main__"})
    return printed.getvalue()


def _serve():
    """Run the scripts of the standard input, one in a line."""
    from isogloss.events import EventStream  # noqa: F401 what most of them import

    for line in sys.stdin:
        reading, writing = os.pipe()
        if pid := os.fork():
            os.close(writing)
            with os.fdopen(reading) as answer:
                print(answer.read(), flush=True)  # noqa: T201
            os.waitpid(pid, 0)
            continue
        os.close(reading)
        try:
            answer = [_run(json.loads(line)), ""]
        except BaseException:
            answer = ["", traceback.format_exc()]
        with os.fdopen(writing, "w") as file:
            file.write(json.dumps(answer))
        os._exit(0)


if __name__ == "__main__":
    _serve()
