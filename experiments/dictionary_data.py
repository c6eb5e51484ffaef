"""What the experiments on dictionaries share: their data, splits, and means with errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from isogloss.lexicon import BilingualDictionary, Evaluation, WordVectors, read_dictionary, read_vectors

LANGUAGES = ("en", "de", "fr", "it", "es")
VECTORS = "vectors/trained"
NOT_THE_PAPERS = (
    "**These are not the paper's vectors.** The paper used fastText vectors of Wikipedia (300 dimensions, "
    "200,000 words); here are small ones (150 dimensions, 10,000 words), trained on a few million tokens. "
    "Figures compare methods with each other, not with the paper."
)
Direction = tuple[str, str]


class Split(NamedTuple):
    """Dictionaries to learn from, and one to ask from in each direction."""

    train: list[BilingualDictionary]
    ask: dict[Direction, BilingualDictionary]

    @property
    def held(self) -> list[BilingualDictionary]:
        """All pairs that are asked for: no row of a model may hold both words of one."""
        return list(self.ask.values())


def load_vectors(folder: Path, languages: Sequence[str], limit: int | None = None) -> dict[str, WordVectors]:
    """The vectors of some languages."""
    return {name: read_vectors(folder / VECTORS / f"{name}.npz", name, limit=limit) for name in languages}


def load_dictionaries(folder: Path, languages: Sequence[str], split: str) -> list[BilingualDictionary]:
    """Every dictionary between two of the languages, one part of it."""
    paths = sorted((folder / "lexicon" / "muse").glob("*-*.tsv.gz"))
    pairs = [(path, path.name.partition(".")[0].split("-")) for path in paths]
    return [read_dictionary(path, *pair, split=split) for path, pair in pairs if set(pair) <= set(languages)]


def validation_split(train: Sequence[BilingualDictionary], share: float = 0.2) -> Split:
    """Ask for a part of the training words; the rest is learned from."""
    parts = [one.split(share) for one in train]
    return Split([part[0] for part in parts], _directions([part[1] for part in parts]))


def test_split(train: Sequence[BilingualDictionary], test: Sequence[BilingualDictionary]) -> Split:
    """Ask for the test words; all training words are learned from."""
    return Split(list(train), _directions(test))


def mean_precision(results: Mapping[Direction, Evaluation], k: int = 1) -> tuple[float, float]:
    """Mean over directions, and its standard error over queries, in per cent."""
    errors = [one.standard_error(k) for one in results.values()]
    mean = float(np.mean([one.precision(k) for one in results.values()]))
    return 100 * mean, 100 * float(np.sqrt(np.sum(np.square(errors)))) / len(errors)


def mean_difference(
    first: Mapping[Direction, Evaluation], second: Mapping[Direction, Evaluation]
) -> tuple[float, float]:
    """Mean difference of precision over directions and its standard error, queries paired, in per cent."""
    means, errors = [], []
    for direction, one in first.items():
        other = second[direction]
        if one.query_words != other.query_words:
            raise ValueError(f"{direction}: the two were asked for different words")
        gap = (one.ranks == 1).astype(float) - (other.ranks == 1)
        means.append(gap.mean())
        errors.append(gap.std() / np.sqrt(len(gap)))
    return 100 * float(np.mean(means)), 100 * float(np.sqrt(np.sum(np.square(errors)))) / len(errors)


def _directions(dictionaries: Sequence[BilingualDictionary]) -> dict[Direction, BilingualDictionary]:
    """Both directions of every dictionary; one that has a file of its own is asked from that."""
    own = {(one.source, one.target): one for one in dictionaries}
    return {(one.target, one.source): one.inverse() for one in dictionaries} | own
