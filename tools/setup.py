"""Prepare .venv in this checkout: look at the machine, make the environment, install into it.

    python3 tools/setup.py                  isogloss itself, compiled, editable, with its extras
    python3 tools/setup.py --group test     one dependency group of pyproject.toml
    python3 tools/setup.py --check          only say whether the machine has what is needed

The Makefile calls it. Standard library and old syntax only: it is the one that says that Python is too
old. A problem is one sentence and exit code 1; what pip and CMake had to say is in .venv/setup.log.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = VENV / "setup.log"
EXTRAS = "all"
COMPILERS = ("c++", "g++", "clang++")
CXX17 = """
#include <optional>
#include <utility>
int main() {
    auto [a, b] = std::pair<int, int>{0, 1};
    if constexpr (sizeof(int) > 1) return std::optional<int>{a}.value_or(b);
}
"""


class SetupError(Exception):
    """What is missing and what to do about it, in one sentence."""


def main():
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--group", help="install this dependency group instead of the package")
    parser.add_argument("--check", action="store_true", help="only look at the machine")
    options = parser.parse_args()
    try:
        check_python()
        if options.check:
            check_compiler()
            print("Python, its headers and a C++17 compiler are here.")
        elif options.group:
            make_environment()
            install(f"the dependency group {options.group}", "--group", options.group)
            stamp(options.group)
        else:
            check_compiler()
            make_environment()
            install("isogloss and compiling its kernels (a minute or two)", "--editable", f".[{EXTRAS}]")
            stamp("package")
    except SetupError as problem:
        print(f"setup: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def check_python():
    """Raise unless this interpreter is new enough and can make environments that compile."""
    oldest = required_python()
    if sys.version_info[:2] < oldest:
        newer = newer_pythons(oldest)
        raise SetupError(
            f"isogloss needs Python {dotted(oldest)} or later and {sys.executable} is "
            f"{dotted(sys.version_info[:2])}; "
            + (f"run make again with PYTHON={newer[0]}." if newer else "install a newer one.")
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError as error:
        raise SetupError(
            f"{sys.executable} cannot make virtual environments (no module {error.name}); install them "
            "(Debian, Ubuntu: the package python3-venv)."
        ) from error


def required_python():
    """The oldest version pyproject.toml admits; read by hand, because tomllib is too new."""
    declared = re.search(r'requires-python = ">=(\d+)\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    return int(declared.group(1)), int(declared.group(2))


def newer_pythons(oldest):
    """Names of new enough interpreters on the PATH that start, the newest first."""
    names = [f"python3.{minor}" for minor in range(oldest[1] + 8, oldest[1] - 1, -1)]
    return [
        n for n in names if shutil.which(n) and not subprocess.call([n, "-c", ""], stderr=subprocess.DEVNULL)
    ]


def check_compiler():
    """Raise unless a C++17 compiler and Python's headers are here."""
    command = find_compiler()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "check.cpp")
        source.write_text(CXX17)
        compile_it = [*command, "-std=c++17", str(source), "-o", str(Path(folder, "check"))]
        try:
            made = subprocess.run(compile_it, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        except OSError as error:
            raise SetupError(f"the C++ compiler {command[0]} cannot be run: {error.strerror}.") from error
    if made.returncode:
        raise SetupError(
            f"isogloss has C++17 kernels and {' '.join(command)} cannot compile C++17 "
            f"(it said: {first_line(made)}); "
            "install a newer compiler (g++ 9, clang 10 or later) or set CXX to one."
        )
    headers = Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").exists():
        raise SetupError(
            f"isogloss has C++ kernels and {sys.executable} came without its headers "
            f"(no {headers / 'Python.h'}); install them (Debian, Ubuntu: the package python3-dev)."
        )


def find_compiler():
    """The command CXX names, or the first usual compiler on the PATH."""
    chosen = shlex.split(os.environ.get("CXX", ""))
    if chosen:
        if shutil.which(chosen[0]) is None:
            raise SetupError(f"CXX is {chosen[0]}, and there is no such program; correct or unset CXX.")
        return chosen
    for name in COMPILERS:
        if shutil.which(name):
            return [name]
    raise SetupError(
        f"isogloss has C++17 kernels and there is no C++ compiler ({', '.join(COMPILERS)}) on the PATH; "
        "install one (Debian, Ubuntu: g++; Fedora: gcc-c++; macOS: xcode-select --install) or set CXX to it."
    )


def make_environment():
    """Make .venv, again if it is broken or too old, with a pip that knows dependency groups."""
    if not usable():
        say("making .venv")
        make = [sys.executable, "-m", "venv", "--clear", str(VENV)]
        made = subprocess.run(make, capture_output=True, text=True)
        if made.returncode:
            raise SetupError(f"{sys.executable} could not make .venv; it said: {last_line(made)}")
    pip("install", "pip>=25.1")


def usable():
    """Whether there is an environment that starts, with a new enough Python and with pip."""
    look = [str(PYTHON), "-c", "import pip, sys; print(*sys.version_info[:2])"]
    seen = subprocess.run(look, capture_output=True, text=True) if PYTHON.exists() else None
    return bool(seen and seen.stdout) and tuple(map(int, seen.stdout.split())) >= required_python()


def install(what, *arguments):
    """Install with pip, quietly, and say what."""
    say(f"installing {what}")
    pip("install", *arguments)


def pip(*arguments):
    """Run pip of the environment; its words go to the log."""
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", *arguments]
    with LOG.open("w") as log:
        done = subprocess.run(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
    if done.returncode:
        reasons = re.findall(r".*\berror\b.*", LOG.read_text(errors="replace"), flags=re.IGNORECASE)
        raise SetupError(
            f"pip {' '.join(arguments)} failed ({reasons[-1].strip() if reasons else 'no reason given'}); "
            f"what it said is in {LOG.relative_to(ROOT)}."
        )


def stamp(name):
    """Leave the file by which make knows that this is done."""
    folder = VENV / "stamps"
    folder.mkdir(exist_ok=True)
    (folder / name).touch()


def first_line(process):
    """The first thing a process said."""
    return (process.stderr + process.stdout).strip().partition("\n")[0] or "nothing"


def last_line(process):
    """The last thing a process said."""
    return (process.stdout + process.stderr).strip().rpartition("\n")[2] or "nothing"


def dotted(version):
    """A version as people write it."""
    return ".".join(map(str, version))


def say(what):
    """One line on what takes the time."""
    print(f"setup: {what} ...", flush=True)


if __name__ == "__main__":
    sys.exit(main())
