"""The docstrings are the manual, so their examples run and every public name has one."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import isogloss.linalg as linalg

MODULES = [m.name for m in pkgutil.iter_modules(linalg.__path__) if not m.name.startswith("_")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(f"isogloss.linalg.{name}")
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_public_names_are_those_of_the_modules():
    exported = [n for m in MODULES for n in importlib.import_module(f"isogloss.linalg.{m}").__all__]
    assert sorted(exported) == sorted(linalg.__all__)
    assert all(inspect.getdoc(getattr(linalg, name)) for name in linalg.__all__)
