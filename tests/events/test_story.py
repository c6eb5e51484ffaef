"""Chapters, related events and coverage."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from isogloss.events import Article
from isogloss.events.story import (
    EventOutline,
    SourceReport,
    absent_sources,
    describe_coverage,
    find_chapters,
    find_related,
    prominent_places,
    term_weights,
)

START = datetime(2031, 3, 1, 6, tzinfo=UTC)

QUAKE = [
    ("en", "Earthquake in Vienna: houses collapse, many dead"),
    ("de", "Erdbeben in Wien: viele Tote, Häuser eingestürzt"),
    ("fr", "Séisme à Vienne : des morts et des blessés"),
    ("es", "Terremoto en Viena: rescate de heridos"),
]
TRIAL = [
    ("en", "Court in Graz hears appeal of builder in corruption investigation"),
    ("de", "Gericht in Graz: Korruption, Ermittlungen gegen Baufirma"),
    ("fr", "Graz : procès pour corruption, enquête et appel"),
    ("es", "Tribunal de Graz: corrupción, investigación y apelación"),
]


def articles(told, first_day, days):
    return [
        Article(
            f"{first_day + day}-{i}",
            lang,
            title,
            "",
            START + timedelta(days=first_day + day, hours=i),
            f"S{i}",
        )
        for day in range(days)
        for i, (lang, title) in enumerate(told)
    ]


@pytest.fixture(scope="module")
def long_event():
    return articles(QUAKE, 0, 5) + articles(TRIAL, 14, 4)


def test_a_pause_and_other_words_begin_a_chapter(long_event):
    first, second = find_chapters(long_event)
    assert (first.first, first.last) == (long_event[0].time, long_event[19].time)
    assert second.first == START + timedelta(days=14)
    assert (first.pause_days, second.pause_days) == (0, 9)
    assert second.titles["de"] == TRIAL[1][1]
    assert {"Graz", "court"} & set(second.new_terms)
    assert not {"Graz", "court"} & set(first.new_terms)
    assert len(first.articles) + len(second.articles) == len(long_event)


def test_chapters_depend_on_the_articles_alone(long_event):
    shuffled = long_event.copy()
    random.Random(7).shuffle(shuffled)
    assert find_chapters(shuffled) == find_chapters(long_event)


@pytest.mark.parametrize(
    "told",
    [
        articles(QUAKE, 0, 20),  # about the same all the time
        articles(QUAKE, 0, 2) + articles(TRIAL, 2, 2),  # a few days
        articles(QUAKE[:1], 0, 1) + articles(TRIAL[:1], 30, 1),  # two articles
        articles([("en", "")], 0, 20),  # nothing to compare
    ],
)
def test_one_chapter_where_nothing_sets_days_apart(told):
    (chapter,) = find_chapters(told)
    assert chapter.articles == tuple(sorted(told, key=lambda one: one.time))


def test_an_event_of_years_is_divided_too():
    told = articles(QUAKE, 0, 10) + articles(TRIAL, 700, 10)
    assert [chapter.first for chapter in find_chapters(told)] == [START, START + timedelta(days=700)]


def test_no_article_no_chapter():
    assert find_chapters([]) == []


def outline(name, day, terms, *, days=1):
    first = START + timedelta(days=day)
    return EventOutline(name, first, first + timedelta(days=days), {term: term.upper() for term in terms})


WEIGHTS = term_weights({"a": 2, "b": 4, "c": 5, "everywhere": 100, "nowhere": 0}, 100)


def test_terms_of_all_events_have_no_weight():
    assert set(WEIGHTS) == {"a", "b", "c"}
    assert WEIGHTS["a"] > WEIGHTS["b"] > WEIGHTS["c"]


def test_earlier_later_and_at_the_same_time():
    event = outline("e1", 10, "ab", days=4)
    others = [
        outline("e2", 0, "ab"),
        outline("e3", 20, "ab"),
        outline("e4", 11, "ab"),
        outline("e5", 13, "ab", days=9),
    ]
    found = {one.id: (one.relation, one.reason) for one in find_related(event, others, WEIGHTS)}
    assert found == {
        "e2": ("earlier", "9 days earlier; both are about A and B"),
        "e3": ("later", "6 days later; both are about A and B"),
        "e4": ("related", "at the same time; both are about A and B"),
        "e5": ("later", "right after it; both are about A and B"),
    }


def test_one_shared_term_or_a_frequent_one_is_not_enough():
    event = outline("e1", 0, ["a", "b", "everywhere"])
    assert find_related(event, [outline("e2", 5, "a"), outline("e3", 5, ["a", "everywhere"])], WEIGHTS) == []
    assert find_related(event, [outline("e1", 0, "ab")], WEIGHTS) == []  # itself


def test_a_strong_link_is_enough_and_named():
    event = outline("e1", 0, "ab")
    (found,) = find_related(event, [outline("e2", 5, "c")], WEIGHTS, {"e2": 0.96})
    assert (found.link, found.score) == (0.96, 0.48)
    assert (
        found.reason
        == "4 days later; some of their articles are linked with 96 %, but not the events as a whole"
    )


def test_a_weak_link_needs_a_term_in_common():
    event, others = outline("e1", 0, "ab"), [outline("e2", 5, "c"), outline("e3", 5, "b")]
    (found,) = find_related(event, others, WEIGHTS, {"e2": 0.6, "e3": 0.6})
    assert found.id == "e3"
    assert found.reason.startswith(
        "4 days later; both are about B; some of their articles are linked with 60 %"
    )


def test_a_link_that_is_more_likely_wrong_does_not_count():
    (found,) = find_related(outline("e1", 0, "ab"), [outline("e2", 5, "ab")], WEIGHTS, {"e2": 0.4})
    assert (found.link, "linked" in found.reason) == (None, False)
    assert find_related(outline("e1", 0, "ab"), [outline("e2", 5, "b")], WEIGHTS, {"e2": 0.4}) == []


def test_events_years_apart_must_be_more_similar():
    event, others = outline("e1", 0, "abc"), [outline("e2", 300, "abd"), outline("e3", 3000, "abd")]
    assert [one.id for one in find_related(event, others, WEIGHTS)] == ["e2"]


def test_places_that_are_mentioned_in_passing_do_not_count():
    assert prominent_places({"1": 12.0, "2": 3.0, "3": 2.0}) == ["1", "2"]
    assert prominent_places({}) == []


def test_the_most_closely_related_come_first():
    event = outline("e1", 0, "abc")
    others = [outline("e2", 5, "ab"), outline("e3", 5, "abc"), outline("e4", 5, "ab")]
    assert [one.id for one in find_related(event, others, WEIGHTS)] == ["e3", "e2", "e4"]
    assert [one.id for one in find_related(event, others, WEIGHTS, limit=1)] == ["e3"]


def test_sources_are_listed_by_their_first_article():
    reports = [
        SourceReport("Gull", "en", 2, START + timedelta(hours=3)),
        SourceReport("Gull", "de", 3, START + timedelta(hours=2)),
        SourceReport("Bote", "de", 1, START),
        SourceReport("", "ru", 1, START + timedelta(hours=1)),
    ]
    found = describe_coverage(reports)
    assert [(one.name, one.languages, one.articles) for one in found.sources] == [
        ("Bote", ("de",), 1),
        ("Gull", ("de", "en"), 5),
    ]
    assert found.sources[1].lag == timedelta(hours=2)
    assert [(one.name, one.articles) for one in found.languages] == [("de", 4), ("ru", 1), ("en", 2)]
    assert describe_coverage([]).sources == ()


def test_a_source_is_missed_only_among_events_that_the_same_sources_reported():
    together, apart = {"Gull", "Bote", "Phare"}, {"Gull", "Faro"}
    assert [one.source for one in absent_sources({"Gull", "Bote"}, [together] * 4 + [apart] * 9)] == ["Phare"]
    assert absent_sources({"Gull", "Bote"}, [together] * 3) == []  # too few to say usually
    assert absent_sources({"Gull", "Bote"}, [together] * 4 + [{"Gull", "Bote"}] * 5) == []  # less than half
    assert absent_sources(set(), [together] * 9) == []
    assert [one.source for one in absent_sources({"Gull"}, [apart] * 4 + [together] * 3)] == ["Faro"]


def test_reprinted_titles_do_not_change_who_is_typical(long_event):
    """A title of another day that is repeated stays in its chapter."""
    repeated = [*long_event, replace(long_event[0], id="copy", source="Other")]
    assert len(find_chapters(repeated)) == 2
