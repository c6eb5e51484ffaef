"""Points of articles are worked out once, are those of the model, and are not kept without end."""

import numpy as np
import pytest

pytest.importorskip("fastapi")

from isogloss.service import comparing
from isogloss.service.comparing import Comparing
from tests.service import data


@pytest.fixture
def made(monkeypatch):
    """Answers with a model, and the texts that it was given."""
    models = data.models()
    asked, project = [], models.similarity.project

    def noted(texts, lang):
        asked.extend(texts)
        return project(texts, lang)

    monkeypatch.setattr(models.similarity, "project", noted, raising=False)
    return Comparing(models), asked, project


def test_points_are_those_of_the_model_and_worked_out_once(made):
    answers, asked, project = made
    texts = ["en2w1 en2w3", "en5w0", "en2w1 en2w3"]
    first = answers.points(texts, "en")
    assert asked == texts[:2]
    again = answers.points(texts[1:], "en")
    assert asked == texts[:2]
    np.testing.assert_allclose(first, project(texts, "en"), atol=1e-6)
    np.testing.assert_array_equal(again, first[1:])


def test_one_text_in_two_languages_is_two_points(made):
    answers, asked, project = made
    english, german = (answers.points(["en2w1 de2w1"], lang)[0] for lang in ("en", "de"))
    assert len(asked) == 2
    np.testing.assert_allclose(german, project(["en2w1 de2w1"], "de")[0], atol=1e-6)
    assert not np.allclose(english, german)


def test_points_that_nobody_asks_for_are_forgotten(made, monkeypatch):
    monkeypatch.setattr(comparing, "POINTS", 2)
    answers, asked, _ = made
    for text in ("en1w1", "en2w1", "en1w1", "en3w1", "en1w1"):
        answers.points([text], "en")
    assert asked == ["en1w1", "en2w1", "en3w1"]
    answers.points(["en2w1"], "en")
    assert asked[-1] == "en2w1"


def test_topics_shared_with_many_are_those_shared_with_each(made):
    answers, _, project = made
    point, *others = project(["en2w1 en2w3", "en2w1", "en5w0 en7w1", "en2w3 en5w1"], "en")
    told = answers.shared_with(point, others, ["en", "de"])
    assert told == [answers.shared(point, other, ["en", "de"]) for other in others]
    for topics, other in zip(told, others, strict=True):
        parts = point.astype(float) * other.astype(float)
        best = [c for c in np.argsort(-parts, kind="stable")[:3].tolist() if parts[c] > 0]
        assert [(topic.component, topic.share) for topic in topics] == [(c, parts[c]) for c in best]
    assert answers.shared_with(point, [-point], ["en"]) == [[]]
