"""Components as words of every language."""

import json

import numpy as np
import pytest

from isogloss.similarity import (
    HubSimilarity,
    TopicSimilarity,
    find_topics,
    shared_topics,
    topics_html,
    topics_json,
    topics_table,
)
from tests.similarity.data import comparable_corpus


@pytest.fixture(scope="module")
def model():
    return HubSimilarity(8, random_state=0).fit(comparable_corpus(n=600, seed=7))


def topic_numbers(words):
    """Of words like de4w2: the numbers of the topics they are from."""
    return {word.partition("w")[0][2:] for word, _ in words}


def test_languages_say_the_same_in_the_same_component(model):
    found = find_topics(model, components=3, words=3)
    assert [topic.component for topic in found] == [0, 1, 2]
    for topic in found:
        ends = [topic_numbers(topic.positive[code]) for code in ("en", "de")]
        assert ends[0] & ends[1]
        assert not topic_numbers(topic.positive["en"]) & topic_numbers(topic.negative["de"])


def test_words_come_strongest_first_and_weigh_what_the_projector_says(model):
    (topic,) = find_topics(model, components=[4], words=5)
    weights = [weight for _, weight in topic.positive["fr"]]
    assert weights == sorted(weights, reverse=True)
    space = model.spaces_["fr"]
    column = space.vocabulary.index[topic.positive["fr"][0][0]]
    pull = model.projectors_["fr"][:, 4] * space.weighting.idf_
    assert column == pull.argmax()
    assert weights[0] == pytest.approx(pull.max(), abs=1e-6)
    assert topic.strength == model.strengths_[4]


def test_shared_topics_explain_the_similarity(model):
    a, b = model.project(["en3w1 en3w2"], "en")[0], model.project(["de3w5 de3w4"], "de")[0]
    found = shared_topics(model, a, b, k=2)
    parts = [part for _, part in found]
    assert parts == sorted(parts, reverse=True)
    assert parts[0] == pytest.approx(float(np.max(a * b)))
    assert "3" in topic_numbers(found[0][0].positive["en"]) | topic_numbers(found[0][0].positive["de"])


def test_table_html_and_json_hold_the_same_words(model):
    found = find_topics(model, components=2, words=2)
    table, page, data = topics_table(found), topics_html(found), json.loads(topics_json(found))
    assert table[0] == ["component", "strength", "en", "de", "fr", "sl"]
    assert len(table) == 5
    word = found[1].negative["sl"][0][0]
    assert word in table[4][5]
    assert f">{word}</span>" in page
    assert data[1]["negative"]["sl"][0][0] == word
    assert topics_table([]) == [["component", "strength"]]


def test_html_escapes_words(model):
    (topic,) = find_topics(model, components=1, words=1)
    topic.positive["en"][0] = ("<script>", 1.0)
    assert "<script>" not in topics_html([topic])


def test_bad_components_are_refused(model):
    with pytest.raises(ValueError, match="components"):
        find_topics(model, components=[8])


def test_topics_of_a_topic_model_have_one_end():
    model = TopicSimilarity(6, random_state=0).fit(comparable_corpus(n=600, seed=7))
    for topic in find_topics(model, components=6, words=4):
        assert all(topic.positive.values())
        assert not any(topic.negative.values())
    rows = topics_table(find_topics(model, components=2, words=4))
    assert [row[0] for row in rows] == ["component", "0", "1"]
    assert topics_html(find_topics(model, components=2, words=4)).count("<tr>") == 3
