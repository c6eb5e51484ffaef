"""Clusters of a stream: what joins, what is found again, what is forgotten."""

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest

from isogloss.events import Article
from isogloss.events.checkpoint._cluster_state import from_state, state_dict
from isogloss.events.cluster import (
    ClusterSettings,
    ClusterState,
    Decision,
    TermWindow,
    article_terms,
    transition,
)
from isogloss.events.cluster import _vectors as vectors
from isogloss.events.cluster._clustering import _choose, repair
from isogloss.events.training import bcubed
from tests.elsewhere import same_elsewhere

START = datetime(2031, 3, 5, 8, tzinfo=UTC)


def article(name: str, title: str, hours: float = 0, lang: str = "en", body: str = "") -> Article:
    return Article(name, lang, title, body, START + timedelta(hours=hours))


def made_up(n: int = 300, seed: int = 0) -> tuple[list[Article], list[int]]:
    """Stories of twelve words, told in titles of seven of them; two languages by turns."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(rng.choice(letters, rng.integers(4, 9))) for _ in range(3000)]
    stories = [rng.choice(3000, 12, replace=False) for _ in range(n // 6 + 1)]
    articles, told = [], []
    for i in range(n):
        story = int(rng.integers(max(0, i // 6 - 5), i // 6 + 1))
        title = " ".join(words[w] for w in rng.choice(stories[story], 7, replace=False))
        articles.append(article(str(i), title, i / 4, ("en", "de")[story % 2]))
        told.append(story)
    return articles, told


def fold(articles: list[Article], state: ClusterState) -> list[Decision]:
    return [transition(state, one) for one in articles]


def as_json(decisions: list[Decision]) -> str:
    return json.dumps([repr(one) for one in decisions])


def same(one: ClusterState, other: ClusterState) -> bool:
    a, b = state_dict(one), state_dict(other)
    equal = [np.array_equal(a["arrays"][name], b["arrays"][name]) for name in a["arrays"]]
    return json.dumps(a["header"]) == json.dumps(b["header"]) and all(equal)


def test_stories_are_distinguished() -> None:
    articles, told = made_up()
    state = ClusterState()
    fold(articles, state)
    assert bcubed(told, [state.members[one.id].cluster for one in articles]).f1 > 0.95


def test_decisions_list_every_change() -> None:
    articles, _ = made_up(1200)
    state = ClusterState(ClusterSettings(repair_every=32, window=3.0, threshold=0.35, merge_threshold=0.5))
    clusters: dict[int, list[str]] = {}
    decisions = fold(articles, state)
    for one in decisions:
        for number in one.expired:
            del clusters[number]
        home = one.cluster
        for number in (source for source, _ in one.merged):
            assert number != home
        if one.created:
            clusters[home] = []
        for source, target in one.merged:
            clusters.setdefault(target, []).extend(clusters.pop(source))
        clusters.setdefault(home, []).append(one.article)
        for move in one.moved:
            clusters[move.source].remove(move.article)
            clusters.setdefault(move.target, []).append(move.article)
        for number in one.emptied:
            assert clusters.pop(number) == []
    assert {number: sorted(ids) for number, ids in clusters.items()} == {
        number: sorted(cluster.article_ids) for number, cluster in state.clusters.items()
    }
    for kind in ("merged", "moved", "emptied", "expired"):
        assert any(getattr(one, kind) for one in decisions), kind


def test_members_and_clusters_agree_and_centroids_are_sums() -> None:
    articles, _ = made_up(240)
    state = ClusterState(ClusterSettings(repair_every=1000))
    fold(articles, state)
    assert sum(map(len, state.clusters.values())) == len(state.members) == 240
    for number, cluster in state.clusters.items():
        members = [state.members[one] for one in cluster.article_ids]
        assert {member.cluster for member in members} == {number}
        total = np.zeros(1 << 20)
        for member in members:
            total[member.vector.ids] += member.vector.weights
        np.testing.assert_allclose(total[cluster.total.ids], cluster.total.weights, rtol=1e-9)
        assert cluster.norm == pytest.approx(np.linalg.norm(total), rel=1e-9)
        assert cluster.seconds == sum(member.time for member in members)


def test_centroids_are_sums_after_articles_moved() -> None:
    articles, _ = made_up(96)
    state = ClusterState(ClusterSettings(repair_every=1000))
    fold(articles, state)
    moved = next(one for one in state.clusters.values() if len(one) > 2)
    name = moved.article_ids[0]
    state.unassign(name)
    rest = np.zeros(1 << 20)
    for other in moved.article_ids:
        rest[state.members[other].vector.ids] += state.members[other].vector.weights
    assert np.flatnonzero(rest > 1e-9).tolist() == moved.total.ids.tolist()
    np.testing.assert_allclose(rest[moved.total.ids], moved.total.weights, atol=1e-9)


def test_a_merged_cluster_is_found_by_the_words_of_both() -> None:
    state = ClusterState()
    fold([article("1", "Storm floods Veldmar harbour"), article("2", "Kaltenau bakers win prize")], state)
    state.merge(state.clusters[2], state.clusters[1])
    assert transition(state, article("3", "Prize for the bakers of Kaltenau", 1)).cluster == 1


def test_a_known_article_changes_nothing() -> None:
    articles, _ = made_up(100)
    once, again = ClusterState(), ClusterState()
    fold(articles, once)
    for one in articles:
        first = transition(again, one)
        second = transition(again, replace(one, title="something else"))
        assert second == Decision(one.id, first.cluster, repeated=True)
    assert same(once, again)


def test_going_on_from_a_snapshot_is_going_on() -> None:
    articles, _ = made_up(700)
    settings = ClusterSettings(repair_every=50, window=3.0)
    whole, half = ClusterState(settings), ClusterState(settings)
    expected = fold(articles, whole)
    fold(articles[:333], half)
    snapshot = state_dict(half)
    loaded = from_state(json.loads(json.dumps(snapshot["header"])), snapshot["arrays"])
    assert same(loaded, half)
    assert fold(articles[333:], loaded) == expected[333:]
    assert same(loaded, whole)


def test_every_process_decides_the_same() -> None:
    assert same_elsewhere(
        "from tests.events.test_clustering import *\n"
        "print(as_json(fold(made_up(150)[0], ClusterState(ClusterSettings(repair_every=40)))))"
    )


def test_languages_do_not_mix() -> None:
    state = ClusterState()
    decisions = fold(
        [article("1", "Veldmar storm", lang="en"), article("2", "Veldmar storm", lang="de")], state
    )
    assert decisions[0].cluster != decisions[1].cluster


def test_languages_have_their_own_numbers() -> None:
    one, other = (article_terms(article("1", "Veldmar storm", lang=lang)).title[0] for lang in ("en", "de"))
    assert not set(one.tolist()) & set(other.tolist())


def test_scripts_without_blanks() -> None:
    state = ClusterState()
    titles = ["维尔德马港口遭遇暴风雨", "暴风雨袭击维尔德马港口", "卡尔特瑙选举新市长"]
    found = [one.cluster for one in fold([article(t, t, lang="zh") for t in titles], state)]
    assert found == [1, 1, 2]


def test_names_of_sites_do_not_make_a_story() -> None:
    state = ClusterState()
    titles = [
        "Ferry strikes pier in Veldmar | Gull Online News",
        "Kaltenau bakers win prize | Gull Online News",
    ]
    assert [one.created for one in fold([article(t, t) for t in titles], state)] == [True, True]


def test_resemblance_fades_with_time() -> None:
    def joined(hours: float) -> bool:
        state = ClusterState()
        fold([article("1", "Veldmar mayor opens the new bridge")], state)
        return not transition(state, article("2", "New stadium for Veldmar, mayor says", hours)).created

    assert joined(1)
    assert not joined(24 * 5)


def test_articles_may_come_out_of_order() -> None:
    state = ClusterState()
    found = fold(
        [article("1", "Storm floods Veldmar harbour", 30), article("2", "Veldmar harbour flooded", 2)], state
    )
    assert found[1].cluster == found[0].cluster
    assert (state.clusters[1].first, state.clusters[1].last) == (
        START + timedelta(hours=2),
        START + timedelta(hours=30),
    )


def test_clusters_expire_and_their_articles_are_forgotten() -> None:
    state = ClusterState(ClusterSettings(window=2.0))
    transition(state, article("1", "Storm floods Veldmar harbour"))
    assert transition(state, article("2", "Kaltenau bakers win prize", 47)).expired == ()
    assert transition(state, article("3", "Orvik ferry late", 49)).expired == (1,)
    assert list(state.members) == ["2", "3"]
    late = transition(state, article("4", "Storm floods Veldmar harbour", 0))
    assert late.created
    assert transition(state, article("5", "Ferry back", 49)).expired == (late.cluster,)


def test_a_cluster_that_always_has_news_ends_as_well() -> None:
    state = ClusterState(ClusterSettings(window=2.0, max_age=5.0))
    decisions = fold([article(str(i), "The weather in Veldmar today", 12 * i) for i in range(12)], state)
    assert [one.cluster for one in decisions] == [1] * 11 + [2]
    assert len(state.members) == 1


def test_there_are_never_more_articles_than_asked_for() -> None:
    state = ClusterState(ClusterSettings(max_articles=20))
    for one in made_up(200)[0]:
        transition(state, one)
        assert len(state.members) <= 21


def test_terms_are_counted_in_the_window_only() -> None:
    window = TermWindow(days=2)
    terms = article_terms(article("1", "storm"))
    for day in range(5):
        window.add(terms, "en", (START + timedelta(days=day)).date())
    assert window.articles == {"en": 2}
    assert set(window.counts.as_table()[terms.title[0]].tolist()) == {2}
    assert window.counts.as_table().sum() == 2 * len(terms.title[0])


def test_what_a_day_has_counted_is_one_table_however_many_articles_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vectors, "_MAX_OPEN_ARTICLES", 4)
    window, words = TermWindow(days=2), ["storm", "flood", "storm"]
    for day in range(3):
        for n in range(30):
            terms = article_terms(article(str(n), words[n % 3]))
            window.add(terms, ("en", "de")[n % 2], (START + timedelta(days=day)).date())
    closed = window.state_dict()["header"]["closed"]
    assert [len(closed), sum(sum(articles.values()) for *_, articles in closed)] == [2, 58]
    assert window.articles == {"en": 30, "de": 30}
    for word, n in (("storm", 40), ("flood", 20)):
        assert set(window.counts.as_table()[article_terms(article("1", word)).title[0]].tolist()) == {n}


def test_an_article_without_words_is_a_cluster_of_its_own() -> None:
    state = ClusterState()
    assert [one.created for one in fold([article("1", "?!"), article("2", "...")], state)] == [True, True]


def test_a_long_body_costs_no_more_than_its_beginning() -> None:
    long = article("1", "Storm", body="wind " * 200_000 + "harbour")
    short = article("1", "Storm", body="wind " * 100_000)
    assert article_terms(long).body[0].tolist() == article_terms(short).body[0].tolist()


def test_the_same_title_over_another_body_is_another_story() -> None:
    bodies = [" ".join(f"{stem}{i}" for i in range(60)) for stem in ("wave", "bank")]
    articles = [article(str(i), "What we know so far", i, body=bodies[i % 2]) for i in range(4)]
    assert [one.cluster for one in fold(articles, ClusterState())] == [1, 2, 1, 2]


def test_a_body_brings_together_what_titles_keep_apart() -> None:
    body = " ".join(f"wave{i}" for i in range(60))
    titles = ["Veldmar under water", "Hundreds flee homes"]
    apart = fold([article(title, title) for title in titles], ClusterState())
    together = fold([article(title, title, body=body) for title in titles], ClusterState())
    assert [one.cluster for one in apart] == [1, 2]
    assert [one.cluster for one in together] == [1, 1]


class Home(list):
    lang = "en"


@pytest.mark.parametrize(
    ("own", "best", "members", "chosen"),
    [
        (0.5, 0.65, 1, "other"),
        (0.5, 0.55, 1, "home"),  # within the margin
        (0.5, 0.45, 1, "home"),
        (0.0, 0.05, 1, "new"),  # it fits nowhere
        (0.0, 0.05, 0, "home"),  # and was alone
    ],
)
def test_an_article_moves_only_to_a_cluster_that_is_better_by_the_margin(own, best, members, chosen):
    home, other, new = Home([1] * members), Home(), Home()
    scores = [(best, other)] + ([(own, home)] if own else [])
    state = SimpleNamespace(
        settings=SimpleNamespace(margin=0.1),
        ranked=lambda _member, _lang: sorted(scores, key=lambda pair: -pair[0]),
        create_cluster=lambda _lang: new,
    )
    assert _choose(state, None, home) is {"home": home, "other": other, "new": new}[chosen]


def test_every_second_article_starts_a_repair():
    state = SimpleNamespace(recent={}, members={}, settings=SimpleNamespace(repair_every=2))
    waiting = []
    for name in "abc":
        repair(state, article(name, "Storm"))
        waiting.append(state.recent["en"].copy())
    assert waiting == [["a"], [], ["c"]]


def test_stories_at_different_places_are_not_one() -> None:
    titles = [
        "Dozens of people killed in a crowd crush in Veldmar",
        "Dozens of people killed when bombs explode in Kaltenau",
    ]
    places = [("1", "country:VE"), ("2", "country:KA")]
    told = [article(str(hour), title, hour) for hour, title in enumerate(titles)]

    def clusters(settings: ClusterSettings, *named: tuple[str, ...]) -> int:
        state = ClusterState(settings)
        return len({transition(state, one, None, at).cluster for one, at in zip(told, named, strict=True)})

    assert clusters(ClusterSettings(), *places) == 2
    assert clusters(ClusterSettings(), (), ()) == 1
    assert clusters(ClusterSettings(), places[0], ()) == 1
    assert clusters(ClusterSettings(), ("1", "country:VE"), ("3", "country:VE")) == 1
    assert clusters(ClusterSettings(other_places=1.0), *places) == 1


def test_places_of_a_cluster_are_those_of_its_articles_after_moves_merges_and_snapshots() -> None:
    state, articles = ClusterState(ClusterSettings(repair_every=16)), made_up()[0]
    named = {one.id: (f"place {int(one.id) % 7}",) for one in articles}
    for one in articles[:150]:
        transition(state, one, None, named[one.id])
    snapshot = state_dict(state)
    again = from_state(snapshot["header"], snapshot["arrays"])
    assert same(state, again)
    for one in articles[150:]:
        assert transition(state, one, None, named[one.id]) == transition(again, one, None, named[one.id])
    assert same(state, again)
    for cluster in state.clusters.values():
        assert cluster.places == Counter(place for one in cluster.article_ids for place in named[one])
