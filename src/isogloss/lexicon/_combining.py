r"""One dictionary from two sources: translations found in word vectors, and those aligned in sentence pairs.

An aligned lexicon is right about words that it has seen often enough; vectors know something about every
word. So the vectors are the prior and the links are the data,

.. math:: p(t|s) = \frac{n_s\, p_a(t|s) + a\, q(t|s)}{n_s + a}, \qquad
          q(t|s) = \mathrm{softmax}_t\bigl(\mathrm{score}(s, t) / \tau\bigr),

with :math:`n_s` links of the word :math:`s`, shared out by its translations :math:`p_a`. A word of one source
alone keeps what that source says. (``a`` and ``tau`` were chosen on English and German.)
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from isogloss.exceptions import DictionaryError
from isogloss.io import PathLike, open_decompressed
from isogloss.lexicon._dictionaries import languages_of
from isogloss.lexicon._induction import InducedDictionary

PRIOR_LINKS, TEMPERATURE = 2.0, 0.1
LEXICON_COLUMNS = ("source", "target", "p(target|source)", "p(source|target)", "count")


@dataclass(frozen=True)
class AlignedLexicon:
    """Translations with the number of their links, as an aligner has counted them in sentence pairs.

    Attributes
    ----------
    source, target : str
        The languages.
    counts : mapping from source word to {target word: links}
    """

    source: str
    target: str
    counts: Mapping[str, Mapping[str, float]]

    @classmethod
    def from_rows(
        cls, rows: Iterable[tuple[str, str, float]], source: str = "", target: str = ""
    ) -> AlignedLexicon:
        """Make a lexicon of source word, target word and links; those of repeated pairs are added."""
        counts: dict[str, dict[str, float]] = {}
        for s, t, count in rows:
            words = counts.setdefault(s, {})
            words[t] = words.get(t, 0.0) + count
        return cls(source, target, counts)


def read_aligned_lexicon(path: PathLike, source: str = "", target: str = "") -> AlignedLexicon:
    """Read a table that ``isogloss align lexicon`` wrote.

    Parameters
    ----------
    path : path
        The table, compressed or not.
    source, target : str
        The languages; by default from a file name such as ``en-it.tsv``.
    """
    name = os.fspath(path)
    with open_decompressed(path, DictionaryError) as file:
        header, *lines = file.read().decode("utf-8", "replace").splitlines() or [""]
    if tuple(header.split("\t")) != LEXICON_COLUMNS:
        raise DictionaryError(
            f"{name}:1: expected the columns {', '.join(LEXICON_COLUMNS)}, as 'isogloss align lexicon' "
            "writes them"
        )
    rows = []
    for number, line in enumerate(lines, 2):
        try:
            s, t, _, _, count = line.split("\t")
            rows.append((s, t, float(count)))
        except ValueError as reason:
            raise DictionaryError(
                f"{name}:{number}: {line!r:.60} is not a line of the table ({reason})"
            ) from reason
    guess = languages_of(name)
    return AlignedLexicon.from_rows(rows, source or guess[0], target or guess[1])


def combine(
    induced: InducedDictionary, aligned: AlignedLexicon, *, k: int | None = None
) -> InducedDictionary:
    """Combine translations from word vectors with those from sentence pairs.

    Parameters
    ----------
    induced : InducedDictionary
        With several translations per word, at best, because those beyond the first count as well.
    aligned : AlignedLexicon
        Between the same languages.
    k : int, optional
        Translations per word; by default as many as ``induced`` has at most.

    Returns
    -------
    InducedDictionary
        Scores are probabilities, margins their distances to the next. Words of both sources come first, in
        the order of ``induced``.

    Raises
    ------
    DictionaryError
        The two have no source word in common, so they are not about the same language.

    Examples
    --------
    >>> pairs = (("house", "maison"), ("cat", "chien"), ("cat", "chat"), ("sun", "soleil"))
    >>> numbers = [.5, .41, .4, .6], [1, 1, 2, 1], [.2, .01, .1, .2]
    >>> induced = InducedDictionary("en", "fr", pairs, *map(np.array, numbers))
    >>> aligned = AlignedLexicon.from_rows([("cat", "chat", 7.0), ("sea", "mer", 3.0)])
    >>> combine(induced, aligned, k=1).pairs
    (('house', 'maison'), ('cat', 'chat'), ('sun', 'soleil'), ('sea', 'mer'))
    """
    prior: dict[str, dict[str, float]] = {}
    for (s, t), score in zip(induced.pairs, induced.scores.tolist(), strict=True):
        prior.setdefault(s, {})[t] = score
    if not prior.keys() & aligned.counts.keys():
        raise DictionaryError(
            f"none of the {len(aligned.counts)} source words of the aligned lexicon has an induced "
            "translation; expected a lexicon between the same languages, in the same direction and case"
        )
    k = k or int(induced.ranks.max())
    pairs, numbers = [], []
    for word in dict.fromkeys([*prior, *aligned.counts]):
        shares = _shares(prior.get(word, {}), aligned.counts.get(word, {}))
        ranked = sorted(shares.items(), key=lambda item: -item[1])
        following = [share for _, share in ranked[1:]] + [0.0]
        for rank, ((t, share), after) in enumerate(zip(ranked[:k], following, strict=False), 1):
            pairs.append((word, t))
            numbers.append((share, rank, share - after))
    scores, ranks, margins = np.array(numbers, dtype=np.float64).reshape(-1, 3).T
    return InducedDictionary(
        induced.source, induced.target, tuple(pairs), scores, ranks.astype(np.int64), margins
    )


def _shares(scores: Mapping[str, float], counts: Mapping[str, float]) -> dict[str, float]:
    """The probability of each translation of one word."""
    total = sum(counts.values())
    weight = PRIOR_LINKS if scores else 0.0
    shares = {t: count / (total + weight) for t, count in counts.items()}
    if scores:
        best = max(scores.values())
        likely = {t: np.exp((score - best) / TEMPERATURE) for t, score in scores.items()}
        norm = sum(likely.values())
        for t, one in likely.items():
            shares[t] = shares.get(t, 0.0) + weight / (total + weight) * float(one / norm)
    return shares
