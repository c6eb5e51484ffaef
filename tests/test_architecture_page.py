"""The architecture page names files, classes and functions that exist."""

import ast
import re

import pytest


@pytest.fixture(scope="module")
def page(request):
    return (request.config.rootpath / "docs" / "design" / "architecture.rst").read_text()


def test_each_step_of_the_way_of_an_article_is_a_function_that_exists(page, request):
    steps = re.findall(r"^   \* - .*\n     - ``([\w/]+\.py)``\n     - ``([\w.]+)``", page, flags=re.M)
    assert len(steps) > 10
    missing = [step for step in steps if not _defines(request.config.rootpath / "src" / "isogloss", *step)]
    assert missing == []


def _defines(root, path, name):
    scope = ast.parse((root / path).read_text()).body
    for part in name.split("."):
        found = [node for node in scope if getattr(node, "name", None) == part]
        if not found:
            return False
        scope = getattr(found[0], "body", [])
    return True
