"""Seeds without a dictionary: words that are spelt alike in both languages, and numerals.

Names, loan words and numbers are written the same in many languages. Some of the pairs are wrong (English
*gift*, German *Gift*), which :func:`~isogloss.lexicon.refine` mends. For two scripts only numerals are left.
"""

from __future__ import annotations

import re

from isogloss.exceptions import DictionaryError
from isogloss.lexicon._dictionaries import BilingualDictionary
from isogloss.lexicon.vectors import WordVectors

_NUMERAL = re.compile(r"\d[\d.,:/-]*")


def identical_words(source: WordVectors, target: WordVectors, *, min_length: int = 2) -> BilingualDictionary:
    """Pairs of words that are spelt alike, numerals included.

    Parameters
    ----------
    source, target : WordVectors
        Two languages.
    min_length : int
        Shorter words than this are left out: short ones are alike by chance.

    Raises
    ------
    DictionaryError
        There is none; with counts.

    Examples
    --------
    >>> en = WordVectors(["taxi", "house", "7"], [[1, 0], [0, 1], [1, 1]], "en")
    >>> de = WordVectors(["haus", "taxi", "7"], [[1, 0], [0, 1], [1, 1]], "de")
    >>> identical_words(en, de).pairs
    (('taxi', 'taxi'),)
    >>> numerals(en, de).pairs
    (('7', '7'),)
    """
    alike = [w for w in source.words if len(w) >= min_length and w in target]
    return _seed(source, target, alike, f"words of at least {min_length} letters that are spelt alike")


def numerals(source: WordVectors, target: WordVectors) -> BilingualDictionary:
    """Pairs of numerals that both languages have, such as ``1984`` or ``3.14``."""
    alike = [word for word in source.words if _NUMERAL.fullmatch(word) and word in target]
    return _seed(source, target, alike, "numerals")


def _seed(source: WordVectors, target: WordVectors, words: list[str], what: str) -> BilingualDictionary:
    if not words:
        raise DictionaryError(
            f"{source.language or 'source'} ({len(source)} words) and {target.language or 'target'} "
            f"({len(target)} words) have no {what}; give a seed dictionary"
        )
    return BilingualDictionary(source.language, target.language, [(word, word) for word in words])
