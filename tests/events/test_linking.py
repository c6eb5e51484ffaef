"""Links between clusters follow the stream: candidates, features, moves, events, explanations."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from isogloss.events import Article
from isogloss.events.annotate import news_concepts
from isogloss.events.annotate._word_tables import NEWS_WORDS
from isogloss.events.cluster import Vector
from isogloss.events.cluster._vectors import dot_product
from isogloss.events.link import (
    FEATURES,
    ArticleProfile,
    CandidateIndex,
    ClusterProfile,
    LinkState,
    ProfileBuilder,
    explain_link,
)
from isogloss.events.link._features import pair_features
from isogloss.events.track import EventTracker
from tests.elsewhere import same_elsewhere

START = datetime(2031, 3, 5, tzinfo=UTC)
TITLES = [
    ("q1", "en", "Strong earthquake hits Valparaiso, Maria Obregon reports"),
    ("q2", "de", "Starkes Erdbeben in Valparaiso, meldet Maria Obregon"),
    ("q3", "ru", "Сильное землетрясение в Вальпараисо, сообщает Мария Обрегон"),
    ("s1", "en", "Ferry strike in Kristiansand ends, says Torvald Lunde"),
    ("s2", "de", "Streik der Fähren in Kristiansand endet, sagt Torvald Lunde"),
    ("s3", "ru", "Забастовка паромов в Кристиансанде закончена, сказал Торвальд Лунде"),
]


def _signatures() -> list[ArticleProfile]:
    make = ProfileBuilder().build
    return [
        make(Article(key, lang, title, "", START + timedelta(hours=hour)))
        for hour, (key, lang, title) in enumerate(TITLES)
    ]


@pytest.fixture
def state() -> LinkState:
    links = LinkState()
    for number, signature in enumerate(_signatures(), start=1):
        links.add(signature, number)
    return links


def _vector(*ids: int) -> Vector:
    return Vector(np.array(ids, dtype=np.int32), np.full(len(ids), len(ids) ** -0.5))


def _sign(key: str, lang: str, *ids: int, **more: object) -> ArticleProfile:
    return ArticleProfile(key, lang, key, 0.0, "", _vector(*ids), **more)  # type: ignore[arg-type]


def test_titles_of_one_story_are_similar_across_scripts() -> None:
    table = [[dot_product(a.vector, b.vector) for b in _signatures()] for a in _signatures()]
    for i in range(6):
        best = max((j for j in range(6) if j != i), key=lambda j: table[i][j])
        assert i // 3 == best // 3, TITLES[i]


def _told(neighbours: CandidateIndex, signature: ArticleProfile, group: int = 0) -> dict[str, float]:
    near = neighbours.add(signature, group)
    return dict(zip(neighbours.ids_of(near.numbers), near.similarities.tolist(), strict=True))


def test_neighbours_are_the_nearest_of_each_language() -> None:
    neighbours = CandidateIndex(k=2)
    for number in range(6):
        neighbours.add(_sign(f"de{number}", "de", 1, 2, *range(10, 10 + number)))
    neighbours.add(_sign("fr", "fr", 1, 90))
    found = _told(neighbours, _sign("en", "en", 1, 2))
    assert set(found) == {"de0", "de1", "fr"}
    assert found["de0"] == pytest.approx(1.0)


def test_articles_that_were_forgotten_or_are_skipped_are_no_neighbours() -> None:
    neighbours = CandidateIndex()
    for key in ("a", "b", "c", "d"):
        neighbours.add(_sign(key, "de", 1, 2), group=7 if key == "b" else 8)
    neighbours.forget("a")
    neighbours.regroup(["d"], 7)
    assert list(_told(neighbours, _sign("e", "en", 1, 2), group=7)) == ["c"]
    with pytest.raises(ValueError, match="is already in the index"):
        neighbours.add(_sign("e", "en", 1, 2))


def test_of_equal_neighbours_the_later_are_returned() -> None:
    neighbours = CandidateIndex(k=3)
    for number in range(20):
        neighbours.add(_sign(f"de{number}", "de", 1, 2))
    assert list(_told(neighbours, _sign("en", "en", 1, 2))) == ["de17", "de18", "de19"]


def test_what_is_looked_at_does_not_grow_with_the_stream() -> None:
    neighbours = CandidateIndex(k=500, max_compared=16)
    for number in range(500):
        neighbours.add(_sign(f"de{number}", "de", 1, 2), group=1)
    assert len(_told(neighbours, _sign("en", "en", 1, 2))) == 16


def test_latent_neighbours_are_found_without_a_common_term() -> None:
    neighbours = CandidateIndex(k=2)
    axes = np.eye(3, dtype=np.float32)
    neighbours.add(_sign("a", "de", 1, latent=axes[0]))
    neighbours.add(_sign("b", "de", 2, latent=axes[1]))
    neighbours.add(_sign("b2", "de", 2, latent=axes[1]), group=4)
    assert _told(neighbours, _sign("c", "en", 3, latent=axes[1]), group=4) == {"b": 0.0}


def test_the_similarity_of_neighbours_is_that_of_texts_whichever_way_they_were_found() -> None:
    axes = np.eye(2, dtype=np.float32)
    plain, latent = CandidateIndex(), CandidateIndex()
    for number, vector in enumerate((axes[0], axes[1])):
        plain.add(_sign(f"de{number}", "de", 1, number + 2))
        latent.add(_sign(f"de{number}", "de", 1, number + 2, latent=vector))
    found = _told(latent, _sign("en", "en", 1, 2, latent=axes[1]))
    assert found == _told(plain, _sign("en", "en", 1, 2))
    assert len(found) == 2


def test_articles_somewhat_near_in_the_latent_space_are_no_neighbours() -> None:
    neighbours = CandidateIndex()
    neighbours.add(_sign("a", "de", 1, latent=np.array([1.0, 0.0], dtype=np.float32)))
    assert not _told(neighbours, _sign("b", "en", 2, latent=np.array([0.6, 0.8], dtype=np.float32)))


def test_pairs_near_in_the_latent_space_only_are_no_links_to_features() -> None:
    profiles = [
        ClusterProfile(n, one.lang, [one]) for n, one in enumerate((_sign("a", "de", 1), _sign("b", "en", 2)))
    ]
    assert pair_features(*profiles, [0.4, 0.0])["linkCount"] == 1.0
    assert pair_features(*profiles, [0.4, 0.0])["avgSimScore"] == 0.4
    assert pair_features(*profiles, [0.0])["linkCount"] == 0.0


def test_features_are_those_of_their_definitions() -> None:
    one = _sign("a", "de", 1, 2, entities={"x": 3.0, "y": 4.0}, places=("p", "q"), numbers=("12", "40"))
    two = _sign("b", "en", 1, 3, entities={"x": 1.0}, places=("p",), numbers=("12",))
    found = pair_features(
        ClusterProfile(1, "de", [one]), ClusterProfile(2, "en", [replace(two, time=7200.0)]), [0.4, 0.6]
    )
    assert tuple(found) == FEATURES
    expected = {
        "linkCount": 2.0,
        "avgSimScore": 0.5,
        "entityCosSim": 0.6,
        "entityJaccardSim": 0.5,
        "hasSameLocation": 1.0,
        "timeDiff": 2.0,
        "timeGap": 2.0,
        "textCosSim": 0.5,
        "sharedNumbers": 1.0,
        "sharedPlaces": 1.0,
        "nameConflict": 0.0,
        "linkRatio": 0.1,
        "sameLanguage": 0.0,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert all(np.isnan(found[name]) for name in ("keywordCosSim", "sharedDates", "latentCosSim"))


def test_names_conflict_where_both_clusters_have_their_own() -> None:
    one = ClusterProfile(1, "de", [_sign("a", "de", 1, entities={"x": 3.0, "y": 4.0, "z": 1.0})])
    two = ClusterProfile(2, "en", [_sign("b", "en", 1, entities={"x": 1.0, "u": 1.0, "v": 2.0, "w": 1.0})])
    nameless = ClusterProfile(3, "en", [_sign("c", "en", 1)])
    assert pair_features(one, two, [])["nameConflict"] == pytest.approx(np.log(3))
    assert np.isnan(pair_features(one, nameless, [])["nameConflict"])


def test_features_do_not_depend_on_which_cluster_is_first() -> None:
    a, b = (ClusterProfile(n, s.lang, [s]) for n, s in enumerate(_signatures()[:2]))
    np.testing.assert_equal(pair_features(a, b, [0.3]), pair_features(b, a, [0.3]))


def test_clusters_of_one_story_become_one_event_with_titles_in_all_languages(state: LinkState) -> None:
    tracker = EventTracker(state)
    assert tracker.update() == [1, 2]
    event = tracker.event(1)
    assert event.clusters == (1, 2, 3)
    assert event.titles == {lang: title for _, lang, title in TITLES[:3]}
    assert sum(event.timeline.values()) == len(event) == 3
    assert 0.5 < event.confidence <= 1.0
    assert event.first == START
    assert [one.id for one in tracker.events()] == [1, 2]


def test_an_update_without_news_changes_nothing(state: LinkState) -> None:
    tracker = EventTracker(state)
    tracker.update()
    before = dict(tracker.ids.event_of)
    assert tracker.update() == []
    assert tracker.ids.event_of == before


def test_small_updates_and_one_large_one_agree(state: LinkState) -> None:
    often, links = [], LinkState()
    tracker = EventTracker(links)
    for number, signature in enumerate(_signatures(), start=1):
        links.add(signature, number)
        often += tracker.update()
    once = EventTracker(state)
    once.update()
    groups = ({frozenset(one) for one in each.ids.members.values()} for each in (tracker, once))
    assert next(groups) == next(groups)


def test_expired_clusters_leave_nothing_behind(state: LinkState) -> None:
    tracker = EventTracker(state)
    tracker.update()
    for cluster in range(1, 7):
        state.expire(cluster)
    tracker.update()
    assert not state.profiles
    assert not state.articles
    assert len(state.near) == len(state.bonds) == 0
    assert not state.cluster_of
    assert not tracker.ids.members
    assert not tracker.probabilities
    assert not state.candidates.numbers
    assert not state.candidates.articles
    with pytest.raises(KeyError, match="no event 1"):
        tracker.event(1)


def test_moves_and_merges_give_the_profiles_of_the_final_clusters(state: LinkState) -> None:
    state.merge(4, 1)
    state.move("s1", 9)
    state.move("q1", 1)
    expected = ClusterProfile(9, "en", [state.articles["s1"]])
    assert state.profiles[9].articles == expected.articles
    np.testing.assert_allclose(state.profiles[9].vector.weights, expected.vector.weights)
    assert state.profiles[1].articles == ["q1"]
    assert 4 not in state.profiles
    assert set(state.strongest_links([9])[0].ravel().tolist()) >= {5, 6, 9}


def test_links_that_a_cluster_lost_are_forgotten(state: LinkState) -> None:
    tracker = EventTracker(state)
    state.merge(4, 1)
    tracker.update()
    assert {5, 6} <= tracker.probabilities[1].keys()
    state.move("s1", 9)
    tracker.update()
    anew = EventTracker(state)
    state.changed = set(state.profiles)
    anew.update()
    assert tracker.probabilities == anew.probabilities
    assert not {5, 6} & tracker.probabilities[1].keys()


def test_a_profile_that_grows_is_compared_as_one_built_from_scratch() -> None:
    """What is asked in between does not show, and of equally frequent places the first by name counts."""
    told = [("b", "c"), ("c",), ("b", "a"), ("a",), ("b",), ("d",)]
    signatures = [
        replace(
            _sign(str(n), "de", n % 2),
            places=places,
            entities={"x": 0.1 * n, f"y{n}": 1.0},
            dates=(date(2031, 3, n + 1),),
        )
        for n, places in enumerate(told)
    ]
    other, grown, most_named = ClusterProfile(2, "en", signatures[1:3]), ClusterProfile(1, "de"), []
    for n, signature in enumerate(signatures, 1):
        grown.add(signature)
        most_named.append(grown.most_named)
        anew = ClusterProfile(1, "de", signatures[:n])
        assert repr(pair_features(grown, other, [0.4])) == repr(pair_features(anew, other, [0.4]))
    assert most_named == ["b", "c", "b", "a", "b", "b"]


def test_redelivery_changes_nothing(state: LinkState) -> None:
    before = {one: list(profile.articles) for one, profile in state.profiles.items()}
    state.add(state.articles["q1"], 1)
    assert {one: list(profile.articles) for one, profile in state.profiles.items()} == before


def test_an_explanation_adds_up_and_names_the_articles(state: LinkState) -> None:
    link = state.link(2, 1)
    said = explain_link(link, state.linker, state.articles)
    odds = np.log(link.probability / (1 - link.probability))
    assert sum(reason.contribution for reason in said.reasons) == pytest.approx(odds)
    assert said.pairs[0][:2] == (TITLES[0][2], TITLES[1][2])
    assert "textCosSim" in str(said)
    assert TITLES[1][2] in str(said)
    assert said.as_dict()["probability"] == link.probability


def test_every_language_has_words_for_nearly_every_meaning() -> None:
    for lang in ("en", "de", "es", "fr", "it", "pt", "nl", "ru", "sl", "ar", "zh"):
        assert all(words for _, words in NEWS_WORDS.rows(lang)), lang
    assert news_concepts("东京奥运会开幕", "zh").keys() >= {"olympics", "opening"}
    assert "olympics" in news_concepts("الأولمبية", "ar")


SCRIPT = """
from tests.events.test_linking import _signatures
from isogloss.events.link import LinkState
from isogloss.events.track import EventTracker

state = LinkState()
tracker = EventTracker(state)
for number, signature in enumerate(_signatures(), 1):
    state.add(signature, number)
    tracker.update()
print([event.as_dict() for event in tracker.events()])
"""


def test_events_are_the_same_in_every_process() -> None:
    assert same_elsewhere(SCRIPT) != "[]\n"


def test_titles_alone_is_the_share_of_articles_without_a_body() -> None:
    vector = Vector(np.array([4], dtype=np.int32), np.ones(1))
    bare = [ArticleProfile(name, "de", "Beben", 0.0, "", vector) for name in "ab"]
    full = ArticleProfile("c", "en", "Quake", 0.0, "The ground shook for a minute.", vector)
    mixed = pair_features(ClusterProfile(1, "de", bare), ClusterProfile(2, "en", [full]), [])
    assert mixed["titlesAlone"] == pytest.approx(2 / 3)
    assert (
        pair_features(ClusterProfile(2, "en", [full]), ClusterProfile(3, "en", [full]), [])["titlesAlone"]
        == 0
    )
