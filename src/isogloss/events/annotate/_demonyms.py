"""Countries by what their people and things are called: *Argentine*, *argentinos*, *аргентинская*.

The table ``peoples.tsv``, written for isogloss, has a line for each country and a column for each language
(:mod:`isogloss.events.annotate._word_table`). Languages without a column, such as Chinese, use the name of the country,
which the gazetteer knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set

from isogloss.events.annotate._word_table import WordTable

__all__ = ["PEOPLES", "named_peoples"]

PEOPLES = WordTable("peoples.tsv")
"""The table."""


def named_peoples(words: Sequence[str], lang: str, vocabulary: Set[str] | None = None) -> Counter[str]:
    """How often words in lower case are those of each country, by its code; see :meth:`WordTable.count`.

    Examples
    --------
    >>> named_peoples("the argentine team and two french judges".split(), "en")
    Counter({'AR': 1, 'FR': 1})
    >>> named_peoples("аргентинские и французские судьи".split(), "ru")
    Counter({'AR': 1, 'FR': 1})
    """
    return PEOPLES.count(words, lang, vocabulary)
