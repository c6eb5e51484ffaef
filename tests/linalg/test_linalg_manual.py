"""The docstrings are the manual, so every public name has one; their examples run with the suite."""

import inspect

import isogloss.linalg as linalg


def test_every_public_name_has_a_docstring():
    assert linalg.__all__
    assert all(inspect.getdoc(getattr(linalg, name)) for name in linalg.__all__)
