"""Live tickers and summaries are recognised, and never connect two stories."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from isogloss.events import Article
from isogloss.events.annotate import is_round_up
from isogloss.events.annotate._round_ups import _read_table
from isogloss.events.link import ClusterProfile, ProfileBuilder
from isogloss.events.track._agglomeration import AgglomerationRules, group_linked
from isogloss.text import language

LANGUAGES = {1: "en", 2: "de", 3: "fr", 4: "ru", 5: "es"}
ONCE = dict.fromkeys(LANGUAGES, 1)


def both_ways(links: dict[tuple[int, int], float]) -> dict[int, dict[int, float]]:
    out: dict[int, dict[int, float]] = {one: {} for one in LANGUAGES}
    for (a, b), p in links.items():
        out[a][b] = out[b][a] = p
    return out


@pytest.mark.parametrize(
    ("title", "lang"),
    [
        ("Olympics roundup: golfers out of the Games", "en"),
        ("Olympia-Tag 1: Entscheidungen", "de"),
        ("Ukraine-Liveblog: ++ Explosionen in Kiew ++", "de"),
        ("EN DIRECT - Séisme au Chili", "fr"),
        ("Olimpíadas ao vivo: acompanhe", "pt"),
        ("东京奥运会开幕式直播", "zh"),
    ],
)
def test_round_ups_are_recognised(title: str, lang: str) -> None:
    assert is_round_up(title, lang)


@pytest.mark.parametrize(
    ("title", "lang"),
    [
        ("Miners found alive after 12 days", "en"),
        ("Doncic's debut will force fans to live like in Slovenia", "en"),
        ("La reunión será el día 25 de julio", "es"),
        ("Feiertag 2032 fällt aus", "de"),
        ("", "en"),
        ("Uchaguzi wa rais", "sw"),
    ],
)
def test_stories_are_no_round_ups(title: str, lang: str) -> None:
    assert not is_round_up(title, lang)


def test_the_table_has_known_languages_and_lower_case_phrases() -> None:
    for lang, phrases in _read_table().items():
        assert lang == "*" or language(lang).code == lang
        assert all(phrase and phrase == phrase.lower().strip() for phrase in phrases), lang


def test_a_round_up_joins_the_story_it_fits_best_and_connects_none() -> None:
    linked = both_ways({(1, 2): 0.9, (4, 5): 0.9, (2, 3): 0.95, (1, 3): 0.9, (3, 4): 0.9, (3, 5): 0.85})
    together = group_linked(ONCE, LANGUAGES, linked, AgglomerationRules())
    assert together == [[1, 2, 3, 4, 5]]
    apart = group_linked(ONCE, LANGUAGES, linked, AgglomerationRules(), {3})
    assert apart == [[1, 2, 3], [4, 5]]


def test_a_round_up_stays_alone_where_the_rules_keep_it_apart() -> None:
    rules = AgglomerationRules()
    for links in (
        {(1, 2): 0.9, (2, 3): 0.9, (1, 3): 0.0001},  # impossible
        {(1, 2): 0.9, (2, 3): 0.2, (1, 3): 0.2},  # improbable
        {(1, 2): 0.9},  # not linked
    ):
        groups = group_linked(ONCE, LANGUAGES, both_ways(links), rules, {3})
        assert [1, 2] in groups
        assert [3] in groups
    same = LANGUAGES | {3: "en"}
    groups = group_linked(ONCE, same, both_ways({(1, 2): 0.9, (2, 3): 0.9, (1, 3): 0.1}), rules, {3})
    assert [3] in groups, "its cluster of the same language is another story"


def test_round_ups_alone_are_events_of_their_own() -> None:
    linked = both_ways({(1, 2): 0.9})
    assert group_linked(ONCE, LANGUAGES, linked, AgglomerationRules(), set(LANGUAGES)) == [
        [one] for one in LANGUAGES
    ]


def test_a_cluster_of_round_ups_is_known_by_half_of_its_titles() -> None:
    build = ProfileBuilder().build
    titles = ["Storm: live updates", "Storm hits the coast", "Storm leaves two dead"]
    when = datetime(2031, 3, 5, tzinfo=UTC)
    profiles = [build(Article(f"a{i}", "en", title, "", when)) for i, title in enumerate(titles)]
    assert ClusterProfile(1, "en", profiles[:2]).tells_many_stories
    assert not ClusterProfile(1, "en", profiles).tells_many_stories
