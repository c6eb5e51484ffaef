"""Saved searches in the store."""

from datetime import UTC, datetime

import pytest

from isogloss.exceptions import StoreError

NOW = datetime(2025, 3, 5, tzinfo=UTC)


def save(store, owner, name, **query):
    return store.save_search(owner, name, query, max_searches=3, now=NOW)


def test_a_search_is_kept_for_its_owner(store):
    mine = save(store, "t1", "Stürme", q="storm", lang=["de"])
    shared = save(store, "", "Stürme", q="rain")
    assert store.saved_search(mine.id) == mine
    assert (mine.owner, mine.name, mine.query) == ("t1", "Stürme", {"q": "storm", "lang": ["de"]})
    assert [each.id for each in store.saved_searches()] == [mine.id, shared.id]
    assert store.saved_searches(["t1"]) == [mine]
    assert store.saved_searches(["t2"]) == store.saved_searches([]) == []
    assert store.saved_search(99) is None


def test_a_name_is_taken_once_by_each_owner(store):
    first, second = save(store, "t1", "storms"), save(store, "t1", "floods")
    with pytest.raises(StoreError, match="'storms' already; choose another name"):
        save(store, "t1", "storms")
    with pytest.raises(StoreError, match="'storms' already"):
        store.change_search(second.id, "storms", {})
    later = datetime(2025, 3, 6, tzinfo=UTC)
    changed = store.change_search(first.id, "storms", {"q": "gale"}, now=later)
    assert (changed.name, changed.query, changed.created) == ("storms", {"q": "gale"}, first.created)
    assert changed.changed > first.changed
    assert store.saved_search(first.id) == changed
    assert store.change_search(99, "gales", {}) is None


def test_an_owner_has_a_bounded_number_of_searches(store):
    saved = [save(store, "t1", name) for name in "abc"]
    with pytest.raises(StoreError, match="there are 3 saved searches, and at most 3 are allowed"):
        save(store, "t1", "d")
    assert save(store, "t2", "d")
    assert store.delete_search(saved[0].id)
    assert not store.delete_search(saved[0].id)
    assert save(store, "t1", "d").id > saved[-1].id
