"""Start the command ``isogloss`` many times at the cost of one: copies of a process that has imported it all.

Each copy is a process as any other, with one thread, and nothing is in it but code and the data of languages.
Workers of the service are copies of another such process, which :mod:`multiprocessing` calls a fork server.
"""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from multiprocessing import forkserver

import psutil


class Starter:
    """A process that has imported the command, and copies itself whenever one is wanted.

    Parameters
    ----------
    env : dict
        The environment of the commands.
    log : Path
        Where workers write their logs to.
    poisoned : bool
        Whether the command is that of :mod:`tests.crash.poisoned`.
    """

    def __init__(self, env, log, *, poisoned=False):
        with log.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.crash.warm", *(["poisoned"] if poisoned else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=env,
            )
        assert json.loads(self.process.stdout.readline()) == "ready"

    def start(self, arguments, output, errors):
        """Start the command, which writes to two files; its process id."""
        return self._ask({"start": [*map(str, arguments)], "output": str(output), "errors": str(errors)})

    def wait(self, pid):
        """Wait for the end of a command; its exit code, or the negative number of a signal that ended it."""
        return self._ask({"wait": pid})

    def workers(self):
        """The processes that commands have started."""
        return [
            worker
            for child in psutil.Process(self.process.pid).children()
            for worker in child.children(recursive=True)
        ]

    def close(self):
        """End it; commands that still run go on."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def _ask(self, what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def serve_starts():
    """Do what lines of the standard input ask for, until it ends."""
    from isogloss.cli import _serve, main
    from isogloss.service.alerts import _sender
    from isogloss.service.app import create_app  # noqa: F401 all that a service imports
    from isogloss.service.worker import RetentionWorker
    from isogloss.text import identify

    if "poisoned" in sys.argv:
        from tests.crash.poisoned import poison

        _serve.stream_factory = poison(_serve.stream_factory)
    identify("Every article is in some language.")
    os.environ["TMPDIR"] = os.environ.get(
        "COMMAND_TMPDIR", "/tmp"
    )  # not for the data that were read just now
    tempfile.tempdir = None  # it is chosen again
    RetentionWorker.__init__.__kwdefaults__["poll_seconds"] = 0.2
    _sender.POLL_INTERVAL_S, _sender.LEASE_MARGIN_S = 0.1, 1.0
    new, server = multiprocessing.get_context, multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["tests.service.warm", "tests.crash.poisoned"])
    forkserver.ensure_running()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(what):
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    answer("ready")
    for line in sys.stdin:
        asked = json.loads(line)
        if "wait" in asked:
            _, status = os.waitpid(asked["wait"], 0)
            answer(os.waitstatus_to_exitcode(status))
            continue
        if pid := os.fork():
            answer(pid)
            continue
        answers.close()
        for place, name in ((0, os.devnull), (1, asked["output"]), (2, asked["errors"])):
            file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, place)
            os.close(file)
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # which may be ignored where tests run
            signal.signal(each, signal.SIG_DFL)
        forkserver._forkserver.ensure_running = lambda: None  # it is that of the parent, which sees to it
        multiprocessing.get_context = lambda method=None: server if method == "spawn" else new(method)
        sys.argv = ["isogloss", *asked["start"]]
        main()
        return


if __name__ == "__main__":
    serve_starts()
