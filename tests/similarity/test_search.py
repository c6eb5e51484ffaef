"""The nearest documents with reasons, and what a fit will take."""

import numpy as np
import pytest

from isogloss.similarity import HubSimilarity, find_similar
from tests.similarity.data import comparable_corpus


@pytest.fixture(scope="module")
def corpus():
    return comparable_corpus(n=300, languages=("en", "de", "fr"))


@pytest.fixture(scope="module")
def model(corpus):
    return HubSimilarity(10, random_state=0).fit(corpus)


def test_the_nearest_are_those_with_the_largest_cosines(corpus, model):
    found = find_similar(model, corpus, "en2w1 en2w3 en5w0", "en", k=4, languages=["de"])
    cosines = model.project(["en2w1 en2w3 en5w0"], "en") @ model.project_corpus(corpus, "de").T
    best = np.argsort(-cosines[0], kind="stable")[:4]
    assert [one.id for one in found] == [corpus.ids[row] for row in corpus.rows("de")[best]]
    np.testing.assert_allclose([one.similarity for one in found], cosines[0][best], atol=1e-6)


def test_reasons_are_words_of_both_languages(corpus, model):
    for one in find_similar(model, corpus, "en2w1 en2w3", "en", k=1):
        for ours, theirs in one.because:
            assert all(word.startswith("en") for word in ours)
            assert all(word.startswith(one.lang) for word in theirs)


def test_questions_without_an_answer_are_refused(corpus, model):
    with pytest.raises(ValueError, match="no word that the model knows"):
        find_similar(model, corpus, "nothing known", "en")
    with pytest.raises(ValueError, match="nothing to look at"):
        find_similar(model, corpus, "en2w1", "en", languages=["ru"])
