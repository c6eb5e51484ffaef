"""The library can be imported where parts of Unix are missing, and the service says where it does not run."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from isogloss.cli import _serve as serving
from isogloss.cli.app import app
from isogloss.exceptions import IsoglossError

IMPORT_EVERYTHING = """
import builtins, importlib, os, pkgutil, signal, socket, types

UNIX_MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
UNIX_NAMES = {
    os: {"fork", "geteuid", "getloadavg", "getuid", "killpg", "nice", "sched_getaffinity", "statvfs"},
    signal: {"SIGALRM", "SIGHUP", "SIGKILL", "SIGUSR1", "setitimer"},
    socket: {"AF_UNIX"},
}

def without(module, names):
    reduced = types.ModuleType(module.__name__)
    reduced.__dict__.update((name, thing) for name, thing in vars(module).items() if name not in names)
    return reduced

REDUCED = {module.__name__: without(module, names) for module, names in UNIX_NAMES.items()}
real_import = builtins.__import__

def import_without_unix(name, globals=None, *rest, **named):
    if not str((globals or {}).get("__name__")).startswith("isogloss"):
        return real_import(name, globals, *rest, **named)
    if name in UNIX_MODULES:
        raise ModuleNotFoundError(f"No module named {name!r} on Windows", name=name)
    return REDUCED.get(name) or real_import(name, globals, *rest, **named)

builtins.__import__ = import_without_unix
import isogloss

for module in pkgutil.walk_packages(isogloss.__path__, "isogloss.", onerror=lambda name: None):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        if error.name in UNIX_MODULES:
            print(f"{module.name}: {error}")
    except (AttributeError, ImportError) as error:
        print(f"{module.name}: {error}")
"""


def test_no_module_needs_unix_to_be_imported():
    """Packages of extras may be missing; modules and names that only Unix has must not be asked for."""
    done = subprocess.run([sys.executable, "-c", IMPORT_EVERYTHING], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("command", ["serve", "work"])
def test_the_service_says_that_it_does_not_run_on_windows(command, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(serving, "sys", SimpleNamespace(platform="win32"))
    answer = CliRunner().invoke(app, [command])
    assert isinstance(answer.exception, IsoglossError)
    assert "runs on Linux and macOS; on Windows use WSL or the container image" in str(answer.exception)
    assert list(tmp_path.iterdir()) == []
