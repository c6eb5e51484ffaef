"""The worker stores the point of every article once, and neighbour search reads it."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("fastapi")

from isogloss.service.models import SimilarityModel
from isogloss.service.search import NeighbourIndex
from isogloss.service.worker import JournalProcessor, StreamFactory, rebuild
from isogloss.store.queries import read_points
from tests.service import data
from tests.store.conftest import store  # noqa: F401

MODEL = data.models().similarity
POINTS = SimilarityModel(MODEL, digest="abc")
REPRINT = replace(data.ARTICLES[0], id="reprint", source="The Tern", url="")
UNKNOWN = [
    data.article(8, "ja", "東京は雨です", "傘を持って出かけましょう。", 5),
    data.article(9, "en", "Umbrellas everywhere", "Nobody of the model knows.", 6),
]


@pytest.fixture
def projected(monkeypatch):
    """The texts that were projected."""
    texts, project = [], type(MODEL).project

    def counted(self, given, *args, **kwargs):
        texts.extend(given)
        return project(self, given, *args, **kwargs)

    monkeypatch.setattr(type(MODEL), "project", counted)
    return texts


def processor(store, model=MODEL, points=POINTS):  # noqa: F811
    return JournalProcessor(store, StreamFactory(model=model, points=points))


def stored(store, model="abc"):  # noqa: F811
    with store.database.read() as session:
        return {point.article: point for point in read_points(session, model, 0, 1000)[1]}


def check(store, articles):  # noqa: F811
    """Every article has the point that the model gives for its text."""
    points = stored(store)
    assert points.keys() == set(range(1, len(articles) + 1))
    for number, article in enumerate(articles, 1):
        expected = np.empty(0, np.float32)
        if article.lang in MODEL.languages:
            (vector,) = MODEL.project([article.text], article.lang)
            expected = vector if vector.any() else expected
        np.testing.assert_allclose(points[number].vector, expected, atol=1e-6)
        assert points[number].lang == article.lang


@pytest.mark.parametrize("model", [MODEL, None])
def test_every_article_is_projected_once_and_found(store, projected, model):  # noqa: F811
    articles = [*data.ARTICLES, REPRINT, *UNKNOWN]
    store.add(articles)
    processor(store, model).catch_up()
    index = NeighbourIndex(store, "abc")
    assert index.catch_up() == len(articles)
    assert sorted(projected) == sorted(one.text for one in articles if one.lang in MODEL.languages)
    (query,) = MODEL.project(["en2w1 en2w3 en5w0"], "en")
    assert {near.seq for near in index.nearest(query, 9)} == {1, 2, 3, 4, 5}
    check(store, articles)


def test_a_revision_replaces_the_point_and_a_restart_leaves_the_others_alone(store, projected):  # noqa: F811
    store.add(data.ARTICLES)
    processor(store).catch_up()
    before, revised = stored(store), replace(data.ARTICLES[3], lang="de", body="de2w1 de2w3")
    index = NeighbourIndex(store, "abc")
    index.catch_up()
    store.add([revised])
    projected.clear()
    processor(store).catch_up()
    assert projected.count(revised.text) == 1
    assert index.catch_up() == 1
    check(store, [*data.ARTICLES[:3], revised])
    store.add([replace(revised, lang="ja")])
    processor(store).catch_up()
    assert index.catch_up() == 1
    assert len(index) == 3
    for number in (1, 2, 3):
        np.testing.assert_array_equal(stored(store)[number].vector, before[number].vector)


def test_missing_points_are_stored_the_newest_first(store, projected, monkeypatch):  # noqa: F811
    monkeypatch.setattr("isogloss.service.worker._journal_processor.BATCH_LINES", 3)
    store.add(data.ARTICLES)
    JournalProcessor(store, StreamFactory()).catch_up()
    assert stored(store) == {}
    later = processor(store, None)
    assert [later.add_missing_points() for _ in range(3)] == [3, 1, 0]
    check(store, data.ARTICLES)
    projected.clear()
    assert processor(store, None).add_missing_points() == 0
    assert projected == []


def test_an_index_starts_with_the_newest_articles(store, monkeypatch):  # noqa: F811
    store.add(data.ARTICLES)
    processor(store).catch_up()
    index = NeighbourIndex(store, "abc", max_articles=2)
    monkeypatch.setattr(index._stop, "wait", lambda _: index._stop.set())
    index.start()
    index._thread.join()
    assert index.position == 4
    assert sorted(index._numbers()) == [3, 4]


def test_an_index_has_the_newest_articles_though_they_were_stored_first(store, monkeypatch):  # noqa: F811
    monkeypatch.setattr("isogloss.service.worker._journal_processor.BATCH_LINES", 1)
    store.add(data.ARTICLES)
    JournalProcessor(store, StreamFactory()).catch_up()
    later = processor(store, None)
    while later.add_missing_points():
        pass
    index = NeighbourIndex(store, "abc", max_articles=2)
    monkeypatch.setattr(index._stop, "wait", lambda _: index._stop.set())
    index.start()
    index._thread.join()
    assert sorted(index._numbers()) == [3, 4]


def test_points_of_another_model_are_replaced(store):  # noqa: F811
    store.add(data.ARTICLES)
    processor(store).catch_up()
    other = replace(POINTS, digest="def")
    JournalProcessor(store, StreamFactory(model=MODEL, points=other)).add_missing_points()
    assert stored(store, "abc") == {}
    assert len(stored(store, "def")) == len(data.ARTICLES)


def test_an_article_that_cannot_be_projected_has_no_point(store, monkeypatch, caplog):  # noqa: F811
    project = type(MODEL).project

    def failing(self, texts, lang):
        if any("Roofs" in text for text in texts):
            raise ZeroDivisionError("roofs")
        return project(self, texts, lang)

    monkeypatch.setattr(type(MODEL), "project", failing)
    store.add(data.ARTICLES)
    processor(store, None).catch_up()
    assert [len(stored(store)[number].vector) > 0 for number in (1, 2, 3, 4)] == [True, False, True, True]
    assert "article 2 cannot be projected: ZeroDivisionError: roofs" in caplog.text


def test_a_rebuild_stores_points_and_a_deleted_article_has_none(store):  # noqa: F811
    store.add(data.ARTICLES)
    JournalProcessor(store, StreamFactory()).catch_up()
    store.request_rebuild()
    assert rebuild(store, StreamFactory(model=MODEL, points=POINTS))
    check(store, data.ARTICLES)
    with store.database.write() as session:
        session.run("DELETE FROM article WHERE seq = 1")
    assert stored(store).keys() == {2, 3, 4}
