"""Word classes by exchange clustering."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.alignment import Bitext, exchange_classes
from isogloss.alignment.models._classes import exchange_trace
from tests.oracles.fertility import class_bigram_objective, exchange

texts = st.lists(st.text(alphabet="abcde", max_size=6), min_size=1, max_size=6)


def side(lines):
    return Bitext.from_pairs([(list(line), "") for line in lines]).source


@given(lines=texts, n_classes=st.integers(1, 4))
def test_classes_are_those_of_the_slow_twin_and_the_objective_never_falls(lines, n_classes):
    sentences = side(lines)
    classes, objective = exchange_trace(sentences, n_classes, 3)
    counts = np.bincount(sentences.words, minlength=len(sentences.vocabulary))
    order = np.argsort(-counts, kind="stable")
    first = np.empty(len(order), dtype=int)
    first[order] = np.arange(len(order)) % n_classes
    slow, trace = exchange(sentences, first, n_classes, order, len(objective) - 1)
    np.testing.assert_allclose(objective, trace, atol=1e-9)
    assert min(np.diff(objective), default=0.0) >= -1e-9
    assert objective[-1] == pytest.approx(class_bigram_objective(sentences, classes), abs=1e-9)
    assert classes.tolist() == slow


def test_planted_classes_are_found(rng):
    n_classes, per_class = 6, 12
    follows = np.roll(np.eye(n_classes), 1, axis=1) * 0.9 + 0.1 / n_classes
    lines = []
    for _ in range(1500):
        c, line = int(rng.integers(n_classes)), []
        for _ in range(10):
            line.append(f"c{c}w{rng.integers(per_class)}")
            c = int(rng.choice(n_classes, p=follows[c]))
        lines.append(line)
    sentences = Bitext.from_pairs([(line, "") for line in lines]).source
    classes = exchange_classes(sentences, n_classes)
    planted = np.array([int(word[1]) for word in sentences.vocabulary.words])
    table = np.zeros((n_classes, n_classes))
    np.add.at(table, (planted, classes), 1)
    assert table.max(axis=1).sum() >= 0.95 * len(planted)


def test_no_words_no_bigrams_and_bad_numbers():
    assert exchange_classes(side([""]), 3).tolist() == []
    assert exchange_classes(side(["a", "b"]), 1).tolist() == [0, 0]
    with pytest.raises(ValueError, match="at least 1 class"):
        exchange_classes(side(["ab"]), 0)
