"""Dynamic programming over beads, and the words of sentences, against slow versions."""

import numpy as np
import pytest

from isogloss.alignment.sentences._bands import LatticeBand
from isogloss.alignment.sentences._beads import KINDS
from isogloss.kernels import Beads, explain_sentences
from tests.oracles import beads as oracle


def make_model(rng, n, m, *, words=True):
    band = LatticeBand.full(n, m)
    lengths = [np.cumsum(rng.uniform(5, 90, (size, 3)), axis=1) for size in (n, m)]
    cells = (band.size, 3) if words else (0, 3)
    return {
        "starts": band.starts,
        "stops": band.stops,
        "cells": band.cells,
        "kinds": KINDS,
        "log_kinds": np.log(rng.dirichlet(np.ones(len(KINDS)))),
        "source_lengths": np.log(lengths[0]),
        "precisions": rng.uniform(1, 20, (n, 3)),
        "target_lengths": np.log(lengths[1]),
        "backgrounds": rng.uniform(-1, 1, (m, 3)),
        "log_ratio": 0.1,
        "floor": 0.02,
        "forward": rng.normal(size=cells).astype(np.float32),
        "backward": rng.normal(size=cells).astype(np.float32),
        "source_ends": rng.integers(0, 2, n).astype(np.uint8),
        "target_ends": rng.integers(0, 2, m).astype(np.uint8),
        "paragraphs": rng.normal(size=4),
    }


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 4), (5, 4), (1, 3), (0, 2), (2, 0)])
@pytest.mark.parametrize("words", [True, False])
def test_best_path_and_posteriors_are_those_of_all_paths(rng, n, m, words):
    model = make_model(rng, n, m, words=words)
    paths = oracle.all_paths(model, n, m)
    scores = np.array([score for score, _ in paths])
    kernel = Beads(**model)
    path, score = kernel.best()
    assert tuple(path) == max(paths)[1]
    assert score == pytest.approx(scores.max(), abs=1e-5)
    posteriors, counts, total = kernel.posteriors(path)
    assert total == pytest.approx(np.logaddexp.reduce(scores), abs=1e-5)
    weights = np.exp(scores - total)
    wanted = np.zeros(len(KINDS))
    on_path = np.zeros(len(path))
    ends = np.cumsum(KINDS[path], axis=0).tolist()
    for weight, (_, kinds) in zip(weights, paths, strict=True):
        wanted += weight * np.bincount(np.array(kinds, int), minlength=len(KINDS))
        steps = list(zip(kinds, np.cumsum(KINDS[np.array(kinds, int)], axis=0).tolist(), strict=True))
        on_path += [weight * ((kind, end) in steps) for kind, end in zip(path, ends, strict=True)]
    np.testing.assert_allclose(counts, wanted, atol=1e-5)
    np.testing.assert_allclose(posteriors, on_path, atol=1e-5)


def test_a_wide_enough_band_changes_nothing_and_a_narrow_one_is_kept(rng):
    model = make_model(rng, 6, 6, words=False)
    whole = Beads(**model).best()
    band = LatticeBand.of(np.arange(7) - 1, np.arange(7) + 1, 6)
    narrow = model | {"starts": band.starts, "stops": band.stops, "cells": band.cells}
    path, score = Beads(**narrow).best()
    assert score <= whole[1]
    ends = np.cumsum(KINDS[path], axis=0)
    assert ends[-1].tolist() == [6, 6]
    assert (abs(ends[:, 0] - ends[:, 1]) <= 1).all()


@pytest.mark.parametrize("backward", [False, True])
def test_explained_words_are_those_of_the_slow_version(rng, backward):
    counts = rng.integers(0, 5, 4), rng.integers(0, 5, 6)
    offsets = [np.append(0, np.cumsum(c)).astype(np.int64) for c in counts]
    words = [rng.integers(-1, 7, o[-1]).astype(np.int32) for o in offsets]
    dense = rng.uniform(0, 9, (7, 7)) * (rng.uniform(size=(7, 7)) < 0.4)
    rows = np.append(0, np.cumsum((dense > 0).sum(axis=1))).astype(np.int64)
    columns, ratios = np.nonzero(dense)[1].astype(np.int32), dense[dense > 0].astype(np.float32)
    band = LatticeBand.of(np.array([0, 0, 1, 2, 3]), np.array([3, 3, 4, 6, 6]), 6)
    out = np.full((band.size, 3), np.nan, np.float32)
    one, two = (1, 0) if backward else (0, 1)
    explain_sentences(
        words[one], offsets[one], words[two], offsets[two], rows, columns, ratios, 7, 0.2,
        band.starts, band.stops, band.cells, backward, out,
    )  # fmt: skip
    for i in range(4):
        for j in range(band.starts[i], min(band.stops[i], 6)):
            for k in range(3):
                first, second = (j, i) if backward else (i, j)
                last = min(first + k + 1, len(counts[one]))
                beside = words[one][offsets[one][first] : offsets[one][last]]
                explained = words[two][offsets[two][second] : offsets[two][second + 1]]
                wanted = oracle.explain(beside, explained, rows, columns, ratios, 0.2)
                got = out[band.cells[i] + j - band.starts[i], k]
                assert got == pytest.approx(wanted, abs=1e-4), (i, j, k)


def test_shapes_that_do_not_fit_are_refused(rng):
    model = make_model(rng, 3, 3)
    with pytest.raises(ValueError, match="shapes differ"):
        Beads(**model | {"source_ends": np.zeros(2, np.uint8)})
    with pytest.raises(ValueError, match="no band"):
        Beads(**model | {"starts": np.array([0, 2, 1, 0])})
