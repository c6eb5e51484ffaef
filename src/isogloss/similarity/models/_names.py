"""Names, numbers, dates and places: what documents share across languages without anything being learned.

A name is written nearly alike in most languages once its letters are Latin, so every word is transliterated
and cut into sequences of letters; a number is its digits however they are grouped, and 31.12.1999, 1999-12-31
and 12/31/1999 are one date. Places are those that a gazetteer finds, so that Wien, Bécs and Вена are one, and
a city is a mention of its country too. Features are hashed, so there is no vocabulary, and a new language
needs nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from anyascii import anyascii
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize

from isogloss._estimator import NON_NEGATIVE, POSITIVE_INT, Constraints, Estimator
from isogloss.linalg import check_count
from isogloss.text import Gazetteer, check_text

_DATE = re.compile(r"(?<!\d)(\d{1,4})([./-])(\d{1,2})\2(\d{2,4})(?!\d)")
_NUMBER = re.compile(r"\d+(?:[.,'\u00a0\u202f]\d+)*")
_LATIN_WORD = re.compile(r"[a-z]+")
_CHANNEL_OF_MENTION = {"number": "numbers", "date": "dates", "place": "places", "country": "places"}
_LIKELY = 0.4
"""Weight of a mention that counts: a city, even where it may be part of a longer name."""


class Shared(NamedTuple):
    """Why two texts are similar by names.

    Attributes
    ----------
    similarity : float
        The cosine of the two texts, the sum of the next four.
    letters, numbers, dates, places : float
        What sequences of letters, numbers, dates and places add to it.
    both : tuple of str
        Numbers, dates and places that are in both texts, what adds most first: ``number 17``,
        ``date 99 12 31``, ``place London``, ``country GB``.
    """

    similarity: float
    letters: float
    numbers: float
    dates: float
    places: float
    both: tuple[str, ...]


class NameChannel(Estimator):
    """Sparse vectors of transliterated letters, numbers, dates and places; cosines compare any two languages.

    Parameters
    ----------
    ngrams : (int, int)
        Shortest and longest sequence of letters; words have a blank at either end.
    number_weight : float
        How much more a number or date counts than a sequence of letters.
    places : bool
        Whether places count, as :class:`~isogloss.text.Gazetteer` finds them. It needs the extra
        ``isogloss[places]``, and so does whoever loads a channel that was made with it. Texts then need
        their language.
    place_weight : float
        How much more a place counts than a sequence of letters.
    n_features : int
        Columns that features are hashed to, a power of two.

    Attributes
    ----------
    idf_ : array (n_features,)
        After :meth:`fit`: the weight of each column, the logarithm of how rare it is.

    Notes
    -----
    It works unfitted, with all sequences counting alike. Fitted on texts of any languages, mates or not, it
    knows which sequences are endings of common words, and finds more.

    Examples
    --------
    >>> en, ru, el = "Angela Merkel, 31.12.1999", "Ангела Меркель, 1999-12-31", "Η Σελήνη"
    >>> vectors = NameChannel().transform([en, ru, el])
    >>> (vectors @ vectors.T).toarray()[0].round(2)
    array([1., 1., 0.])
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "ngrams": [tuple, list],
        "number_weight": [NON_NEGATIVE],
        "places": ["boolean"],
        "place_weight": [NON_NEGATIVE],
        "n_features": [POSITIVE_INT],
    }

    idf_: NDArray[np.float64]

    def __init__(
        self,
        ngrams: tuple[int, int] = (3, 5),
        *,
        number_weight: float = 3.0,
        places: bool = False,
        place_weight: float = 3.0,
        n_features: int = 1 << 18,
    ) -> None:
        self.ngrams = ngrams
        self.number_weight = number_weight
        self.places = places
        self.place_weight = place_weight
        self.n_features = n_features

    def fit(self, texts: Iterable[str], y: object = None, *, lang: str | Sequence[str] | None = None) -> Self:
        """Learn how rare features are, from texts of the kind that will be compared.

        Parameters
        ----------
        texts : iterable of str
            Texts of one or more languages.
        y : None
            Not used.
        lang : str or sequence of str, optional
            Their language, or that of each; needed with ``places=True``.
        """
        self._validate_params()
        counts = self._counts(texts, lang)
        df = np.bincount(counts.indices, minlength=self.n_features)
        self.idf_ = np.log((1 + counts.shape[0]) / (1 + df)) + 1e-3
        return self

    def transform(self, texts: Iterable[str], lang: str | Sequence[str] | None = None) -> sparse.csr_matrix:
        """Vectors of length one, a row for each text; of length zero without any letter or digit.

        The language, or that of each text, is looked at with ``places=True`` only.
        """
        counts = self._counts(texts, lang)
        counts.data = 1 + np.log(counts.data)
        if hasattr(self, "idf_"):
            counts.data *= self.idf_[counts.indices]
        return normalize(counts, copy=False) if counts.shape[0] else counts

    def project(self, texts: Iterable[str], lang: str) -> sparse.csr_matrix:
        """Project texts, as other models do."""
        return self.transform(texts, lang)

    def shared(self, text_a: str, lang_a: str, text_b: str, lang_b: str) -> Shared:
        """Why two texts are similar: the parts of their cosine, and what they have in common.

        Examples
        --------
        >>> channel = NameChannel(places=True)
        >>> found = channel.shared("17 ships left London", "en", "17 Schiffe aus London und Wien", "de")
        >>> sorted(found.both)
        ['country GB', 'number 17', 'place London']
        >>> found.dates, bool(0 < found.numbers < found.places < found.similarity < 1)
        (0.0, True)
        """
        weights_a, weights_b = (
            self._weights(text, lang) for text, lang in ((text_a, lang_a), (text_b, lang_b))
        )
        parts = {name: weights_a[name] * weights_b[name] for name in weights_a if name in weights_b}
        sums = dict.fromkeys(("letters", "numbers", "dates", "places"), 0.0)
        for feature, value in parts.items():
            sums[_kind(feature)] += value
        both = sorted((one for one in parts if _kind(one) != "letters"), key=lambda one: (-parts[one], one))
        return Shared(sum(sums.values()), **sums, both=tuple(map(_readable, both)))

    def _weights(self, text: str, lang: str) -> dict[str, float]:
        """The features of a text with their weights in its vector."""
        counts = Counter(self._features((text, self._gazetteer_language(lang))))
        names = sorted(counts)
        values = 1 + np.log([counts[name] for name in names])
        if hasattr(self, "idf_") and names:
            columns = self._hashing(lambda name: [name]).transform(names).indices
            values = values * self.idf_[columns]
        length = np.linalg.norm(values)
        return dict(zip(names, (values / length).tolist(), strict=True)) if length > 0 else {}

    def _counts(self, texts: Iterable[str], lang: str | Sequence[str] | None) -> Any:
        check_count(self.ngrams[0], "ngrams[0]", 1, self.ngrams[1], "letters of the shortest sequence")
        checked = list(_checked(texts))
        if not checked:
            return sparse.csr_matrix((0, self.n_features))
        codes = [lang] * len(checked) if lang is None or isinstance(lang, str) else lang
        documents = zip(checked, map(self._gazetteer_language, codes), strict=True)
        return sparse.csr_matrix(self._hashing(self._features).transform(documents))

    def _hashing(self, analyser: Callable[[Any], Iterable[str]]) -> HashingVectorizer:
        return HashingVectorizer(
            analyzer=analyser, n_features=self.n_features, norm=None, alternate_sign=False
        )

    def _gazetteer_language(self, lang: str | None) -> str | None:
        """The language in which places are looked for; None if they are not."""
        if not self.places:
            return None
        if lang is None:
            raise ValueError("places=True and no language given; give the language of the texts: lang='en'")
        return lang

    def _features(self, document: tuple[str, str | None]) -> Iterator[str]:
        text, lang = document
        if lang is not None:
            yield from self._place_features(text, lang)
        plain = anyascii(text).lower()
        repeats = max(1, round(self.number_weight))
        for date in _DATE.finditer(plain):
            yield from [f"date {_one_order(date)}"] * repeats
        plain = _DATE.sub(" ", plain)
        for number in _NUMBER.findall(plain):
            yield from [f"number {re.sub(r'[^0-9]', '', number).lstrip('0')}"] * repeats
        shortest, longest = self.ngrams
        for word in _LATIN_WORD.findall(plain):
            padded = f" {word} "
            for n in range(shortest, longest + 1):
                yield from (padded[i : i + n] for i in range(max(1, len(padded) - n + 1)))

    def _place_features(self, text: str, lang: str) -> Iterator[str]:
        """Each place and its country; names that more likely mean something else are left out."""
        repeats = max(1, round(self.place_weight))
        for mention in Gazetteer.default().find(text, lang):
            if mention.weight < _LIKELY:
                continue
            yield from [f"country {mention.place.country}"] * repeats
            if mention.place.kind != "country":
                yield from [f"place {mention.place.id}"] * repeats


def _checked(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        check_text(text)
        yield text


def _one_order(date: re.Match[str]) -> str:
    """Year, then the smaller and the larger of the other two, which no order of writing changes."""
    first, second, third = date[1], date[3], date[4]
    year, rest = (first, (second, third)) if len(first) > 2 else (third, (first, second))
    small, large = sorted(int(part) for part in rest)
    return f"{year[-2:]} {small} {large}"


def _kind(feature: str) -> str:
    """Return the kind of a feature; letter n-grams have blanks at their ends only."""
    word, _, rest = feature.partition(" ")
    return _CHANNEL_OF_MENTION.get(word, "letters") if rest else "letters"


def _readable(feature: str) -> str:
    """A place by its name in English in the place of its number."""
    word, _, number = feature.partition(" ")
    return f"place {_place_names()[int(number)]}" if word == "place" else feature


@cache
def _place_names() -> dict[int, str]:
    return {place.id: place.name for place in Gazetteer.default().places}
