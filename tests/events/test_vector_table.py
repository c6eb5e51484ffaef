"""Vectors on a table are found under their numbers, whatever came and went before."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from isogloss.events.cluster import Vector
from isogloss.events.link._vector_tables import VectorTable


def read(table: VectorTable, number: int) -> list[int]:
    row = table.table[number % len(table.table)] - 1
    assert table.owners[row] == number
    return table.ids[row, : table.lengths[row]].tolist()


def test_vectors_come_and_go_in_bounded_room() -> None:
    rng, table, kept = np.random.default_rng(3), VectorTable(), deque([1])
    table.add(1, Vector(np.array([5], dtype=np.int32), np.ones(1)))
    for number in range(2, 3000):
        ids = np.full(rng.integers(1, 40), number, dtype=np.int32)
        table.add(number, Vector(ids, np.ones(len(ids))))
        kept.append(number)
        if len(kept) > 100:
            kept.rotate(-1)
            table.remove(kept.popleft())
            kept.rotate(1)
        assert read(table, number)[0] == number
    assert read(table, 1) == [5]
    assert all(read(table, one)[0] == one for one in list(kept)[1:])
    assert len(table) == len(kept) == 100
    assert len(table.owners) == 128


def test_groups_stay_with_their_vectors() -> None:
    table = VectorTable()
    for number in range(1, 201):
        table.add(number, Vector(np.array([number], dtype=np.int32), np.ones(1)), group=number % 7)
    table.remove(50)
    numbers = np.setdiff1d(np.arange(1, 201, dtype=np.int32), [50]).astype(np.int32)
    assert np.array_equal(table.groups[table.rows(numbers)], numbers % 7)
    with pytest.raises(KeyError, match="no vector 50"):
        table.rows(np.array([49, 50], dtype=np.int32))
    for gone in (50, 49 + len(table.table)):
        with pytest.raises(KeyError, match=f"no vector {gone};"):
            table.remove(gone)
