"""Install a wheel in an empty environment and use it there.

    python tools/wheel.py dist/*.whl                  with the core dependencies only
    python tools/wheel.py dist/*.whl --extra all      with an extra
    python3.13 tools/wheel.py dist/*.whl              on another Python, for which the wheel must be built

`make wheel` builds the wheel and `make wheel-test` calls this. Only the standard library is needed. If a step
fails, its output is printed and the exit code is 1.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

IMPORT = """
import importlib, pkgutil, isogloss
names = [each.name for each in pkgutil.iter_modules(isogloss.__path__, "isogloss.")]
for name in names:
    importlib.import_module(name)
print(len(names), "packages")
"""
HELP = """
from typer.main import get_command
from typer.testing import CliRunner
from isogloss.cli.app import app
names = list(get_command(app).commands)
for name in names:
    done = CliRunner().invoke(app, [name, "--help"])
    assert done.exit_code == 0, (name, done.output, done.exception)
print(len(names), "commands")
"""
FIT = """
import numpy as np
from isogloss import io
from isogloss.mixture import GaussianMixture
rows = np.random.default_rng(0).normal(size=(200, 3))
model = GaussianMixture(2, random_state=0).fit(rows)
io.save(model, "m.isogloss")
assert np.array_equal(io.load("m.isogloss").predict(rows), model.predict(rows))
print("fitted, saved and loaded")
"""
STORE = """
from isogloss.events.ingest import sample_news
from isogloss.service.worker import StreamFactory
from isogloss.service.worker import JournalProcessor
from isogloss.store import Store
with Store("news.db") as store:
    store.add(sample_news().articles[:30])
    JournalProcessor(store, StreamFactory()).catch_up()
    print(store.counts()["event"], "events")
"""
SENTENCES = {
    "en.txt": "the house\nthe flower\nblue flower\nthe blue house\n",
    "fr.txt": "la maison\nla fleur\nfleur bleue\nla maison bleue\n",
}


def main():
    """Try the wheel that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path, help="the wheel")
    parser.add_argument("--extra", default="", help="extras to install with it, such as all")
    options = parser.parse_args()
    wheel = options.wheel.resolve(strict=True)
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MB, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory(prefix="isogloss-wheel-") as folder:
        try:
            try_wheel(f"{wheel}[{options.extra}]" if options.extra else str(wheel), Path(folder))
        except subprocess.CalledProcessError as error:
            print(f"failed:\n{error.stdout}", file=sys.stderr)
            return 1
    return 0


def try_wheel(requirement, folder):
    """Install a requirement in an environment of its own, and use it in an empty directory."""
    venv.create(folder / "empty", with_pip=True)
    programs = folder / "empty" / ("Scripts" if os.name == "nt" else "bin")
    python, isogloss, work = programs / "python", programs / "isogloss", folder / "work"
    work.mkdir()
    for name, text in SENTENCES.items():
        (work / name).write_text(text)
    for name, command in {
        "install": [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement],
        "import": [python, "-c", IMPORT],
        "version": [isogloss, "--version"],
        "help": [python, "-c", HELP],
        "fit": [python, "-c", FIT],
        "align": [isogloss, "align", "en.txt", "fr.txt", "-o", "-"],
        "init": [isogloss, "init", "desk"],
        "store": [python, "-c", STORE],
        "demo": [isogloss, "demo"],
    }.items():
        print(f"{name}: ", end="", flush=True)
        print(*run(command, work).splitlines()[-1:] or ["done"])


def run(command, folder):
    """Run a command in a folder, without the settings of this Python; return what it printed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, check=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ).stdout.strip()  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
