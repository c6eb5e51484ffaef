"""What pyproject.toml says about dependencies, versions and extras is what the other files say."""

import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def package(requirement):
    return re.match(r"[\w.-]+", requirement).group().lower()


REQUIREMENTS = PROJECT["dependencies"] + [
    each for name, requirements in EXTRAS.items() if name != "all" for each in requirements
]


def test_the_extra_all_is_all_extras():
    """Except those with torch, which takes gigabytes."""
    (requirement,) = EXTRAS["all"]
    named = re.fullmatch(r"isogloss\[([\w,]+)\]", requirement).group(1).split(",")
    assert sorted(named) == sorted(set(EXTRAS) - {"all", "sentence-transformers", "torch"})


def test_every_dependency_has_a_lower_bound():
    bounded = re.compile(r"[\w.-]+(\[[\w,]+\])?>=\d")
    assert [requirement for requirement in REQUIREMENTS if not bounded.match(requirement)] == []


def imported_packages():
    """Names of the packages that src imports, at the top of a module or inside a function."""
    statement = re.compile(r"^\s*(?:from|import) (\w+)", re.MULTILINE)
    for path in (ROOT / "src").rglob("*.py"):
        yield from statement.findall(path.read_text())


def test_every_package_that_is_imported_is_a_dependency():
    """One that another package happens to bring may be gone with its next release."""
    declared = {package(each) for each in REQUIREMENTS} | {"psycopg-pool", "isogloss"}
    owners = packages_distributions()
    foreign = set(imported_packages()) - sys.stdlib_module_names
    installed = {name: {each.lower().replace("_", "-") for each in owners.get(name, ())} for name in foreign}
    assert [name for name, found in installed.items() if found and not found & declared] == []


def test_the_page_lists_exactly_the_dependencies():
    page = (ROOT / "docs" / "design" / "dependencies.rst").read_text()
    listed = re.findall(r"^   \* - ([\w.-]+)$", page, re.MULTILINE)
    packages = [name for name in listed if name != "package"]
    assert sorted(packages) == sorted({package(each) for each in REQUIREMENTS})


def test_every_extra_is_in_the_readme():
    readme = (ROOT / "README.md").read_text()
    assert [name for name in EXTRAS if f"`{name}`" not in readme] == []


def test_the_citation_has_the_version():
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE).group(1) == PROJECT["version"]
