"""The polylingual topic model: recovery, equalities with one language, missing languages, bad input."""

import numpy as np
import pytest
from scipy import sparse

from isogloss.engine import Batches
from isogloss.topics import LatentDirichletAllocation, PolylingualTopicModel
from isogloss.views import Views, stack_views
from tests.topics.data import PRIOR, matched, planted


@pytest.fixture(scope="module")
def languages():
    return planted(np.random.default_rng(3), documents=500, length=50, languages=3)


def thinned(counts, seed=0):
    """Half of the languages of each document taken away, one at least left."""
    rng = np.random.default_rng(seed)
    present = rng.random((len(counts[0]), len(counts))) < 0.5
    present[np.arange(len(present)), rng.integers(len(counts), size=len(present))] = True
    return Views(counts, names=["en", "de", "sl"], present=present)


@pytest.mark.parametrize("method", ["batch", "gibbs"])
@pytest.mark.parametrize("missing", [False, True])
def test_planted_topics_are_found_in_every_language(languages, method, missing):
    counts, topics = languages
    views = thinned(counts) if missing else Views(counts, names=["en", "de", "sl"])
    model = PolylingualTopicModel(4, learning_method=method, random_state=1, max_iter=200).fit(views)
    order, _ = matched(np.hstack(model.topics_), np.hstack(topics))
    for found, true in zip(model.topics_, topics, strict=True):
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert (np.abs(found[order] - true).sum(axis=1) / 2).max() < (0.16 if missing else 0.1)
    np.testing.assert_allclose(model.doc_topic_prior_[order], PRIOR, rtol=0.3)


@pytest.mark.parametrize("method", ["batch", "online", "gibbs", "map"])
def test_one_language_is_lda(languages, method):
    counts = languages[0][0][:150]
    settings = {"learning_method": method, "random_state": 0, "max_iter": 12, "tol": 1e9}
    one = LatentDirichletAllocation(3, **settings).fit(counts)
    poly = PolylingualTopicModel(3, **settings).fit([counts])
    np.testing.assert_array_equal(poly.components_[0], one.components_)
    np.testing.assert_array_equal(poly.transform([counts]), one.transform(counts))
    np.testing.assert_array_equal(poly.transform_view(counts, 0), one.transform(counts))
    assert poly.score([counts]) == one.score(counts)


def test_the_bound_rises_with_missing_languages(languages):
    views = thinned([x[:120] for x in languages[0]])
    with pytest.warns(UserWarning, match="did not reach"):
        model = PolylingualTopicModel(5, random_state=0, tol=0, max_iter=40).fit(views)
    bounds = np.array([line.bound for line in model.trace_])
    assert (np.diff(bounds) >= -1e-9 * np.abs(bounds[:-1])).all()


def test_the_versions_of_a_document_agree(languages):
    counts, _ = languages
    views = Views([x[:400] for x in counts], names=["en", "de", "sl"])
    model = PolylingualTopicModel(4, learning_method="gibbs", random_state=1).fit(views)
    proportions = [model.transform_view(x[400:], name) for x, name in zip(counts, views.names, strict=True)]
    for other in proportions[1:]:
        assert np.abs(proportions[0] - other).sum(axis=1).mean() / 2 < 0.15


def test_a_document_of_one_language_is_a_view_alone(languages):
    counts, _ = languages
    model = PolylingualTopicModel(3, random_state=0, max_iter=5, tol=1e9).fit(thinned(counts))
    alone = Views([None, counts[1][:9], None], names=["en", "de", "sl"], dims=model.dims_)
    np.testing.assert_allclose(model.transform(alone), model.transform_view(counts[1][:9], "de"), rtol=1e-12)


def test_batches_of_views(languages):
    views = thinned(languages[0])
    whole = PolylingualTopicModel(3, random_state=0, max_iter=6, tol=1e9).fit(views)
    source = Batches([views[:200], views[200:]])
    parts = PolylingualTopicModel(3, random_state=0, max_iter=6, tol=1e9).fit(source)
    np.testing.assert_allclose(parts.components_[2], whole.components_[2], rtol=1e-9)
    assert parts.view_names_ == views.names


def test_views_side_by_side():
    views = Views([[[1.0, 2.0]], sparse.csr_matrix([[3.0], [4.0]])], present=[[False, True], [True, True]])
    np.testing.assert_array_equal(stack_views(views).toarray(), [[0, 0, 3], [1, 2, 4]])


@pytest.mark.dask
@pytest.mark.parametrize("method", ["batch", "gibbs"])
def test_dask_is_local(dask_client, languages, method):
    from isogloss.engine.dask import DaskEngine

    views = thinned(languages[0])
    settings = {"learning_method": method, "random_state": 0, "batch_rows": 200, "max_iter": 11, "tol": 0.1}
    local = PolylingualTopicModel(3, **settings).fit(views)
    cluster = PolylingualTopicModel(3, engine=DaskEngine(dask_client), **settings).fit(views)
    for a, b in zip(local.components_, cluster.components_, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
