"""The page about the API names every route with its scope, and every code of an error."""

import re
from pathlib import Path

import pytest

from isogloss.service.api.errors import ERROR_CODES
from isogloss.service.api.schemas import ArticleExportParameters, EventParameters
from tests.security.test_api_access import TABLE

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "api.rst").read_text(encoding="utf-8")


def test_every_route_is_documented_with_its_scope():
    told = set(re.findall(r"^``([A-Z]+) (/\S+)`` +(read|write|admin)? +\S", PAGE, re.MULTILINE))
    assert told == {(*row[:2], row[3]) for row in TABLE if row[1] != "/openapi.json"}


@pytest.mark.parametrize("parameters", [EventParameters, ArticleExportParameters])
def test_every_parameter_of_a_search_is_documented(parameters):
    assert {name for name in parameters.model_fields if f"``{name}``" not in PAGE} == set()


def test_every_code_is_documented():
    told = dict(re.findall(r"^(\d{3})     (\w+)", PAGE, re.MULTILINE))
    assert told == {str(status): code for status, code in ERROR_CODES.items()}
