"""Topics that a text shares with many others are those that it shares with each."""

import numpy as np
import pytest

pytest.importorskip("fastapi")

from isogloss.service.models import TextComparer
from tests.service import data


def test_topics_shared_with_many_are_those_shared_with_each():
    models = data.models()
    answers = TextComparer(models)
    point, *others = models.similarity.project(["en2w1 en2w3", "en2w1", "en5w0 en7w1", "en2w3 en5w1"], "en")
    told = answers.shared_with(point, others, ["en", "de"])
    assert told == [answers.shared(point, other, ["en", "de"]) for other in others]
    for topics, other in zip(told, others, strict=True):
        parts = point.astype(float) * other.astype(float)
        best = [c for c in np.argsort(-parts, kind="stable")[:3].tolist() if parts[c] > 0]
        assert [(topic.component, topic.share) for topic in topics] == [(c, parts[c]) for c in best]
    assert answers.shared_with(point, [-point], ["en"]) == [[]]
