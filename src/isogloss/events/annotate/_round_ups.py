"""Round-ups: live tickers and summaries, which tell many stories under one title.

``round_ups.tsv`` has the phrases by which they are recognised: a language, a tab, and phrases separated by
semicolons. The language ``*`` is for all. A number sign stands for a number of one or two digits.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files

from isogloss.events.annotate._words import is_unspaced

_NOT_WORD = re.compile(r"[^\w'-]+")
_SMALL_NUMBER = re.compile(r"\b[0-9]{1,2}\b")
_CACHED_TITLES = 1 << 14


@lru_cache(_CACHED_TITLES)
def is_round_up(title: str, lang: str) -> bool:
    """Tell whether a title announces a live ticker, a summary of many stories, or a day of a series.

    Examples
    --------
    >>> is_round_up("Tokyo Olympics live updates: swimmers collect medals", "en")
    True
    >>> is_round_up("Coronavirus-Liveticker: Impfaktion gestartet", "de"), is_round_up("A storm", "en")
    (True, False)
    """
    if is_unspaced(lang):
        return any(phrase in title for phrase in _phrases(lang))
    words = _SMALL_NUMBER.sub("#", " ".join(_NOT_WORD.split(title.lower())))
    text = f" {words} {words.replace('-', ' ')} "
    return any(f" {phrase} " in text for phrase in _phrases(lang))


@cache
def _phrases(lang: str) -> tuple[str, ...]:
    table = _read_table()
    return (*table["*"], *table.get(lang, ()))


@cache
def _read_table() -> dict[str, list[str]]:
    text = files("isogloss.events.annotate").joinpath("round_ups.tsv").read_text(encoding="utf-8")
    rows = (line.partition("\t") for line in text.splitlines())
    return {lang: phrases.split("; ") for lang, _, phrases in rows}
