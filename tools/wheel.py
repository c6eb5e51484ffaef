"""Build the wheel, install it without extras in an empty environment, and see that it works there.

    python tools/wheel.py                 a minute or two: the kernels are compiled
    python tools/wheel.py --keep dist     and keep the wheel
    python tools/wheel.py --audit         and ask whether weaknesses of what it runs with are known

Any Python with pip does; what building needs is fetched into an environment of its own. Exit code 1 and the
output of the step that failed, if one did.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = "import pkgutil, isogloss; print(*(each.name for each in pkgutil.iter_modules(isogloss.__path__)))"
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
from isogloss.events.samples import sample_news
from isogloss.service.making import StreamMaker
from isogloss.service.worker import Follower
from isogloss.store import Store
with Store("news.db") as store:
    store.add(sample_news().articles[:30])
    Follower(store, StreamMaker()).catch_up()
    print(store.counts()["event"], "events")
"""


TOLD = ("commands", "fit", "events")
"""Steps whose last line is shown."""

DEPLOYED = "service,postgres,feeds,text"
"""The extras that a service is installed with."""


class StepError(Exception):
    """A step that failed, with what it said."""


def main():
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, help="a folder that the wheel goes to")
    parser.add_argument("--audit", action="store_true", help="ask pip-audit about what the service runs with")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="isogloss-wheel-") as folder:
        try:
            wheel = build(Path(folder))
            check(wheel, Path(folder))
            if options.audit:
                audit(wheel, Path(folder))
        except StepError as error:
            print(error, file=sys.stderr)
            return 1
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            print("kept:", shutil.copy(wheel, options.keep))
    return 0


def build(folder):
    """The wheel, built apart from the build of the checkout."""
    step(
        "build", sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps",
        f"--config-settings=build-dir={folder / 'build'}", "--wheel-dir", folder, ROOT, cwd=folder,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MB")
    return wheel


def check(wheel, folder):
    """Install the wheel in an environment of its own, and use it there."""
    place = folder / "empty"
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    step(
        "install", python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=folder
    )
    modules = step("list modules", python, "-c", MODULES, cwd=folder).split()
    step("import", python, "-c", "".join(f"import isogloss.{name}\n" for name in modules), cwd=folder)
    step("help", place / "bin" / "isogloss", "--help", cwd=folder)
    step("commands", python, "-c", HELP, cwd=folder)
    step("init", place / "bin" / "isogloss", "init", "desk", cwd=folder)
    step("fit", python, "-c", FIT, cwd=folder)
    step("events", python, "-c", STORE, cwd=folder)


def audit(wheel, folder):
    """Ask pip-audit about all packages that a service is installed with."""
    place, asking = folder / "empty" / "bin" / "python", folder / "asking"
    venv.create(asking, with_pip=True)
    step("pip-audit", asking / "bin" / "python", "-m", "pip", "install", "--quiet", "pip-audit", cwd=folder)
    step("extras", place, "-m", "pip", "install", "--quiet", f"{wheel}[{DEPLOYED}]", cwd=folder)
    packages = step("list packages", place, "-m", "pip", "freeze", "--exclude", "isogloss", cwd=folder)
    (folder / "packages.txt").write_text(packages)
    done = subprocess.run(
        [asking / "bin" / "pip-audit", "--format=json", "--no-deps", "--disable-pip", "-r", "packages.txt"],
        cwd=folder, capture_output=True, text=True,
    )  # fmt: skip
    print("audit:", judged(done.stdout, done.stderr))


def judged(answer, said):
    """What an answer of pip-audit comes to; a package that nobody was asked about is not taken for sound."""
    try:
        packages = json.loads(answer)["dependencies"]
    except (ValueError, KeyError):
        why = said.strip().rpartition("\n")[2]
        raise StepError(
            f"audit failed: no service of advisories answered, so nothing is known: {why}"
        ) from None
    unknown = [each["name"] for each in packages if "skip_reason" in each]
    weak = [
        f"{each['name']} {each['version']}: {', '.join(found['id'] for found in each['vulns'])}"
        for each in packages
        if each.get("vulns")
    ]
    if weak:
        raise StepError("audit failed: raise these in pyproject.toml:\n" + "\n".join(weak))
    if unknown:
        raise StepError(
            f"audit failed: the service of advisories knows nothing of {len(unknown)} of {len(packages)} "
            f"packages, such as {unknown[0]}; run it where it does"
        )
    return f"{len(packages)} packages, no known weakness"


def step(name, *command, cwd):
    """Run one step; what it printed."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        raise StepError(f"{name} failed:\n{done.stdout}{done.stderr}")
    last = done.stdout.strip().rpartition("\n")[2] if name in TOLD else "done"
    print(f"{name}: {last}", flush=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
