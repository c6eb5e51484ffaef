"""Examples in docstrings, README and docs run in an empty directory, so that they may write files.

Tests run without the sentence encoder, which takes longer than everything else, unless they ask for it.
"""

import os

import pytest

os.environ["ISOGLOSS_ENCODER"] = "off"


@pytest.fixture(autouse=True)
def _examples_in_an_empty_directory(request, tmp_path_factory, monkeypatch):
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path_factory.mktemp("example"))
