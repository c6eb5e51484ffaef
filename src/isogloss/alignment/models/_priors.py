"""Prior counts of translations, jumps and fertilities.

A dictionary, or a model of related text, has seen things that a small text cannot teach. They enter as
pseudo-counts: as if they had been counted in the text at hand, besides what is counted there. A count that is
large beside those of the text decides; a small one only tips the balance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment._bitext import BothForms, source_and_target
from isogloss.alignment.models._jumps import UNIFORM_WEIGHT, jump_shape
from isogloss.alignment.models._steps import DIRECTIONS

Array = NDArray[np.float64]

LexiconRow: TypeAlias = tuple[str, str, float]
"""Source word, target word, count."""

JumpRow: TypeAlias = tuple[str, str, str, int, float]
"""Direction, origin (``word``, ``other`` words or ``start``), the word if it is one, width, count."""

FertilityRow: TypeAlias = tuple[str, str, int, float]
"""Direction, word, how many words it generated, count."""

ORIGINS = ("word", "other", "start")
"""From where a jump goes: a frequent word, any other word, or before the first word of a sentence."""


class Counted(Protocol):
    """A fitted aligner, as far as its counts go."""

    fertility_: object | None

    @property
    def translation_table_(self) -> list[tuple[str, str, float, float, float]]: ...

    @property
    def jump_table_(self) -> list[JumpRow]: ...

    @property
    def fertility_table_(self) -> list[FertilityRow]: ...


@dataclasses.dataclass(frozen=True)
class Priors:
    """Pseudo-counts for an :class:`~isogloss.alignment.Aligner`, kept as columns.

    Make one with :meth:`from_rows`, from files with :func:`~isogloss.alignment.read_priors`, or
    from a fitted aligner with :meth:`of`.

    Parameters
    ----------
    lexicon : three lists
        Source words, target words, counts.
    jumps : five lists
        Directions, origins, words, widths, counts. Forward, a jump is one between the source words that
        generate neighbouring target words; backward the other way round.
    fertility : four lists
        Directions, words, numbers of words generated, counts. Forward, source words generate target words.

    Examples
    --------
    >>> known = Priors.from_rows(lexicon=[("dog", "perro", 5.0)], jumps=[("forward", "other", "", 1, 20.0)])
    >>> known.lexicon
    (['dog'], ['perro'], [5.0])
    """

    lexicon: tuple[list[Any], ...] = ((), (), ())  # type: ignore[assignment]
    jumps: tuple[list[Any], ...] = ((), (), (), (), ())  # type: ignore[assignment]
    fertility: tuple[list[Any], ...] = ((), (), (), ())  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name, width in (("lexicon", 3), ("jumps", 5), ("fertility", 4)):
            columns = getattr(self, name)
            if len(columns) != width or len({len(column) for column in columns}) != 1:
                raise ValueError(
                    f"{name}: expected {width} columns of one length; Priors.from_rows takes rows"
                )
            if not all(0 <= count < np.inf for count in columns[-1]):
                raise ValueError(f"{name}: a count that is negative or not finite; expected 0 or more")
        _check_words("jumps", self.jumps[0], DIRECTIONS)
        _check_words("fertility", self.fertility[0], DIRECTIONS)
        _check_words("jumps", self.jumps[1], ORIGINS)
        if min(self.fertility[2], default=0) < 0:
            raise ValueError("fertility: a word that generates fewer than 0 words")

    @classmethod
    def from_rows(
        cls,
        lexicon: Iterable[LexiconRow] = (),
        jumps: Iterable[JumpRow] = (),
        fertility: Iterable[FertilityRow] = (),
    ) -> Priors:
        """From rows such as the tables of a fitted aligner have."""
        return cls(_columns(lexicon, 3), _columns(jumps, 5), _columns(fertility, 4))

    @classmethod
    def of(cls, aligner: Counted) -> Priors:
        """Return the counts of a fitted aligner."""
        lexicon = [(e, f, count) for e, f, _, _, count in aligner.translation_table_]
        fertility = [] if aligner.fertility_ is None else aligner.fertility_table_
        return cls.from_rows(lexicon, aligner.jump_table_, fertility)

    def scaled(self, weight: float) -> Priors:
        """The same with every count multiplied by ``weight``."""
        lexicon, jumps, fertility = (
            (*columns[:-1], [weight * count for count in columns[-1]])
            for columns in (self.lexicon, self.jumps, self.fertility)
        )
        return Priors(lexicon, jumps, fertility)

    @property
    def translations(self) -> list[LexiconRow]:
        """The rows of the lexicon."""
        return list(zip(*self.lexicon, strict=True))

    def in_forms(self, forms: BothForms) -> Priors:
        """The same with words as the statistics see them."""
        source, target = source_and_target(forms)
        of = dict(zip(DIRECTIONS, (source, target), strict=True))
        sources, targets, counts = self.lexicon
        jumps, fertility = list(self.jumps), list(self.fertility)
        for table, column in ((jumps, 2), (fertility, 1)):
            table[column] = [of[side](word) for side, word in zip(table[0], table[column], strict=True)]
        lexicon = [source(word) for word in sources], [target(word) for word in targets], counts
        return Priors(lexicon, tuple(jumps), tuple(fertility))

    def __bool__(self) -> bool:
        return any(columns[0] for columns in (self.lexicon, self.jumps, self.fertility))


def pseudo_jumps(
    priors: Priors,
    words: tuple[Sequence[str], Sequence[str]],
    classes: tuple[NDArray[np.int32], NDArray[np.int32]],
    reach: int,
    pseudo: float,
) -> tuple[Array, Array] | None:
    """Pseudo-jumps of each direction by class and width; None when none are known.

    Words that are not frequent enough here for a class of their own count with all others. What is known of
    all jumps together takes the place of the first guess, ``pseudo`` times in every class. Jumps wider than
    the longest sentence are left out.
    """
    if not priors.jumps[0]:
        return None
    forward, backward = (_jumps_of(priors, d, words[d], classes[d], reach, pseudo) for d in (0, 1))
    return forward, backward


def _jumps_of(
    priors: Priors, d: int, words: Sequence[str], classes: NDArray[np.int32], reach: int, pseudo: float
) -> Array:
    last = int(classes.max(initial=0))
    class_of = dict(zip(words, classes.tolist(), strict=True))
    out = np.zeros((last + 2, 2 * reach + 1))
    for direction, origin, word, width, count in zip(*priors.jumps, strict=True):
        if direction == DIRECTIONS[d] and abs(width) <= reach:
            row = last + 1 if origin == "start" else class_of.get(word, last) if origin == "word" else last
            out[row, reach + width] += count
    everywhere = out.sum(axis=0)
    even = np.full(len(everywhere), 1 / len(everywhere))
    total = everywhere.sum()
    shape = (
        (1 - UNIFORM_WEIGHT) * everywhere / total + UNIFORM_WEIGHT * even if total > 0 else jump_shape(reach)
    )
    return np.asarray(out + pseudo * shape)


def pseudo_fertilities(
    priors: Priors, words: tuple[Sequence[str], Sequence[str]], most: int
) -> dict[str, Array]:
    """Pseudo-counts of the fertility of every word in each direction; empty when none are known."""
    if not priors.fertility[0]:
        return {}
    out = {}
    for name, vocabulary in zip(DIRECTIONS, words, strict=True):
        number = {word: k for k, word in enumerate(vocabulary)}
        table = out[f"fertility_{name}"] = np.zeros((len(vocabulary), most + 1))
        for direction, word, born, count in zip(*priors.fertility, strict=True):
            if direction == name and word in number:
                table[number[word], min(born, most)] += count
    return out


def _columns(rows: Iterable[Any], width: int) -> tuple[list[Any], ...]:
    columns = tuple(map(list, zip(*rows, strict=True)))
    return columns or tuple([] for _ in range(width))


def _check_words(what: str, found: Sequence[str], expected: Sequence[str]) -> None:
    for word in set(found) - set(expected):
        raise ValueError(f"{what}: {word!r}; expected one of {', '.join(expected)}")
