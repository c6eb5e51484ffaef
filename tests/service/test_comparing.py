"""Comparisons of texts: topics that they share, and the probability that they tell one story."""

import numpy as np
import pytest

pytest.importorskip("fastapi")

from isogloss.events.ingest import sample_corpus
from isogloss.service.api.schemas import TextInput
from isogloss.service.models import Models, TextComparer
from isogloss.service.web.pages._texts import EXAMPLE_TEXTS
from isogloss.similarity import HubSimilarity
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


@pytest.fixture(scope="module")
def demo():
    return Models(similarity=HubSimilarity(60, random_state=0).fit(sample_corpus()))


@pytest.mark.parametrize("lang", ["de", "es", "fr"])
def test_the_example_of_the_page_is_recognised_as_a_translation(demo, lang):
    english, other = (TextInput(text=EXAMPLE_TEXTS[code], lang=code) for code in ("en", lang))
    found = TextComparer(demo).compare(english, other)
    assert found.probability > 0.7
    assert found.channels.encoder is None
    assert found.channels.keywords > 0
    unrelated = TextInput(text="Norwegische Zentralbank erhöht die Zinsen", lang="de")
    assert TextComparer(demo).compare(english, unrelated).probability < 0.3


def test_an_encoder_is_used_where_there_is_one(demo):
    class Encoder:
        dimension, languages = 2, ("en", "de")

        def encode(self, texts, lang):
            return np.tile(np.array([0.6, 0.8], np.float32), (len(texts), 1))

    texts = TextInput(text="one", lang="en"), TextInput(text="zwei", lang="de")
    found = TextComparer(Models(), Encoder()).compare(*texts)
    assert found.channels.encoder == pytest.approx(1.0)
    assert found.probability > 0.9 > TextComparer(Models()).compare(*texts).probability
    assert found.channels.latent is None
    spanish = TextInput(text="tres", lang="es")
    assert TextComparer(Models(), Encoder()).compare(texts[0], spanish).channels.encoder is None


@pytest.mark.parametrize("text", ["...", "😀", "x" * 20_000])
def test_odd_texts_are_compared(demo, text):
    found = TextComparer(demo).compare(TextInput(text=text, lang="en"), TextInput(text="Sturm", lang="de"))
    assert 0 <= found.probability < 0.5
