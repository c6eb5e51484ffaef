"""Vectors on a shelf are found under their numbers, whatever came and went before."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from isogloss.events.cluster import Vector
from isogloss.events.link._vector_tables import VectorTable


def read(shelf: VectorTable, number: int) -> list[int]:
    row = shelf.table[number % len(shelf.table)] - 1
    assert shelf.owners[row] == number
    return shelf.ids[row, : shelf.lengths[row]].tolist()


def test_vectors_come_and_go_in_bounded_room() -> None:
    rng, shelf, kept = np.random.default_rng(3), VectorTable(), deque([1])
    shelf.put(1, Vector(np.array([5], dtype=np.int32), np.ones(1)))
    for number in range(2, 3000):
        ids = np.full(rng.integers(1, 40), number, dtype=np.int32)
        shelf.put(number, Vector(ids, np.ones(len(ids))))
        kept.append(number)
        if len(kept) > 100:
            kept.rotate(-1)
            shelf.take(kept.popleft())
            kept.rotate(1)
        assert read(shelf, number)[0] == number
    assert read(shelf, 1) == [5]
    assert all(read(shelf, one)[0] == one for one in list(kept)[1:])
    assert len(shelf) == len(kept) == 100
    assert len(shelf.owners) == 128


def test_groups_stay_with_their_vectors() -> None:
    shelf = VectorTable()
    for number in range(1, 201):
        shelf.put(number, Vector(np.array([number], dtype=np.int32), np.ones(1)), group=number % 7)
    shelf.take(50)
    numbers = np.setdiff1d(np.arange(1, 201, dtype=np.int32), [50]).astype(np.int32)
    assert np.array_equal(shelf.groups[shelf.rows(numbers)], numbers % 7)
    with pytest.raises(KeyError, match="no vector 50"):
        shelf.rows(np.array([49, 50], dtype=np.int32))
    for gone in (50, 49 + len(shelf.table)):
        with pytest.raises(KeyError, match=f"no vector {gone};"):
            shelf.take(gone)
