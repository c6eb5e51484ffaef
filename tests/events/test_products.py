"""Inner dot_products of many vectors at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.events.cluster import Vector, dot_products
from isogloss.events.cluster._vectors import EMPTY_VECTOR, dot_product
from isogloss.kernels import dot_each
from tests.events.test_cluster_kernels import SIZE, VECTORS
from tests.oracles import postings as twin


def test_many_are_those_one_by_one():
    rng = np.random.default_rng(5)

    def vector():
        ids = np.unique(rng.integers(60, size=rng.integers(1, 40))).astype(np.int32)
        return Vector(ids, rng.random(len(ids)))

    one, others = vector(), [EMPTY_VECTOR, *(vector() for _ in range(50))]
    assert dot_products(one, others) == [dot_product(one, other) for other in others]
    dense = np.zeros((51, 60))
    for row, other in zip(dense, others, strict=True):
        row[other.ids] = other.weights
    np.testing.assert_allclose(dot_products(one, others), dense[:, one.ids] @ one.weights)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="lengths differ"):
        dot_each(*EMPTY_VECTOR, [EMPTY_VECTOR], np.empty(2))


@given(one=VECTORS, others=st.lists(VECTORS, max_size=6))
def test_products_are_those_of_the_twin(one, others):
    assert (
        dot_products(Vector(*one), [Vector(*other) for other in others])
        == twin.dot_each(one, others, SIZE).tolist()
    )
