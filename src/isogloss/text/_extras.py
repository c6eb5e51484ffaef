"""Packages that are needed for some languages only."""

from __future__ import annotations

from typing import Any

from isogloss.extras import import_extra

_PURPOSES = {
    "icu4py.breakers": "splitting Chinese, Japanese, Thai, Lao, Khmer or Burmese text into words",
    "py3langid.langid": "identifying the language of a text",
    "snowballstemmer": "stemming",
    "stopwordsiso": "a list of stop words",
}


def need_extra(module: str) -> Any:
    """Import a module of the extra ``isogloss[text]``, or say what to install and what for.

    Examples
    --------
    >>> need_extra("stopwordsiso").has_lang("en")
    True
    """
    return import_extra(module, "text", _PURPOSES[module])
