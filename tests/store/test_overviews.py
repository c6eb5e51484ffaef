"""Overviews: what the events of a place, a concept or a source have in common."""

import pytest

from isogloss.store import ClusterRow, EventRow, Update
from isogloss.store.queries import _overviews

from .test_articles import article

ROME = {"id": "1", "name": "Rome", "latitude": 41.9, "longitude": 12.5, "count": 3}
OSLO = {"id": "2", "name": "Oslo", "count": 1}
RAIN = {"id": "word:rain", "label": "rain", "weight": 0.5}


def _event(number, places, concepts=(), languages=("en",)):
    day = f"1970-01-{number + 1:02}"
    terms = [("place", place["id"]) for place in places] + [("concept", one["id"]) for one in concepts]
    told = {"places": places, "concepts": list(concepts), "languages": dict.fromkeys(languages, 2)}
    return EventRow(
        f"e{number}", 0, number, 2, languages, terms, told | {"timeline": [[day, 2], ["1970-02-01", 1]]}
    )


@pytest.fixture
def filled(store):
    store.add([article(number, source=source) for number, source in enumerate(["Gull", "Auk", "Gull"], 1)])
    store.apply(
        Update(
            0,
            3,
            events=[
                _event(1, [ROME], [RAIN]),
                _event(2, [OSLO, ROME], languages=("de", "en")),
                _event(3, [OSLO], [RAIN], languages=("no",)),
            ],
            clusters=[ClusterRow(n, "en", f"e{n}", 0, n, [n]) for n in (1, 2, 3)],
        )
    )
    return store


def test_a_place(filled):
    rome = filled.overview("place", "1")
    assert (rome.events, rome.summarised) == (2, 2)
    assert rome.details == {"id": "1", "name": "Rome", "latitude": 41.9, "longitude": 12.5}
    assert rome.timeline == {"1970-01-02": 2, "1970-01-03": 2, "1970-02-01": 2}
    assert rome.languages == {"en": 2, "de": 1}
    assert rome.sources == {"Auk": 1, "Gull": 1}
    assert [(place["name"], place["events"]) for place in rome.places] == [("Oslo", 1)]
    assert [(concept["label"], concept["events"]) for concept in rome.concepts] == [("rain", 1)]


def test_a_concept_and_a_source(filled):
    rain = filled.overview("concept", "word:rain")
    assert (rain.details["label"], rain.events, rain.concepts) == ("rain", 2, [])
    assert [place["name"] for place in rain.places] == ["Rome", "Oslo"]
    gull = filled.overview("source", "Gull")
    assert (gull.details, gull.events, gull.sources) == ({}, 2, {})
    assert gull.languages == {"en": 1, "no": 1}


@pytest.mark.parametrize(
    ("kind", "term"), [("place", "9"), ("place", "word:rain"), ("concept", ""), ("lang", "xx")]
)
def test_without_events_there_is_none(filled, kind, term):
    assert filled.overview(kind, term) is None


def test_the_newest_events_are_summarised(filled, monkeypatch):
    monkeypatch.setattr(_overviews, "MAX_OVERVIEW_EVENTS", 1)
    oslo = filled.overview("place", "2")
    assert (oslo.events, oslo.summarised, oslo.languages) == (2, 1, {"no": 1})
