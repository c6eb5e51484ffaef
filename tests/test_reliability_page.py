"""The table of failures names tests that are there."""

import re

import pytest


@pytest.fixture(scope="module")
def page(request):
    return (request.config.rootpath / "docs" / "howto" / "reliability.rst").read_text()


def test_every_test_that_is_named_is_there(page, request):
    """A name without a file is in the file that was named before it."""
    path, found = None, 0
    for named, test in re.findall(r"``(?:(tests/[\w/]+\.py)(?:::)?)?(test_\w+)?``", page):
        path = named or path
        if test:
            text = (request.config.rootpath / path).read_text()
            assert f"def {test}(" in text, f"{path}::{test}"
            found += 1
    assert found > 50


def test_every_line_of_the_checklist_is_there(page):
    assert sorted(map(int, re.findall(r"^   \* - (\d+)$", page, re.MULTILINE))) == [*range(1, 40)]
