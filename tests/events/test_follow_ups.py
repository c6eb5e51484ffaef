"""A follow-up that all languages tell with a new name becomes an event of its own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.events.cluster import Vector
from isogloss.events.link import ArticleProfile, ClusterProfile, LinkState
from isogloss.events.track import AgglomerationRules, EventTracker
from isogloss.events.track._follow_ups import split_follow_ups
from isogloss.kernels import PackedProfile, find_new_name
from tests.oracles import linking as twin

DAY = 86_400.0
NOTHING = Vector(np.empty(0, dtype=np.int32), np.empty(0))
Clusters = dict[int, ClusterProfile]


def _cluster(number: int, lang: str, day: float, *names: str, articles: int = 1) -> ClusterProfile:
    return ClusterProfile(
        number,
        lang,
        [
            ArticleProfile(
                f"{number}.{i}", lang, "", day * DAY, "", NOTHING, entities=dict.fromkeys(names, 1.0)
            )
            for i in range(articles)
        ],
    )


def _succession(languages: str = "de en fr it") -> Clusters:
    """A minister resigns; after four days all languages name the successor, too."""
    spoken = languages.split()
    before = [_cluster(i, lang, i / 100, "Truss", "UK") for i, lang in enumerate(spoken, 1)]
    later = [_cluster(i, lang, 4 + i / 100, "Truss", "Sunak", "UK") for i, lang in enumerate(spoken, 11)]
    return {one.id: one for one in [*before, *later]}


def test_an_event_is_split_where_all_languages_turn_to_a_new_name() -> None:
    profiles = _succession()
    found = split_follow_ups([list(profiles)], profiles, 0.6)
    assert found == [[1, 2, 3, 4], [11, 12, 13, 14]]


def test_names_that_were_there_from_the_beginning_split_nothing() -> None:
    profiles = _succession()
    for number in (1, 2, 3):
        profiles[number] = _cluster(number, profiles[number].lang, number / 100, "Truss", "Sunak", "UK")
    assert split_follow_ups([list(profiles)], profiles, 0.6) == [sorted(profiles)]


def test_a_name_of_one_language_splits_nothing() -> None:
    profiles = _succession("de en fr it")
    for number in (11, 12, 13):
        profiles[number] = _cluster(number, profiles[number].lang, 4 + number / 100, "Truss", "UK")
    assert split_follow_ups([list(profiles)], profiles, 0.6) == [sorted(profiles)]


def test_a_name_that_comes_with_other_languages_splits_nothing() -> None:
    early = [_cluster(i, lang, i / 100, "truss") for i, lang in enumerate(("de", "en", "fr", "it"), 1)]
    late = [_cluster(i, lang, 4 + i / 100, "трасс") for i, lang in enumerate(("be", "bg", "ru", "uk"), 11)]
    profiles = {one.id: one for one in [*early, *late]}
    assert split_follow_ups([list(profiles)], profiles, 0.6) == [sorted(profiles)]


def test_two_languages_are_too_few_and_three_are_enough() -> None:
    for spoken, parts in (("de en", 1), ("de en fr", 2)):
        profiles = _succession(spoken)
        assert len(split_follow_ups([list(profiles)], profiles, 0.6)) == parts


def test_parts_are_split_again() -> None:
    profiles = _succession()
    third = [
        _cluster(i, lang, 9 + i / 100, "Truss", "Hunt", "UK")
        for i, lang in enumerate(["de", "en", "fr", "it"], 21)
    ]
    profiles |= {one.id: one for one in third}
    assert split_follow_ups([list(profiles)], profiles, 0.6) == [
        [1, 2, 3, 4],
        [11, 12, 13, 14],
        [21, 22, 23, 24],
    ]


def test_a_score_of_one_or_more_splits_nothing() -> None:
    profiles = _succession()
    assert split_follow_ups([list(profiles)], profiles, 1.0) == [sorted(profiles)]


def test_clusters_at_one_time_are_not_told_apart() -> None:
    profiles = {
        i: _cluster(i, lang, 0, *names)
        for i, (lang, *names) in enumerate(
            [("de",), ("en",), ("fr",), ("de", "Sunak"), ("en", "Sunak"), ("fr", "Sunak")], 1
        )
    }
    assert split_follow_ups([list(profiles)], profiles, 0.6) == [sorted(profiles)]


@pytest.mark.parametrize(("new_name", "events"), [(0.6, 2), (1.0, 1)])
def test_the_tracker_gives_a_follow_up_an_id_of_its_own(new_name: float, events: int) -> None:
    links = LinkState()
    links.profiles = _succession()
    links.changed = set(links.profiles)
    tracker = EventTracker(links, AgglomerationRules(new_name=new_name))
    tracker._refresh = lambda _: None  # type: ignore[method-assign]
    tracker.probabilities = {
        one: {other: 0.95 for other in links.profiles if other != one} for one in links.profiles
    }
    assert len(tracker.update()) == events
    assert len(tracker.ids.members) == events


CLUSTERS = st.lists(
    st.tuples(
        st.sampled_from(["de", "en", "fr"]),
        st.integers(0, 6).map(float),
        st.lists(st.sets(st.sampled_from("abc")), min_size=1, max_size=3),
    ),
    max_size=8,
).map(lambda some: sorted(some, key=lambda one: one[1]))


@given(clusters=CLUSTERS, least=st.sampled_from([0.0, 1.5, 3.0]))
def test_the_score_is_that_of_the_twin(
    clusters: list[tuple[str, float, list[set[str]]]], least: float
) -> None:
    packed = []
    for _, _, some in clusters:
        packed.append(PackedProfile(1))
        for names in some:
            packed[-1].add([tuple(sorted(names))])
    codes = {lang: code for code, lang in enumerate(dict.fromkeys(lang for lang, _, _ in clusters))}
    score, place = find_new_name(
        packed,
        np.array([len(some) for _, _, some in clusters], dtype=np.float64),
        np.array([time for _, time, _ in clusters]),
        np.array([codes[lang] for lang, _, _ in clusters], dtype=np.int32),
        0,
        1.0,
        least,
    )
    expected, where = twin.find_new_name(clusters, 1.0, least)
    assert score == pytest.approx(expected, abs=1e-9)
    if expected > 1e-9:
        assert 0 < place < len(clusters)
        assert 0 < where < len(clusters)


def test_sequences_that_do_not_fit_are_refused() -> None:
    one, no_times = PackedProfile(1), np.empty(0)
    codes = np.zeros(1, dtype=np.int32)
    with pytest.raises(ValueError, match="lengths differ"):
        find_new_name([one], np.ones(1), no_times, codes, 0, 1.0, 0.0)
    with pytest.raises(ValueError, match="other parts"):
        find_new_name([one], np.ones(1), np.zeros(1), codes, 2, 1.0, 0.0)
    with pytest.raises(ValueError, match="articles of a language"):
        find_new_name([one], np.zeros(1), np.zeros(1), codes, 0, 1.0, 0.0)
