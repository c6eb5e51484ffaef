"""Blanks for scripts that have none: Chinese, Japanese, Thai, Lao, Khmer and Burmese.

Stretches of these scripts are found in text of any language and rewritten with blanks between their words,
so that what follows needs to know of blanks only. Two ways:

``icu``
    the dictionaries of ICU, through the package ``icu4py``;
``bigrams``
    every two neighbouring characters are a word, which needs no dictionary: 北京大学 gives 北京, 京大
    and 大学. Search engines do this; it finds most words and as many false ones, so vocabularies are larger.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isogloss.extras import has_module
from isogloss.text._extras import need_extra
from isogloss.text._languages import language
from isogloss.text._letters import has_letters, matching_letters

Method = Literal["auto", "icu", "bigrams"]

ICU = "icu4py.breakers"
"""The module that segments with dictionaries."""

UNSPACED = re.compile(
    "["
    "\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai
    "\u0e81-\u0ecf\u0edc-\u0edf"  # Lao
    "\u1000-\u103f\u1050-\u108f\ua9e0-\ua9ef\uaa60-\uaa7f"  # Burmese and its neighbours
    "\u1780-\u17d3\u17d7\u17dc\u17dd"  # Khmer
    "\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00020000-\U0003ffff"  # Han, rare
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff"  # kana, bopomofo
    "]+"
)


def choose_method(method: Method, lang: str) -> Method:
    """The method that ``auto`` means for a language: ICU where words depend on it and it is installed.

    Examples
    --------
    >>> choose_method("auto", "en"), choose_method("auto", "th")
    ('bigrams', 'icu')
    """
    if method not in ("auto", "icu", "bigrams"):
        raise ValueError(f"got segmenter={method!r:.40}; expected 'auto', 'icu' or 'bigrams'")
    if method == "icu":
        need_extra(ICU)
    if method != "auto":
        return method
    return "icu" if language(lang).segmenter == "unspaced" and has_module(ICU) else "bigrams"


def put_blanks(text: str, lang: str, method: Method) -> str:
    """Text with blanks between the words of scripts that have none; other text is left as it is.

    Examples
    --------
    >>> put_blanks("我爱北京大学", "zh", "bigrams")
    ' 我爱 爱北 北京 京大 大学 '
    >>> put_blanks("iPhone 的价格", "zh", "icu")
    'iPhone  的 价格 '
    """
    if not has_letters(text, _unspaced_letters()):
        return text
    runs = UNSPACED.findall(text)
    spaced = iter(_dictionary_words(runs, lang) if method == "icu" else map(_bigrams, runs))
    return UNSPACED.sub(_next_of(spaced.__next__), text)


@cache
def _unspaced_letters() -> NDArray[np.uint8]:
    return matching_letters(UNSPACED)


def _next_of(following: Callable[[], str]) -> Callable[[re.Match[str]], str]:
    return lambda _: f" {following()} "


def _dictionary_words(runs: list[str], lang: str) -> list[str]:
    """All runs in one call, because each call costs as much as twenty characters."""
    words = need_extra(ICU).WordBreaker("\n".join(runs), language(lang).code)
    return [run.strip(" ") for run in " ".join(words).split("\n")]


def _bigrams(run: str) -> str:
    if len(run) == 1:
        return run
    return " ".join(map("".join, pairwise(run)))
