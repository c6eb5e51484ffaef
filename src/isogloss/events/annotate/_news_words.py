"""What frequent words of news mean, in eleven languages, without anything having been learned.

The table ``newswords.tsv``, written for isogloss, has a line for each of some 420 meanings (*earthquake*,
*strike*, *gold*, *quarantine* ...) and a column for each language (:mod:`isogloss.events.annotate._word_table`). So
*Erdbeben*, *séisme* and *землетрясения* are one concept, and titles in different languages have something in
common beside their names.
"""

from __future__ import annotations

import re
from collections import Counter

from isogloss.events.annotate._word_table import WordTable

__all__ = ["NEWS_WORDS", "news_concepts"]

NEWS_WORDS = WordTable("newswords.tsv")
"""The table."""

_WORD = re.compile(r"\w+(?:-\w+)*")
_UNSPACED = frozenset({"zh"})


def news_concepts(text: str, lang: str) -> Counter[str]:
    """How often each meaning of the table occurs in a text; empty for a language without column.

    Examples
    --------
    >>> sorted(news_concepts("Starkes Erdbeben: zwei Tote, Hunderte evakuiert", "de"))
    ['dead', 'earthquake', 'evacuate']
    >>> sorted(news_concepts("Séisme : deux morts, des centaines d'évacués", "fr"))
    ['dead', 'earthquake', 'evacuate']
    >>> news_concepts("Jordskælv", "da")
    Counter()
    """
    if lang in _UNSPACED:
        found = ((text.count(word), meanings) for word, meanings in NEWS_WORDS.words(lang).items())
        return Counter({meaning: n for n, meanings in found if n for meaning in meanings})
    return NEWS_WORDS.count(_WORD.findall(text.lower()), lang)
