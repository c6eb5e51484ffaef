"""The index in memory has all articles of the store, and drops those that were pruned."""

from datetime import timedelta

import pytest

pytest.importorskip("fastapi")

from isogloss.service.search import _neighbours as neighbours
from isogloss.service.search import create_neighbour_index
from isogloss.service.settings import StoreSettings
from isogloss.similarity import GraphIndex, Index
from isogloss.store import Update, prune_before
from tests.service import data

MODELS = data.models()
QUERY = MODELS.similarity.project(["en2w1 en2w3 en5w0"], "en")[0]


@pytest.fixture
def index(filled, monkeypatch):
    monkeypatch.setattr(neighbours, "TRIM_INTERVAL_S", 0.0)
    kept = data.settings().model_copy(update={"store": StoreSettings(keep_days=30)})
    data.store_points(filled)
    index = create_neighbour_index(filled, MODELS, kept)
    while index.catch_up():
        pass
    return index


def numbers(index):
    return {near.seq for near in index.nearest(QUERY, 9)}


def test_old_articles_of_the_store_are_found(index):
    before = numbers(index)
    index.trim()
    assert numbers(index) == before == {1, 2, 3, 4}


def test_pruned_articles_are_not_found(index, filled):
    filled.apply(Update(4, 4, checkpoint_parts=[("events", 4, b"state")]))
    assert prune_before(filled, data.START + timedelta(hours=20)) == 3
    index.trim()
    assert numbers(index) == {4}
    assert len(index) == 1


def test_the_oldest_articles_are_removed_first(index):
    index.max_articles = 2
    index.trim()
    assert numbers(index) == {3, 4}


def test_languages_with_many_articles_are_searched_by_a_graph(index, monkeypatch):
    pytest.importorskip("faiss")
    index.make_graphs()
    assert all(isinstance(one, Index) for one in index._indexes.values())
    before = [(near.lang, near.seq, near.similarity) for near in index.nearest(QUERY, 9, lang="en")]
    monkeypatch.setattr(neighbours, "GRAPH_ARTICLES", 2)
    index.make_graphs()
    kinds = {lang: type(one) for lang, one in index._indexes.items()}
    assert kinds == {"en": GraphIndex, "de": Index, "fr": Index}
    after = [(near.lang, near.seq, near.similarity) for near in index.nearest(QUERY, 9, lang="en")]
    assert [near[:2] for near in after] == [near[:2] for near in before]
    assert [near[2] for near in after] == pytest.approx([near[2] for near in before])
    index.max_articles = 2
    index.trim()
    assert numbers(index) == {3, 4}
    monkeypatch.setattr(neighbours, "has_module", lambda name: False)
    index.make_graphs()
    assert isinstance(index._indexes["de"], Index)
