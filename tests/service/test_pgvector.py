"""The index in PostgreSQL with pgvector finds the same articles as the index in memory."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("fastapi")

from isogloss.service.search import NeighbourIndex, create_neighbour_index
from isogloss.service.search._neighbours import PgvectorIndex
from isogloss.service.settings import ModelSettings
from isogloss.store import Store, Update
from isogloss.store.queries import Point, PointTable, has_pgvector
from tests.service import data

MODELS = data.models()
QUERY = MODELS.similarity.project(["en2w1 en2w3 en5w0"], "en")[0]


@pytest.fixture
def store(postgres):
    if not has_pgvector(postgres):
        pytest.skip("the PostgreSQL of this machine has no pgvector")
    store = Store(postgres)
    store.add(data.ARTICLES)
    data.store_points(store)
    return store


def made(store, **changes):
    settings = data.settings()
    return create_neighbour_index(store, MODELS, settings.model_copy(update=changes))


def both(store):
    """The same articles in the database and in memory."""
    stored, memory = made(store), NeighbourIndex(store, "unnamed")
    for one in (stored, memory):
        while one.catch_up():
            pass
    return stored, memory


def told(near):
    return [(each.lang, each.seq, round(each.similarity, 6)) for each in near]


def test_the_table_finds_the_same_as_memory(store):
    stored, memory = both(store)
    assert isinstance(stored, PgvectorIndex)
    times = sorted(article.time for article in data.ARTICLES)
    for asked in (
        {},
        {"languages": ["de"]},
        {"languages": ["xx"]},
        {"since": times[-1]},
        {"until": times[-1]},
        {"since": times[1], "until": times[-1]},
    ):
        for k in (1, 2, 9):
            found, expected = stored.nearest(QUERY, k, **asked), memory.nearest(QUERY, k, **asked)
            assert told(found) == told(expected)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one.point, other.point)
    assert stored.nearest(np.zeros_like(QUERY), 3) == []


def test_the_order_of_csls_is_that_of_memory(store):
    rng = np.random.default_rng(0)
    width = MODELS.width
    points = rng.normal(size=(260, width)).astype(np.float32)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    langs = [("en", "de")[number % 2] for number in range(len(points))]
    store.add([data.article(100 + n, lang, f"title {n}", "text") for n, lang in enumerate(langs)])
    numbers = store.article_numbers_from(0)[-len(points) :]
    made_up = [Point(seq, lang, 0, vector) for seq, lang, vector in zip(numbers, langs, points, strict=True)]
    at = store.position()
    store.apply(Update(at, at, points=made_up, point_model="unnamed"))
    stored, memory = both(store)
    cosines = told(memory.nearest(points[7], 9))
    assert told(stored.nearest(points[7], 9, lang="en")) == cosines
    stored.trim()
    expected = memory.nearest(points[7], 9, lang="en")
    assert told(stored.nearest(points[7], 9, lang="en")) == told(expected)
    assert told(expected) != cosines
    assert [near.corrected for near in expected] == sorted((n.corrected for n in expected), reverse=True)
    plain = NeighbourIndex(store, "unnamed", csls=0)
    while plain.catch_up():
        pass
    assert told(plain.nearest(points[7], 9, lang="en")) == cosines


def test_a_revision_replaces_the_point(store):
    stored, memory = both(store)
    last = data.ARTICLES[-1]
    for changes in ({"body": "fr2w1 fr2w3"}, {"lang": "de", "body": "de2w1 de2w3"}, {"lang": "xx"}):
        store.add([replace(last, **changes)])
        data.store_points(store)
        assert stored.catch_up() == memory.catch_up() == len(data.ARTICLES)
        assert told(stored.nearest(QUERY, 9)) == told(memory.nearest(QUERY, 9))
    assert len(stored.nearest(QUERY, 9)) == len(data.ARTICLES) - 1


def test_points_are_added_once_and_survive_a_restart(store):
    both(store)
    again = made(store)
    assert again.catch_up() == 0
    assert len(again.nearest(QUERY, 9)) == len(data.ARTICLES)
    with store.database.write_concurrently() as session:
        assert again.points.try_lock(session)
        store.add([replace(data.ARTICLES[0], id="new", url="")])
        data.store_points(store)
        assert made(store).catch_up() == 0
    assert again.catch_up() == len(data.ARTICLES) + 1


def test_the_oldest_articles_are_removed_first(store):
    stored, _ = both(store)
    stored.max_articles = 3
    stored.trim()
    assert len(stored) == 3
    assert 1 not in {near.seq for near in stored.nearest(QUERY, 9)}


def test_a_deleted_article_is_not_found(store):
    stored, _ = both(store)
    with store.database.write() as session:
        session.run("DELETE FROM article WHERE seq = ?", [1])
    assert 1 not in {near.seq for near in stored.nearest(QUERY, 9)}


def test_the_settings_select_the_index_in_memory(store):
    models = ModelSettings(nearest_in_database=False)
    assert type(made(store, models=models)) is NeighbourIndex


def test_a_model_name_with_punctuation_is_refused(store):
    with pytest.raises(Exception, match="expected a name of letters and digits"):
        PointTable(store.database, "a; b", 3, ["en"])


@pytest.mark.parametrize("drawn", [0.0, 30.0, 100.0])
def test_the_nearest_of_many_points_are_found_for_any_sample(store, rng, monkeypatch, drawn):
    """Points of which few are sorted give what sorting all of them gives, ties and times included."""
    monkeypatch.setattr("isogloss.store.queries._points._SAMPLE_PERCENT", drawn)
    monkeypatch.setattr("isogloss.store.queries._points._MAX_SAMPLE_PERCENT", drawn)
    n, languages = 3_000, ["de", "en"]
    places = rng.integers(-2, 3, (n, 4)).astype(np.float32)
    store.add([replace(data.ARTICLES[0], id=f"many{i}", url="") for i in range(n)])
    points = PointTable(store.database, "many", 4, languages)
    with store.database.write() as session:
        first = session.run("SELECT max(seq) FROM article")[0][0] - n + 1
        made = [Point(first + i, languages[i % 2], i, place) for i, place in enumerate(places)]
        points.replace(session, made, n)
    for k, since, until in (
        (1, None, None),
        (7, None, None),
        (7, 900, None),
        (40, 100, 2_500),
        (400, None, 9),
    ):
        query = rng.integers(-8, 9, 4).astype(np.float32)
        expected = [
            sorted(
                (-float(p.vector @ query), p.article)
                for p in made
                if p.lang == lang and _within(p, since, until)
            )
            for lang in languages
        ]
        found = points.nearest(query, k, [*languages, "xx"], since=since, until=until)
        assert sorted(p.article for p in found) == sorted(a for each in expected for _, a in each[:k])
        for p in found:
            np.testing.assert_array_equal(p.vector, places[p.article - first])


def _within(point, since, until):
    return (since is None or point.time >= since) and (until is None or point.time < until)


def test_a_table_of_another_layout_is_created_again(store):
    stored, memory = both(store)
    table = stored.points.table
    with store.database.write() as session:
        session.run(f"DROP TABLE {table}")
        session.run(f"CREATE TABLE {table} (article BIGINT PRIMARY KEY, lang TEXT, time BIGINT, place TEXT)")
        session.run(f"INSERT INTO {table} VALUES (1, 'en', 0, '[1]')")
    again = made(store)
    assert again.nearest(QUERY, 9) == []
    while again.catch_up():
        pass
    assert told(again.nearest(QUERY, 9)) == told(memory.nearest(QUERY, 9))
