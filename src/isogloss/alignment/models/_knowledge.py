"""Prior knowledge besides the text: spelling, dictionaries, frequent words, earlier text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment._bitext import Sentences
from isogloss.alignment.models._jumps import JUMP_SCALE
from isogloss.alignment.models._lexical import LexicalPrior
from isogloss.alignment.models._pairs import PairTable
from isogloss.alignment.models._positions import PositionLayout
from isogloss.alignment.models._spelling import likeness
from isogloss.alignment.models._steps import AlignmentParameters

Array = NDArray[np.float64]
Single = NDArray[np.float32]


def lexical_prior(
    table: PairTable,
    source: Sequence[str],
    target: Sequence[str],
    spelling: float,
    lexicon: Iterable[tuple[str, str, float]],
    each: float,
    bayes: bool,
) -> LexicalPrior:
    """Pseudo-counts from likeness of spelling and from translations known beforehand.

    Known translations whose words never meet in the text have no place in the table and are left out.
    """
    pairs = likeness(table, source, target) * np.float32(spelling) if spelling else None
    known = list(lexicon)
    if known:
        pairs = np.zeros(len(table), dtype=np.float32) if pairs is None else pairs
        at, counts = _places(table, source, target, known)
        np.add.at(pairs, at, counts)
    return LexicalPrior(pairs, each, bayes)


def word_classes(sentences: Sentences, classes: int) -> NDArray[np.int32]:
    """A class for each of the most frequent words, and the last one for all others."""
    counts = sentences.counts
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return np.minimum(rank, classes - 1).astype(np.int32)


def extend_parameters(
    p: AlignmentParameters, shape: tuple[int, int], reach: int, layout: PositionLayout | None = None
) -> AlignmentParameters:
    """Parameters for larger vocabularies, longer sentences and other pairs of lengths."""
    tables = (p.table_forward, p.table_backward)
    if layout is not None:
        tables = layout.diagonal(p.tension)
    return dataclasses.replace(
        p,
        null_forward=_longer(p.null_forward, shape[1]),
        null_backward=_longer(p.null_backward, shape[0]),
        jumps_forward=_wider(p.jumps_forward, reach),
        jumps_backward=_wider(p.jumps_backward, reach),
        table_forward=tables[0],
        table_backward=tables[1],
    )


def _longer(null: Single, n: int) -> Single:
    """New words are as likely to come from nothing as the least likely old one."""
    return np.append(null, np.full(max(n - len(null), 0), null.min(initial=1), dtype=np.float32))


def _wider(jumps: Array, reach: int) -> Array:
    """Weights of jumps wider than any that was seen fall off as the first guess does."""
    extra = reach - jumps.shape[1] // 2
    if extra <= 0:
        return jumps
    fall = np.exp(-np.arange(1, extra + 1) / JUMP_SCALE)
    return np.concatenate([jumps[:, :1] * fall[::-1], jumps, jumps[:, -1:] * fall], axis=1)


def _places(
    table: PairTable, source: Sequence[str], target: Sequence[str], known: Sequence[tuple[str, str, float]]
) -> tuple[NDArray[np.int64], Single]:
    """Positions of known pairs in the table, and their pseudo-counts."""
    e_index, f_index = ({word: k for k, word in enumerate(words)} for words in (source, target))
    rows = [(e_index[e], f_index[f], c) for e, f, c in known if e in e_index and f in f_index]
    keys = np.array([e * table.shape[1] + f for e, f, _ in rows], dtype=np.int64)
    counts = np.array([c for *_, c in rows], dtype=np.float32)
    have = table.keys(table.shape[1])
    at = np.minimum(np.searchsorted(have, keys), max(len(have) - 1, 0))
    there = have[at] == keys if len(have) else np.zeros(len(keys), dtype=bool)
    return at[there], counts[there]
