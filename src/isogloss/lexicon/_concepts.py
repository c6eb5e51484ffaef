"""Join any number of bilingual dictionaries to one table: a row is a concept, a view its word in a language.

Dictionaries know different words, so a concept lacks a word in most languages. It is kept all the same: a
missing word is a missing view. Every pair of every dictionary is a row of two words, whatever its languages:
no language is a pivot, and nothing is joined by way of a word that has two meanings. A word may also be a row
of its own, which tells how its language's vectors are spread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from isogloss.exceptions import DictionaryError
from isogloss.lexicon._dictionaries import BilingualDictionary
from isogloss.lexicon.vectors import WordVectors
from isogloss.views import Views

Table = NDArray[np.int64]
RowKind = Literal["pairs", "complete"]
Word = tuple[int, int]
Links = dict[Word, dict[int, list[int]]]


def concept_table(
    vectors: Mapping[str, WordVectors],
    dictionaries: Iterable[BilingualDictionary],
    *,
    rows: RowKind = "pairs",
    monolingual: int = 0,
    exclude: Iterable[BilingualDictionary] = (),
) -> Table:
    """Rows of concepts: for each language the row of the word in its vectors, or -1.

    Parameters
    ----------
    vectors : mapping from language to WordVectors
        The languages, in the order of the columns.
    dictionaries : iterable of BilingualDictionary
        Between any of the languages, in any direction; those between others are ignored.
    rows : {'pairs', 'complete'}
        ``'pairs'``: every pair is a row; ``'complete'``: words of the first language that have a translation
        in every other one, as an inner join of its dictionaries gives them (a second row with the second
        translations, and so on).
    monolingual : int
        Rows of one word alone, for this many of the most frequent words of each language.
    exclude : iterable of BilingualDictionary
        No row holds both words of one of these pairs, not even by way of a third language: what a model is
        tested on.

    Raises
    ------
    DictionaryError
        A dictionary is empty or none of its words has a vector, or the dictionaries do not connect all
        languages; with counts.

    Examples
    --------
    >>> en = WordVectors(["cat", "dog"], [[1, 0], [0, 1]], "en")
    >>> de = WordVectors(["Hund", "Katze"], [[1, 0], [0, 1]], "de")
    >>> fr = WordVectors(["chat"], [[1, 0]], "fr")
    >>> seeds = [BilingualDictionary("en", "de", [("cat", "Katze"), ("dog", "Hund")]),
    ...          BilingualDictionary("fr", "en", [("chat", "cat")])]
    >>> concept_table({"en": en, "de": de, "fr": fr}, seeds, rows="complete")
    array([[0, 1, 0]])
    >>> concept_table({"en": en, "de": de, "fr": fr}, seeds, rows="pairs")
    array([[ 0,  1, -1],
           [ 1,  0, -1],
           [ 0, -1,  0]])
    """
    languages = list(vectors)
    pairs = _all_pairs(vectors, dictionaries)
    unwanted = _word_pairs(vectors, exclude)
    pairs = [pair for pair in pairs if frozenset(pair) not in unwanted]
    _check_connected(languages, pairs)
    if rows == "pairs":
        found = [list(pair) for pair in dict.fromkeys((min(pair), max(pair)) for pair in pairs)]
    elif rows == "complete":
        found = [_without(row, unwanted) for row in _joined_rows(_links(pairs))]
    else:
        raise ValueError(f"rows={rows!r}; expected 'pairs' or 'complete'")
    table = _as_table(found, len(languages))
    if rows == "complete":
        table = _complete(table, languages)
    return np.vstack([table, single_words(vectors, monolingual)])


def concept_views(matrices: Mapping[str, Any], table: Table) -> Views:
    """The vectors of the words of a table, as views; missing words are missing rows."""
    present = table >= 0
    data = {name: matrix[table[present[:, v], v]] for v, (name, matrix) in enumerate(matrices.items())}
    return Views(data, present=present)


def _all_pairs(
    vectors: Mapping[str, WordVectors], dictionaries: Iterable[BilingualDictionary]
) -> list[tuple[Word, Word]]:
    """Pairs of words with vectors, as they come; every dictionary must have some."""
    place = {language: v for v, language in enumerate(vectors)}
    out: list[tuple[Word, Word]] = []
    for one in dictionaries:
        if one.source in place and one.target in place:
            i, j = one.rows(vectors[one.source], vectors[one.target])
            v, w = place[one.source], place[one.target]
            out += [((v, a), (w, b)) for a, b in zip(i.tolist(), j.tolist(), strict=True)]
    return out


def _word_pairs(
    vectors: Mapping[str, WordVectors], dictionaries: Iterable[BilingualDictionary]
) -> set[frozenset[Word]]:
    """Pairs of words that have vectors; a dictionary without any is fine."""
    place = {language: v for v, language in enumerate(vectors)}
    out: set[frozenset[Word]] = set()
    for one in dictionaries:
        if one.source in place and one.target in place:
            source, target = vectors[one.source].index, vectors[one.target].index
            v, w = place[one.source], place[one.target]
            out.update(
                frozenset([(v, source[s]), (w, target[t])])
                for s, t in one.pairs
                if s in source and t in target
            )
    return out


def _check_connected(languages: Sequence[str], pairs: Sequence[tuple[Word, Word]]) -> None:
    counts = np.zeros((len(languages), len(languages)), dtype=np.int64)
    for (v, _), (w, _) in pairs:
        counts[v, w] += 1
    parts, label = connected_components(coo_array(counts), directed=False)
    if parts > 1:
        groups = [
            [name for name, at in zip(languages, label, strict=True) if at == part] for part in range(parts)
        ]
        known = [
            f"{languages[v]}-{languages[w]}: {counts[v, w]}" for v, w in zip(*np.nonzero(counts), strict=True)
        ]
        raise DictionaryError(
            f"no dictionary connects {' with '.join('/'.join(group) for group in groups)} (pairs with "
            f"vectors: {', '.join(known) or 'none'}); give one between them, or leave a language out"
        )


def _links(pairs: Iterable[tuple[Word, Word]]) -> Links:
    """Every word with its translations by language, in the order of the dictionaries."""
    links: Links = {}
    for first, second in pairs:
        for (v, i), (w, j) in ((first, second), (second, first)):
            known = links.setdefault((v, i), {}).setdefault(w, [])
            if j not in known:
                known.append(j)
    return links


def _joined_rows(links: Links) -> Iterator[list[Word]]:
    """Words of the first language with their first translations, their second ones, and so on."""
    for word, translations in links.items():
        if word[0] == 0:
            for turn in range(max(map(len, translations.values()))):
                yield [word, *((w, known[turn]) for w, known in translations.items() if turn < len(known))]


def _without(row: Sequence[Word], unwanted: set[frozenset[Word]]) -> list[Word]:
    """The row without the later word of any unwanted pair."""
    kept: list[Word] = []
    for word in row:
        if not any(frozenset((word, other)) in unwanted for other in kept):
            kept.append(word)
    return kept


def _as_table(rows: Sequence[Sequence[Word]], n_languages: int) -> Table:
    table = np.full((len(rows), n_languages), -1, dtype=np.int64)
    for at, row in enumerate(rows):
        for language, word in row:
            table[at, language] = word
    return table


def _complete(table: Table, languages: Sequence[str]) -> Table:
    whole = (table >= 0).all(axis=1)
    if not whole.any():
        have = ", ".join(f"{name}: {n}" for name, n in zip(languages, (table >= 0).sum(axis=0), strict=True))
        raise DictionaryError(
            f"none of {len(table)} words of {languages[0]!r} has a translation in every language ({have}); "
            "use rows='pairs', which keeps incomplete rows"
        )
    return np.asarray(table[whole])


def single_words(vectors: Mapping[str, WordVectors], most: int) -> Table:
    """Rows of one word each, for the most frequent words of each language."""
    kept = [min(len(one), most) for one in vectors.values()]
    table = np.full((sum(kept), len(kept)), -1, dtype=np.int64)
    ends = np.cumsum(kept)
    for v, (n, end) in enumerate(zip(kept, ends, strict=True)):
        table[end - n : end, v] = np.arange(n)
    return table
