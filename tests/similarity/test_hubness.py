"""CSLS in searches: documents that are near to everything are held back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss import io
from isogloss.lexicon import csls_top_k
from isogloss.similarity import (
    CrossLingualSearch,
    GraphIndex,
    HubnessSample,
    HubSimilarity,
    Index,
    find_similar,
    index_corpus,
)
from isogloss.similarity.index import sample_ids
from tests.similarity.data import comparable_corpus


def unit(rng, n, dims=12):
    x = rng.normal(size=(n, dims)).astype(np.float32)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def filled(points, make=Index, **options):
    return make(points.shape[1], **options).add(np.arange(len(points)), points)


@pytest.mark.parametrize(
    ("make", "options"), [(Index, {}), (Index, {"storage": "float16"}), (GraphIndex, {})]
)
def test_the_order_is_that_of_csls_over_all_documents(rng, make, options):
    if make is GraphIndex:
        pytest.importorskip("faiss")
    english, german = unit(rng, 200), unit(rng, 250)
    search = CrossLingualSearch(
        {"en": filled(english, make, **options), "de": filled(german, make, **options)}
    )
    query = unit(rng, 1)
    expected = csls_top_k(query, german, 250, sources=english, neighbours=10)
    # With as many candidates as documents nothing is left out.
    found = search.nearest(query[0], "en", 80)["de"]
    assert found.ids.tolist() == expected.indices[0][:80].tolist()
    np.testing.assert_allclose(found.scores, german[found.ids] @ query[0], atol=2e-3)
    assert (np.diff(found.corrected) <= 0).all()
    assert not (np.diff(found.scores) <= 0).all()


def test_a_document_that_is_near_to_everything_no_longer_wins(rng):
    common = unit(rng, 1, 50)
    english = common + unit(rng, 150, 50)
    english /= np.linalg.norm(english, axis=1, keepdims=True)
    german = english + 1.2 * unit(rng, 150, 50)
    german /= np.linalg.norm(german, axis=1, keepdims=True)
    german[3] = common[0]
    indexes = {"en": filled(english), "de": filled(german)}
    plain, corrected = (
        [CrossLingualSearch(indexes, neighbours=k).nearest(x, "en", 1)["de"].ids[0] for x in english]
        for k in (0, 10)
    )
    hub, right = (
        [float(np.mean(np.array(found) == wanted)) for found in (plain, corrected)]
        for wanted in (3, np.arange(150))
    )
    assert hub[0] > 0.5
    assert hub[1] < hub[0] / 2
    assert right[1] > right[0] + 0.3


@given(st.integers(0, 10**6), st.integers(100, 160))
def test_answers_depend_on_the_documents_and_not_on_their_history(seed, size):
    rng = np.random.default_rng(seed)
    points, ids = unit(rng, 300, 5), rng.permutation(10_000)[:300]
    direct, long_way = Index(5, segment=32), Index(5, segment=64)
    direct.add(np.sort(ids[:200]), points[:200][np.argsort(ids[:200])])
    search = CrossLingualSearch({"en": long_way}, sample=size)
    for part in np.array_split(rng.permutation(300), 7):
        long_way.add(ids[part], points[part], times=part)
        search.nearest(points[0], "en", 3)
    long_way.remove(ids[250:])
    assert long_way.expire(before=-1) == 0
    long_way.remove(ids[200:250])
    answers = [
        CrossLingualSearch({"en": index}, sample=size).nearest(points[250], "en", 9)["en"]
        for index in (direct, long_way)
    ] + [search.nearest(points[250], "en", 9)["en"]]
    for other in answers[1:]:
        for one, same in zip(answers[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_a_saved_index_corrects_as_before(rng, tmp_path):
    english, german = filled(unit(rng, 400)), filled(unit(rng, 400))
    english.remove(np.arange(0, 400, 3))
    io.save(english, tmp_path / "en")
    io.save(german, tmp_path / "de")
    loaded = {code: io.load(tmp_path / code) for code in ("en", "de")}
    query = unit(rng, 1)[0]
    before, after = (
        CrossLingualSearch(indexes, sample=100).nearest(query, "en", 7)
        for indexes in ({"en": english, "de": german}, loaded)
    )
    np.testing.assert_array_equal(before["de"].corrected, after["de"].corrected)


def test_a_sample_has_a_share_of_the_neighbours(rng):
    points = unit(rng, 1000)
    take = points.__getitem__
    assert HubnessSample.draw(np.arange(1000), take, neighbours=10, size=500).neighbours == 5
    assert HubnessSample.draw(np.arange(1000), take, neighbours=10, size=100).neighbours == 1
    assert HubnessSample.draw(np.arange(99), take, neighbours=10).means(points[:3]).tolist() == [0, 0, 0]
    whole = HubnessSample.draw(np.arange(1000), take, neighbours=10)
    nearest = np.sort(points[:5].astype(np.float64) @ points.T.astype(np.float64), axis=1)[:, -10:]
    np.testing.assert_allclose(whole.means(points[:5]), nearest.mean(axis=1), atol=1e-6)
    drawn = sample_ids(np.arange(100_000), 1000)
    assert len(np.unique(drawn)) == 1000
    assert abs(drawn.mean() - 50_000) < 3_000
    np.testing.assert_array_equal(sample_ids(rng.permutation(100_000), 1000), drawn)


def test_few_documents_or_none_of_the_language_leave_the_order_of_cosines(rng):
    german = unit(rng, 300)
    query = unit(rng, 1)[0]
    plain = CrossLingualSearch({"de": filled(german)}, neighbours=0).nearest(query, "en", 5)["de"]
    for indexes in ({"de": filled(german)}, {"de": filled(german), "en": filled(unit(rng, 99))}):
        found = CrossLingualSearch(indexes).nearest(query, "en", 5)
        np.testing.assert_array_equal(found["de"].ids, plain.ids)
        np.testing.assert_array_equal(found["de"].corrected, found["de"].scores)
    assert CrossLingualSearch({"de": filled(german)}).nearest(query, "de", 5, languages=["fr"]) == {}
    with pytest.raises(ValueError, match="sample=7"):
        CrossLingualSearch({}, sample=7)
    with pytest.raises(ValueError, match="has no document 300"):
        filled(german).vectors_of([1, 300])


def test_documents_of_a_corpus_are_found_alike_with_and_without_an_index():
    corpus = comparable_corpus(n=300, languages=("en", "de", "fr"))
    model = HubSimilarity(10, random_state=0).fit(corpus)
    ready = index_corpus(model, corpus)
    asked = {
        "model": model,
        "corpus": corpus,
        "text": "en2w1 en2w3 en7w1",
        "lang": "en",
        "k": 20,
        "languages": ["de"],
    }
    found = find_similar(**asked)
    assert found == find_similar(**asked, index=ready)
    plain = find_similar(**asked, csls=0)
    assert [one.id for one in found] != [one.id for one in plain]
    assert [one.similarity for one in plain] == sorted((one.similarity for one in plain), reverse=True)
