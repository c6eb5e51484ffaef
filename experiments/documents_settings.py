"""Three settings in which documents look for their other versions, with the same texts for every method.

* 'strict': whole pages;
* 'halves': the first half of a page has to find the second half of its translation;
* 'apart': whole pages, and in training no page has a language of each of two groups, so that pairs across
  them have no common document.

A fifth of the pages, the same for all seeds, is there to learn weights of channels from; another fifth, drawn
anew for each seed, is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.documents_data import Texts, chosen, halves, keep_apart, parts
from isogloss.similarity import UniversalEncoder
from isogloss.similarity.models import unit_rows
from isogloss.text import Tokeniser

GROUPS = (("de", "cs"), ("es", "el"))
ACROSS = [pair for a in GROUPS[0] for b in GROUPS[1] for pair in ((a, b), (b, a))]
# Rows that weights of channels are learned from.
WEIGHING = 100

Pairs = dict[tuple[str, str], float]


class Setting(NamedTuple):
    """What is learned from, what weights are learned from, what asks and what is to be found."""

    train: Texts
    valid: Texts
    queries: Texts
    targets: Texts | None


def settings(texts: Texts, seed: int, weighing: int | None = WEIGHING) -> dict[str, Setting]:
    """The three settings by their names; with None, weights are learned from all rows set aside for them."""
    rows = parts(len(next(iter(texts.values()))), seed)
    some = rows.valid[:weighing]
    train, valid, test = chosen(texts, rows.train), chosen(texts, some), chosen(texts, rows.test)
    return {
        "strict": Setting(train, valid, test, None),
        "halves": Setting(train, _joined(*halves(texts, some)), *halves(texts, rows.test)),
        "apart": Setting(keep_apart(train, GROUPS, seed), valid, test, None),
    }


def _joined(first: Texts, second: Texts) -> Texts:
    """First halves of every other language, second halves of the rest: mates that are not copies."""
    return {name: (first if number % 2 else second)[name] for number, name in enumerate(first)}


def without_shared(texts: Texts) -> Texts:
    """The words of each text that no other language has, in their order."""
    words = {
        code: [None if text is None else Tokeniser(code)(text) for text in column]
        for code, column in texts.items()
    }
    known = {code: {word for one in column if one for word in one} for code, column in words.items()}
    languages = Counter(word for vocabulary in known.values() for word in vocabulary)
    return {
        code: [
            None if one is None else " ".join(word for word in one if languages[word] == 1) for one in column
        ]
        for code, column in words.items()
    }


def presence(texts: Texts) -> NDArray[np.bool_]:
    """Which row has which language."""
    return np.array([[text is not None for text in column] for column in texts.values()]).T


def there(texts: Texts) -> dict[str, list[str]]:
    """The texts that are there."""
    return {code: [text for text in column if text is not None] for code, column in texts.items()}


class Remembered:
    """Anything that projects texts, asked once for each list of them."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._known: dict[tuple[str, tuple[str, ...]], Any] = {}

    def project(self, texts: list[str], lang: str) -> Any:
        """What the model gives."""
        key = lang, tuple(texts)
        if key not in self._known:
            self._known[key] = self.model.project(texts, lang)
        return self._known[key]


class RememberingEncoder:
    """The universal sentence encoder, which reads each text once."""

    dimension = UniversalEncoder.dimension
    languages = UniversalEncoder.languages

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def encode(self, texts: Sequence[str], lang: str) -> Any:
        """Vectors of length one."""
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        self._known.update(zip(new, UniversalEncoder().encode(new, lang), strict=True))
        return np.array([self._known[text] for text in texts]).reshape(-1, self.dimension)


class Leading(NamedTuple):
    """The first components of a model, which are a model of that size."""

    model: Any
    size: int

    def project(self, texts: list[str], lang: str) -> Any:
        """Points of length one."""
        return unit_rows(self.model.project(texts, lang)[:, : self.size])
