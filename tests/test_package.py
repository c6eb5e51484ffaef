"""The manners of the package as a whole: what it exports, lists and gives away."""

import importlib
import importlib.util
import pkgutil
import re
import subprocess
import tomllib
from collections import defaultdict
from importlib.metadata import version
from pathlib import Path

import pytest

import isogloss

ROOT = Path(__file__).resolve().parent.parent


def public_modules():
    found = pkgutil.walk_packages(isogloss.__path__, "isogloss.")
    return sorted(m.name for m in found if not re.search(r"\._", m.name))


MODULES = public_modules()


def relative(path):
    return path.relative_to(ROOT).as_posix()


def test_version_is_that_of_the_metadata():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert isogloss.__version__ == version("isogloss") == declared


def test_the_reference_lists_every_public_module():
    """Kernels and the check for extras are internal, and the command line has a page of its own."""
    internal = {"isogloss.kernels", "isogloss.cli", "isogloss.extras"}
    top = {name for name in MODULES if name.count(".") == 1} - internal
    listed = (ROOT / "docs" / "reference" / "index.rst").read_text().split()
    assert top - set(listed) == set()


def test_siblings_do_not_give_one_name_to_two_things():
    """Public classes and functions of modules in one folder."""
    defined = defaultdict(dict)
    for name in MODULES:
        for n, thing in vars(importlib.import_module(name)).items():
            if not n.startswith("_") and getattr(thing, "__module__", None) == name:
                defined[name.rpartition(".")[0], n][name] = thing
    clashes = {
        f"{parent}.*.{n}": sorted(where)
        for (parent, n), where in defined.items()
        if len({id(thing) for thing in where.values()}) > 1 and not _is_plain_value(where.values())
    }
    assert clashes == {}


def _is_plain_value(things):
    return all(isinstance(thing, (int, float, str)) for thing in things)


def tracked_files():
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        names = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [path for name in names.split("\0") if name and (path := ROOT / name).is_file()]


def test_files_name_no_machine_and_no_registry():
    folders = "|".join(["work", "home", "root", "opt", "mnt", "srv", "tmp", "Users"])
    hosts = "|".join(["pypi" + r"\.org", "pythonhosted" + r"\.", "npmjs" + r"\.", "deb" + r"\.debian"])
    # A path of a route or of a page is not one of a file, so only the folders people and machines have.
    suspect = re.compile(rf"(?<![\w.~)}}*/-])/(?:{folders})/\w|{hosts}")
    guilty = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if suspect.search(line):
                guilty.append(f"{relative(path)}:{number}: {line.strip()[:80]}")
    assert guilty == []


def test_the_machine_check_asks_for_the_python_the_package_needs():
    """tools/setup.py reads pyproject.toml by hand, because it must run on Pythons without tomllib."""
    spec = importlib.util.spec_from_file_location("setup_tool", ROOT / "tools" / "setup.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert ">=" + ".".join(map(str, tool.required_python())) == declared
