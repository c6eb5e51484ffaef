"""The importance of events: which event comes before which, and that live updates and migrations agree."""

import base64
import json
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.exceptions import StoreError
from isogloss.store import ClusterRow, EventQuery, EventRow, Update
from isogloss.store.queries import (
    count_new_and_changed,
    find_events,
    rank_stored_events,
)
from isogloss.store.queries._importance import (
    MAX_HALF_LIFE_DAYS,
    importance_without_sources,
    sparse_half_life_days,
)

from .test_articles import article

DAY = 86_400_000_000
TODAY = 20_000
"""A day, in days since 1970."""


def _timeline(counts):
    """Days that end today, with their numbers of articles."""
    first = date(1970, 1, 1) + timedelta(days=TODAY + 1 - len(counts))
    return [[(first + timedelta(days=i)).isoformat(), n] for i, n in enumerate(counts) if n]


def _end(counts):
    """The time of the last article: the end of the last day that has any."""
    days_ago = next(i for i, n in enumerate(reversed(counts)) if n)
    return (TODAY + 1 - days_ago) * DAY


def _base(counts, languages=1):
    return importance_without_sources(languages, sum(counts), _end(counts), _timeline(counts))


@pytest.mark.parametrize(
    ("more", "less"),
    [
        (([0, 0, 4], 2), ([0, 0, 4], 1)),  # languages
        (([0, 0, 8], 1), ([0, 0, 4], 1)),  # articles
        (([0, 0, 4], 1), ([0, 4, 0], 1)),  # recency
        (([1, 2, 6], 1), ([6, 2, 1], 1)),  # growth
        (([0, 0, 6], 1), ([4, 0, 5], 1)),  # novelty: both have a current coverage of six articles
        (([40, 20, 30], 1), ([0, 0, 5], 1)),  # a large event that goes on stays above a small new one
        (([0, 0, 4], 3), ([0, 0, 30], 1)),  # many languages weigh more than many articles in one
    ],
)
def test_order(more, less):
    assert _base(*more) > _base(*less)


@given(
    counts=st.lists(st.integers(0, 50), min_size=1, max_size=10).filter(any),
    languages=st.integers(1, 30),
)
def test_a_new_article_or_a_further_language_never_lowers_the_importance(counts, languages):
    more = [*counts[:-1], counts[-1] + 1]
    assert _base(more, languages) >= _base(counts, languages) - 1  # rounding
    assert _base(counts, languages + 1) > _base(counts, languages)


@given(
    one=st.lists(st.integers(0, 50), min_size=3, max_size=3).filter(any),
    other=st.lists(st.integers(0, 50), min_size=3, max_size=3).filter(any),
    days=st.integers(1, 400),
)
def test_the_order_does_not_depend_on_when_one_asks(one, other, days):
    """All events lose the same: a day later, everything is a thousand units further."""
    late = [
        importance_without_sources(
            1,
            sum(counts),
            _end(counts) + days * DAY,
            [
                [(date.fromisoformat(day) + timedelta(days=days)).isoformat(), n]
                for day, n in _timeline(counts)
            ],
        )
        for counts in (one, other)
    ]
    for after, counts in zip(late, (one, other), strict=True):
        assert abs(after - _base(counts) - 1000 * days) <= 1


def test_an_event_without_a_timeline_counts_its_articles_at_its_last_time():
    assert importance_without_sources(1, 4, 5 * DAY, []) == 6000


def _event(number, size, languages=("en",)):
    return EventRow(f"e{number}", DAY, DAY, size, languages, (), {"timeline": [["1970-01-02", size]]})


def _cluster(number, event, members, joined=None):
    return ClusterRow(number, "en", event, DAY, DAY, members, joined=joined)


def _columns(store):
    with store.database.read() as session:
        rows = session.run("SELECT id, sources, importance, created FROM event ORDER BY id")
        terms = session.run("SELECT event, term FROM event_term WHERE kind = 'source' ORDER BY event, term")
    return {row[0]: row[1:] for row in rows}, terms


@pytest.fixture
def filled(store):
    store.add(
        [article(n, source=source) for n, source in enumerate(["Gull", "Gull", "Auk", "Tern", "", "Gull"], 1)]
    )
    update = Update(
        0,
        4,
        events=[_event(1, 2), _event(2, 2)],
        clusters=[_cluster(1, "e1", [1, 2]), _cluster(2, "e2", [3, 4])],
    )
    store.apply(update)
    return store


def test_of_two_like_events_the_one_with_more_sources_comes_first(filled):
    found, terms = _columns(filled)
    assert (found["e1"][0], found["e2"][0]) == (1, 2)
    assert terms == [("e1", "Gull"), ("e2", "Auk"), ("e2", "Tern")]
    assert found["e2"][1] - found["e1"][1] == 585  # 1000 (log2 3 - log2 2)
    page = filled.events(EventQuery(sort="importance"))
    assert [(each["id"], each["sources_count"]) for each in page.events] == [("e2", 2), ("e1", 1)]
    assert [each["id"] for each in filled.events(EventQuery(sources=["Gull"])).events] == ["e1"]


def test_sources_follow_the_articles_of_clusters(filled):
    """A reprint joins without a change of the event, and a cluster moves to another event."""
    before, _ = _columns(filled)
    filled.apply(
        Update(4, 5, clusters=[_cluster(1, "e1", [1, 2, 5], [5]), _cluster(2, "e2", [3, 4, 6], [6])])
    )
    found, terms = _columns(filled)
    assert found["e1"] == before["e1"]  # an article without a source
    assert found["e2"][0] == 3
    assert found["e2"][1] - before["e2"][1] == 415  # 1000 (log2 4 - log2 3)
    filled.apply(
        Update(5, 6, events=[_event(1, 5), _event(3, 1)], clusters=[_cluster(2, "e1", [3, 4, 6], [])])
    )
    found, terms = _columns(filled)
    assert [term for event, term in terms if event == "e1"] == ["Auk", "Gull", "Tern"]
    assert found["e3"][0] == 0


def test_a_migrated_store_has_what_updates_would_have_written(filled):
    expected = _columns(filled)
    with filled.database.write() as session:
        session.run("DELETE FROM event_term WHERE kind = 'source'")
        session.run("UPDATE event SET importance = 0, sources = 0")
        rank_stored_events(session)
    assert _columns(filled) == expected


def test_events_that_are_new_or_changed_since_a_line(filled):
    filled.apply(Update(4, 5, events=[_event(2, 3)]))
    filled.apply(Update(5, 6, events=[_event(3, 1)]))
    assert [row[2] for row in _columns(filled)[0].values()] == [4, 4, 6]
    with filled.database.read() as session:
        assert [count_new_and_changed(session, line) for line in (0, 4, 5, 6)] == [
            (3, 0),
            (1, 1),
            (1, 0),
            (0, 0),
        ]
        found = find_events(session, EventQuery(sort="changed", changed_after=4))
        assert [each["id"] for each in found.events] == ["e3", "e2"]


def test_changes_are_counted_up_to_a_limit(filled, monkeypatch):
    monkeypatch.setattr("isogloss.store.queries._events.MAX_COUNTED_CHANGES", 1)
    assert filled.count_new_and_changed(0) == (1, 0)


def test_the_most_frequent_sources_of_events(filled):
    assert filled.frequent_terms("source", ["e1", "e2"], 2) == {"Auk": 1, "Gull": 1}
    assert filled.frequent_terms("source", ["e2"], 9) == {"Auk": 1, "Tern": 1}
    assert filled.frequent_terms("lang", ["e1", "e2"], 9) == {"en": 2}
    assert filled.frequent_terms("lang", [], 9) == {}


def _put(store, lasts, sizes=None):
    """Store an event for each time in days, with as many articles in as many languages as given."""
    sizes = sizes or {}
    store.add([article(1)])
    events = [
        EventRow(
            f"e{number}",
            int(day * DAY),
            int(day * DAY),
            sizes.get(number, 1),
            ["en", "de", "fr", "es", "sl", "it"][: sizes.get(number, 1)],
        )
        for number, day in enumerate(lasts, 1)
    ]
    store.apply(Update(0, 1, events=events))


def _half_life(store):
    with store.database.read() as session:
        return sparse_half_life_days(session)


@pytest.mark.parametrize(
    ("days_apart", "half_life"), [(0, 1), (0.01, 1), (1, 16), (7, 128), (10_000, MAX_HALF_LIFE_DAYS)]
)
def test_the_half_life_of_sparse_stores_follows_the_times_of_articles(store, days_apart, half_life):
    _put(store, [100 + days_apart * number for number in range(25)])
    assert _half_life(store) == half_life


def test_few_events_have_the_usual_half_life(store):
    assert _half_life(store) == 1
    _put(store, [100 * number for number in range(1, 20)])
    assert _half_life(store) == 1


def test_an_archive_does_not_sort_by_time_alone(store):
    """The event that six languages reported comes before single articles of later weeks, not for ever."""
    _put(store, [7 * number for number in range(1, 201)], {195: 6, 2: 6})
    order = [event["id"] for event in store.events(EventQuery(sort="importance")).events]
    assert order[0] == "e195"
    assert "e2" not in order[:20]
    assert order[1:4] == ["e200", "e199", "e198"]


def test_pages_of_an_archive_neither_repeat_nor_lack_events(store):
    _put(store, [7 * number for number in range(1, 101)], {95: 6, 2: 6})
    found, cursor = [], ""
    while True:
        page = store.events(EventQuery(sort="importance", limit=9, cursor=cursor))
        found += [event["id"] for event in page.events]
        cursor = page.cursor
        if not cursor:
            break
    everything = store.events(EventQuery(sort="importance", limit=200)).events
    assert found == [event["id"] for event in everything]
    assert len({*found}) == 100


@pytest.mark.parametrize("half_life", [0, -1, 1 << 40, 2.0, "2", None, True])
def test_a_cursor_with_another_half_life_is_refused(store, half_life):
    cursor = base64.urlsafe_b64encode(json.dumps(["importance", 5, "e1", half_life]).encode()).decode()
    with pytest.raises(StoreError, match="cursor is invalid"):
        store.events(EventQuery(sort="importance", cursor=cursor))
