"""Packages that are needed for some languages only."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

__all__ = ["has_extra", "need_extra"]

_GIVES = {
    "icu4py.breakers": "the words of Chinese, Japanese, Thai, Lao, Khmer and Burmese text",
    "py3langid.langid": "the identification of languages",
    "snowballstemmer": "stems of words",
    "stopwordsiso": "lists of stop words",
}


def need_extra(module: str) -> Any:
    """Import a module of the extra ``isogloss[text]``, or say what to install and what for.

    Examples
    --------
    >>> need_extra("stopwordsiso").has_lang("en")
    True
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise ModuleNotFoundError(
            f"{package} gives {_GIVES.get(module, module)} and is not installed; pip install 'isogloss[text]'"
        ) from error


def has_extra(module: str) -> bool:
    """Whether a module of the extra can be imported.

    Examples
    --------
    >>> has_extra("json"), has_extra("no_such_package.at_all")
    (True, False)
    """
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
