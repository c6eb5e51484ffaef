"""The nearest documents with reasons, and what a fit will take."""

import numpy as np
import pytest

from isogloss.similarity import HubSimilarity, find_similar, index_corpus
from tests.similarity.data import comparable_corpus


@pytest.fixture(scope="module")
def corpus():
    return comparable_corpus(n=300, languages=("en", "de", "fr"))


@pytest.fixture(scope="module")
def model(corpus):
    return HubSimilarity(10, random_state=0).fit(corpus)


def test_the_nearest_are_those_with_the_largest_cosines(corpus, model):
    found = find_similar(model, corpus, "en2w1 en2w3 en5w0", "en", k=4, languages=["de"], csls=0)
    cosines = model.project(["en2w1 en2w3 en5w0"], "en") @ model.project_corpus(corpus, "de").T
    best = np.argsort(-cosines[0], kind="stable")[:4]
    assert [one.id for one in found] == [corpus.ids[row] for row in corpus.rows("de")[best]]
    np.testing.assert_allclose([one.similarity for one in found], cosines[0][best], atol=1e-6)


def test_reasons_are_words_of_both_languages(corpus, model):
    for one in find_similar(model, corpus, "en2w1 en2w3", "en", k=1):
        for ours, theirs in one.because:
            assert all(word.startswith("en") for word in ours)
            assert all(word.startswith(one.lang) for word in theirs)


def test_a_ready_index_gives_the_same_and_projects_only_what_was_found(corpus, model, monkeypatch):
    ready = index_corpus(model, corpus, times=np.arange(300))
    assert sorted(ready) == ["de", "en", "fr"]
    assert ready["de"].ids.tolist() == corpus.rows("de").tolist()
    projected = []
    whole = type(model).project_corpus

    def counted(self, part, lang):
        out = whole(self, part, lang)
        projected.append(len(out))
        return out

    expected = find_similar(model, corpus, "en2w1 en2w3", "en", k=3)
    monkeypatch.setattr(type(model), "project_corpus", counted)
    found = find_similar(model, corpus, "en2w1 en2w3", "en", k=3, index=ready)
    assert [one[:3] for one in found] == [one[:3] for one in expected]
    assert [one.because for one in found] == [one.because for one in expected]
    assert projected == [3, 3, 3]
    with pytest.raises(ValueError, match="no index of 'fr'"):
        find_similar(model, corpus, "en2w1", "en", languages=["fr"], index={"de": ready["de"]})


def test_rows_that_lack_a_language_keep_their_numbers(model):
    corpus = comparable_corpus(n=80, languages=("en", "de", "fr"), missing=0.5, seed=5)
    found = find_similar(model, corpus, "en2w1 en2w3", "en", k=2, languages=["fr"])
    lines = {corpus.ids[row]: line for line, row in enumerate(corpus.rows("fr"))}
    points = model.project_corpus(corpus, "fr")
    query = model.project(["en2w1 en2w3"], "en")[0]
    for one in found:
        assert one.similarity == pytest.approx(float(points[lines[one.id]] @ query), abs=1e-5)


def test_questions_without_an_answer_are_refused(corpus, model):
    with pytest.raises(ValueError, match="no word that the model knows"):
        find_similar(model, corpus, "nothing known", "en")
    with pytest.raises(ValueError, match="nothing to look at"):
        find_similar(model, corpus, "en2w1", "en", languages=["ru"])
