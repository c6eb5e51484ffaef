"""An update looks at what a change may concern, and at no more."""

from __future__ import annotations

import numpy as np
import pytest

from isogloss.events.cluster import Vector
from isogloss.events.event import describe_event
from isogloss.events.link import ArticleProfile, ClusterProfile, LinkState
from isogloss.events.track import AgglomerationRules, EventTracker

STORY = {1: "de", 2: "en", 3: "es", 4: "fr"}
NEW = 9


@pytest.fixture
def tracker() -> EventTracker:
    links = LinkState()
    for cluster, lang in {**STORY, NEW: "it"}.items():
        links.profiles[cluster] = ClusterProfile(cluster, lang)
        links.profiles[cluster].articles = [str(cluster)]
    found = EventTracker(links, AgglomerationRules(threshold=0.5, unlinked=1.0))
    found.probabilities = {
        one: {other: 0.9 for other in STORY if other != one} for one in links.profiles if one != NEW
    }
    found.ids.assign([list(STORY)], dict.fromkeys(STORY, 1))
    return found


def _link(tracker: EventTracker, others: list[int]) -> None:
    tracker.probabilities[NEW] = dict.fromkeys(others, 0.9)
    for other in others:
        tracker.probabilities[other][NEW] = 0.9


@pytest.mark.parametrize(("others", "expected"), [([1], {NEW}), ([1, 2], {NEW, *STORY})])
def test_an_event_is_tried_if_the_links_of_a_cluster_speak_for_it_as_a_whole(
    tracker: EventTracker, others: list[int], expected: set[int]
) -> None:
    _link(tracker, others)
    assert tracker._affected_clusters([NEW]) == expected


def test_clusters_without_a_link_count_less_against_an_event(tracker: EventTracker) -> None:
    tracker.rules = AgglomerationRules(threshold=0.5, unlinked=0.2)
    _link(tracker, [1])
    assert tracker._affected_clusters([NEW]) == {NEW, *STORY}


def test_the_event_of_a_cluster_that_changed_is_looked_at_whole(tracker: EventTracker) -> None:
    _link(tracker, [])
    tracker.probabilities[2] = {}
    assert tracker._affected_clusters([2]) == set(STORY)


def test_large_clusters_of_an_event_count_for_more(tracker: EventTracker) -> None:
    tracker.links.profiles[1].articles = [f"1.{n}" for n in range(16)]
    _link(tracker, [1])
    assert tracker._affected_clusters([NEW]) == {NEW, *STORY}


def test_a_title_is_that_of_a_central_article_and_follows_the_cluster():
    near, far = (Vector(np.array([one], dtype=np.int32), np.ones(1)) for one in (3, 9))
    told = [("a", far), ("b", near), ("c", near)]
    signatures = {
        name: ArticleProfile(name, "en", f"title {name}", float(n), "", vector)
        for n, (name, vector) in enumerate(told)
    }
    profile = ClusterProfile(1, "en", [signatures["a"]])
    assert describe_event(7, [profile], signatures, 1.0).titles == {"en": "title a"}
    for name in "bc":
        profile.add(signatures[name])
    assert describe_event(7, [profile], signatures, 1.0).titles == {"en": "title b"}


def test_concepts_are_entities_and_keywords_with_the_largest_sums():
    vector = Vector(np.array([3], dtype=np.int32), np.ones(1))
    told = {
        "a": ("en", {"org:UN": 1.5}, {"word:flood": 2.0}),
        "b": ("en", {"org:UN": 1.0}, {}),
        "c": ("de", {}, {"word:flood": 1.0, "org:UN": 0.75}),
    }
    signatures = {
        name: ArticleProfile(name, lang, name, 0.0, "", vector, entities=entities, keywords=keywords)
        for name, (lang, entities, keywords) in told.items()
    }
    english = ClusterProfile(1, "en", [signatures["a"], signatures["b"]])
    german = ClusterProfile(2, "de", [signatures["c"]])
    event = describe_event(7, [english, german], signatures, 1.0)
    assert list(event.concepts.items()) == [("org:UN", 3.25), ("word:flood", 3.0)]


def test_places_are_those_that_most_articles_name():
    vector = Vector(np.array([3], dtype=np.int32), np.ones(1))
    named = {"a": ("12", "7"), "b": ("7",), "c": ("12", "9"), "d": ("9", "7")}
    signatures = {
        name: ArticleProfile(name, lang, name, 0.0, "", vector, keywords={"12": 9.0}, places=places)
        for (name, places), lang in zip(named.items(), ("en", "en", "de", "de"), strict=True)
    }
    clusters = [
        ClusterProfile(n, lang, [one for one in signatures.values() if one.lang == lang])
        for n, lang in enumerate(("en", "de"))
    ]
    event = describe_event(7, clusters, signatures, 1.0)
    assert list(event.places.items()) == [("7", 3), ("12", 2), ("9", 2)]
