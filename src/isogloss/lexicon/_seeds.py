"""Seeds without a dictionary: words that are spelt alike in both languages, and numerals.

Names, loan words and numbers are written the same in many languages. Some of the pairs are wrong (English
*gift*, German *Gift*), which :func:`~isogloss.lexicon.refine` mends. For two scripts only numerals and
foreign words are identical; names and loan words are still alike after transliteration.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from anyascii import anyascii

from isogloss.exceptions import DictionaryError
from isogloss.lexicon._dictionaries import BilingualDictionary
from isogloss.lexicon.vectors import WordVectors

_NUMERAL = re.compile(r"\d[\d.,:/-]*")

ENOUGH_IDENTICAL = 1_000
"""With fewer identical words, words of similar spelling join the seed."""

MIN_SEED = 50
"""A seed of fewer pairs found by spelling is refused: from 25 pairs, no map was ever better than chance."""

MIN_SIMILARITY, MIN_LETTERS, FREQUENT = 0.8, 4, 10_000
"""Cosine of letter n-grams from which words are alike; shorter and rarer words are not compared."""


@dataclass(frozen=True)
class FoundSeed:
    """A seed dictionary that was found by spelling, and how many pairs are identical or alike.

    Attributes
    ----------
    dictionary : BilingualDictionary
    identical : int
        Pairs of identical words, numerals among them.
    similar : int
        Pairs of words that are alike after transliteration.
    """

    dictionary: BilingualDictionary
    identical: int
    similar: int

    def __str__(self) -> str:
        similar = f" and {self.similar} of similar spelling after transliteration" if self.similar else ""
        return f"{self.identical} pairs of identical words{similar}"


def find_seed(source: WordVectors, target: WordVectors) -> FoundSeed:
    """Make a seed without a dictionary: identical words and, where these are few, words of similar spelling.

    Raises
    ------
    DictionaryError
        There are fewer than 50 pairs; with counts.

    Examples
    --------
    >>> import numpy as np
    >>> names = [f"name{i:02}" for i in range(60)]
    >>> en = WordVectors([*names, "madrid", "house"], np.eye(62), "en")
    >>> ru = WordVectors([*names, "дом", "мадрид"], np.eye(62), "ru")
    >>> seed = find_seed(en, ru)
    >>> print(seed)
    60 pairs of identical words and 1 of similar spelling after transliteration
    >>> seed.dictionary.pairs[-1]
    ('madrid', 'мадрид')
    """
    identical = [(word, word) for word in source.words if len(word) > 1 and word in target]
    similar = [] if len(identical) >= ENOUGH_IDENTICAL else similar_words(source, target)
    similar = [pair for pair in similar if pair[0] != pair[1]]
    found = FoundSeed(
        BilingualDictionary(source.language, target.language, [*identical, *similar]),
        len(identical),
        len(similar),
    )
    if len(found.dictionary) < MIN_SEED:
        raise DictionaryError(
            f"{source.language or 'source'} ({len(source)} words) and {target.language or 'target'} "
            f"({len(target)} words) have {found}; at least {MIN_SEED} pairs are needed to learn without a "
            "dictionary: give one with known translations, for example a lexicon that was learned from "
            "sentence pairs, or vectors of more words"
        )
    return found


def similar_words(source: WordVectors, target: WordVectors) -> list[tuple[str, str]]:
    """Words that are each other's most similar in spelling after transliteration, if they are alike enough.

    Spelling is compared by the cosine of weighted letter n-grams of two to four letters, among the 10,000
    most frequent words of each language.

    Examples
    --------
    >>> en = WordVectors(["president", "house", "paris"], [[1, 0], [0, 1], [1, 1]], "en")
    >>> el = WordVectors(["σπίτι", "παρίσι", "παρίς"], [[1, 0], [0, 1], [1, 1]], "el")
    >>> similar_words(en, el)
    [('paris', 'παρίς')]
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    spelt = [
        {
            word: ascii_
            for word in one.words[:FREQUENT]
            if len(ascii_ := anyascii(word).lower()) >= MIN_LETTERS
        }
        for one in (source, target)
    ]
    if not all(spelt):
        return []
    weigh = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), lowercase=False, sublinear_tf=True)
    weigh.fit([text for one in spelt for text in one.values()])
    left, right = (weigh.transform(one.values()) for one in spelt)
    cosines = (left @ right.T).tocsr()
    best, back = (np.asarray(cosines.argmax(axis=axis)).ravel() for axis in (1, 0))
    rows = np.flatnonzero(back[best] == np.arange(len(best)))
    rows = rows[np.asarray(cosines[rows, best[rows]]).ravel() >= MIN_SIMILARITY]
    names = [list(one) for one in spelt]
    return [(names[0][i], names[1][best[i]]) for i in rows]


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
