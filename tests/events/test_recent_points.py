"""The nearest of the latest points are those of the definition, within reach and no further."""

from __future__ import annotations

import numpy as np
import pytest

from isogloss.events.link._vector_tables import RecentPoints


@pytest.mark.parametrize("dims", [6, 50])
def test_the_nearest_of_each_language_are_those_of_the_definition(dims: int) -> None:
    rng = np.random.default_rng(4)
    drawn = (rng.standard_normal((300, dims)) + 0.5).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    points, languages = RecentPoints(dims, capacity=120), rng.choice(["de", "en"], 300)
    for number, (point, lang) in enumerate(zip(drawn, languages, strict=True), 1):
        points.add(number, lang, point)
        points.remove(number - 7 if number % 3 else 0)
    gone = {number - 7 for number in range(8, 301) if number % 3}
    for query in drawn[:20]:
        expected = []
        for lang in ("de", "en"):
            near = [
                (-float(drawn[n - 1].astype(float) @ query.astype(float)), n)
                for n in range(181, 301)
                if n not in gone and languages[n - 1] == lang
            ]
            expected += [n for score, n in sorted(near)[:4] if -score >= 0.3]
        assert points.nearest(query, 4, min_similarity=0.3) == sorted(expected)


def test_what_is_out_of_reach_is_not_found_even_if_nothing_took_its_place() -> None:
    points, point = RecentPoints(2, capacity=4), np.array([1, 0], dtype=np.float32)
    points.add(1, "en", point)
    points.last = 4
    assert points.nearest(point, 3, min_similarity=0.5) == [1]
    points.last = 5
    assert points.nearest(point, 3, min_similarity=0.5) == []


def test_what_is_as_near_as_asked_for_is_found_however_it_is_rounded() -> None:
    rng = np.random.default_rng(9)
    drawn = rng.standard_normal((200, 37)).astype(np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    points = RecentPoints(37, capacity=256)
    for number, point in enumerate(drawn, 1):
        points.add(number, "en", point)
    lanes = np.zeros((200, 48))
    lanes[:, :37] = drawn.astype(float) * drawn[0].astype(float)
    scores = lanes.reshape(200, 3, 16).sum(axis=1)
    while scores.shape[1] > 1:
        scores = scores[:, : scores.shape[1] // 2] + scores[:, scores.shape[1] // 2 :]
    for number, score in enumerate(scores[:, 0].tolist(), 1):
        assert number in points.nearest(drawn[0], 200, min_similarity=score)
        assert number not in points.nearest(drawn[0], 200, min_similarity=np.nextafter(score, 2))
