"""Sequences of symbols as codes, many behind one another, with what is known of their states."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MISSING = (None, -1)


@dataclasses.dataclass(frozen=True)
class Sequences:
    """Sequences of codes, stored behind one another.

    Parameters
    ----------
    codes : array of int32, shape (n,)
        The symbols of all sequences; -1 where a symbol is missing.
    offsets : array of int64, shape (n_sequences + 1,)
        Where each sequence begins, and the end.
    labels : array of int32, shape (n,) or (0,)
        Known states, -1 where a state is not known; empty where none is.
    weights : array, shape (n_sequences,), optional
        How often each sequence counts; once by default.

    Examples
    --------
    >>> two = Sequences.from_lengths([0, 1, 1, 0, -1], [3, 2])
    >>> len(two), two.tokens, two[1:].codes
    (2, 5, array([ 0, -1], dtype=int32))
    """

    codes: NDArray[np.int32]
    offsets: NDArray[np.int64]
    labels: NDArray[np.int32] = dataclasses.field(default_factory=lambda: np.empty(0, dtype=np.int32))
    weights: NDArray[np.float64] | None = None

    @classmethod
    def from_lengths(cls, codes: ArrayLike, lengths: ArrayLike) -> Self:
        """Sequences from codes behind one another and the length of each."""
        flat, sizes = np.asarray(codes), np.asarray(lengths)
        if flat.dtype.kind not in "iu" or sizes.dtype.kind not in "iu" or sizes.ndim != 1:
            raise TypeError("codes and lengths are numbers of symbols; expected two arrays of integers")
        flat = flat.reshape(-1)
        if (sizes < 1).any() or sizes.sum() != len(flat):
            raise ValueError(
                f"lengths that sum to {sizes.sum()} for {len(flat)} codes; expected positive ones of that sum"
            )
        return cls(_as_codes(flat), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int]:
        """The number of sequences, as things with rows have it."""
        return (len(self),)

    @property
    def tokens(self) -> int:
        """Number of symbols, missing ones included."""
        return int(self.offsets[-1] - self.offsets[0])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Length of each sequence."""
        return np.diff(self.offsets)

    @property
    def effective_weights(self) -> NDArray[np.float64]:
        """The weights, ones where there are none."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def __getitem__(self, rows: slice) -> Sequences:
        """A run of sequences."""
        first, last, step = rows.indices(len(self))
        if step != 1:
            raise ValueError(f"a step of {step}; sequences are cut into runs that follow one another")
        offsets = self.offsets[first : max(last, first) + 1]
        span = slice(offsets[0], offsets[-1])
        return Sequences(
            self.codes[span],
            offsets - offsets[0],
            self.labels[span] if len(self.labels) else self.labels,
            None if self.weights is None else self.weights[rows],
        )

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Values of every place, one array per sequence."""
        return np.split(values, self.offsets[1:-1])

    def labelled(self, labels: Any, states: Mapping[Hashable, int]) -> Sequences:
        """The same sequences with what is known of their states."""
        codes, offsets = _flat_codes(labels, states, "state", missing_if_unseen=False)
        if not np.array_equal(offsets, self.offsets):
            raise ValueError(
                "y does not fit X; expected one state, or None, for every symbol of every sequence"
            )
        return dataclasses.replace(self, labels=codes)


def encode_sequences(
    sequences: Any, symbols: Sequence[Hashable], *, unseen: str = "raise", weights: ArrayLike | None = None
) -> Sequences:
    """Sequences of symbols as codes.

    Parameters
    ----------
    sequences : iterable of sequences, array of int (n_sequences, length), or Sequences
        What was seen; None and -1 are missing symbols.
    symbols : sequence
        The symbols; each becomes its position.
    unseen : {'raise', 'missing'}
        What to do about symbols that are not among them.
    weights : array, shape (n_sequences,), optional
        How often each sequence counts.

    Examples
    --------
    >>> encode_sequences([["a", "b"], ["b", None]], ["a", "b"]).codes
    array([ 0,  1,  1, -1], dtype=int32)
    >>> encode_sequences([["a", "c"]], ["a", "b"])
    Traceback (most recent call last):
        ...
    ValueError: sequence 0 has the symbol 'c' at place 1; expected one of 'a', 'b'
    """
    if isinstance(sequences, Sequences):
        out = _checked(sequences, len(symbols))
    else:
        table = {symbol: code for code, symbol in enumerate(symbols)}
        out = Sequences(*_flat_codes(sequences, table, "symbol", missing_if_unseen=unseen == "missing"))
    return out if weights is None else dataclasses.replace(out, weights=_as_weights(weights, len(out)))


def symbols_of(sequences: Any) -> tuple[Hashable, ...]:
    """The different symbols in order; those of codes are all numbers up to the largest.

    Examples
    --------
    >>> symbols_of([["b", "a", None], ["c"]])
    ('a', 'b', 'c')
    """
    if isinstance(sequences, Sequences):
        return tuple(range(int(sequences.codes.max(initial=-1)) + 1))
    found: set[Hashable] = set()
    for sequence in sequences:
        found.update(_plain(sequence))
    found.difference_update(_MISSING)
    return tuple(sorted(found, key=lambda symbol: (type(symbol).__name__, symbol)))


def _flat_codes(
    sequences: Any, table: Mapping[Hashable, int], kind: str, *, missing_if_unseen: bool
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    known: dict[Hashable, int] = {**table}
    known |= dict.fromkeys(_MISSING, -1)
    parts: list[NDArray[np.int32]] = []
    for number, sequence in enumerate(sequences):
        items = _plain(sequence)
        if not len(items):
            raise ValueError(f"sequence {number} is empty; leave it out")
        try:
            codes = [known[item] for item in items]
        except (KeyError, TypeError):
            if not missing_if_unseen:
                raise _unknown(items, known, number, kind) from None
            codes = [known.get(item, -1) for item in items]
        parts.append(np.array(codes, dtype=np.int32))
    if not parts:
        raise ValueError("no sequences; expected at least one")
    lengths = [len(part) for part in parts]
    return np.concatenate(parts), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _plain(sequence: Any) -> Sequence[Any]:
    """A sequence as plain Python objects, whose hashes and names are what people expect."""
    if isinstance(sequence, str):
        raise TypeError(f"got the text {sequence[:20]!r} as a sequence; expected its symbols: list(text)")
    if not isinstance(sequence, (Iterable, np.ndarray)):
        raise TypeError(f"got {sequence!r:.40} as a sequence; expected a list of sequences of symbols")
    items = sequence.tolist() if isinstance(sequence, np.ndarray) else list(sequence)
    if items and isinstance(items[0], list):
        raise TypeError("got a table as a sequence; expected symbols, one after the other")
    return items


def _unknown(items: Sequence[Any], known: Mapping[Hashable, int], number: int, kind: str) -> ValueError:
    place = next(i for i, item in enumerate(items) if not isinstance(item, Hashable) or item not in known)
    names = [repr(name) for name in known if name not in _MISSING]
    listed = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return ValueError(
        f"sequence {number} has the {kind} {items[place]!r:.40} at place {place}; expected one of {listed}"
    )


def _checked(sequences: Sequences, n_symbols: int) -> Sequences:
    if len(sequences) < 1 or (sequences.lengths < 1).any():
        raise ValueError("an empty sequence, or none at all; expected at least one symbol in each")
    codes = sequences.codes
    if codes.min() < -1 or codes.max() >= n_symbols:
        raise ValueError(
            f"codes from {codes.min()} to {codes.max()}; expected -1 (missing) to {n_symbols - 1}"
        )
    return sequences


def _as_codes(flat: NDArray[Any]) -> NDArray[np.int32]:
    if len(flat) and (flat.min() < -1 or flat.max() >= 2**31):
        raise ValueError(f"codes from {flat.min()} to {flat.max()}; expected -1 (missing) or more")
    return np.ascontiguousarray(flat, dtype=np.int32)


def _as_weights(weights: ArrayLike, n: int) -> NDArray[np.float64]:
    out = np.ascontiguousarray(weights, dtype=np.float64)
    if out.shape != (n,):
        raise ValueError(f"weights of shape {out.shape}; expected one for each of {n} sequences")
    if not np.isfinite(out).all() or (out < 0).any() or not out.sum() > 0:
        raise ValueError("weights must be finite and not negative, and one of them above zero")
    return out
