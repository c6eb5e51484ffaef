"""Reasons in words: what is shared is named, and nothing speaks for a link that is zero or missing."""

from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import pytest

from isogloss.events import Article
from isogloss.events.annotate import Annotator
from isogloss.events.cluster import Vector
from isogloss.events.link import (
    FEATURES,
    ArticleProfile,
    Linker,
    LinkState,
    ProfileBuilder,
    explain_link,
    find_shared,
    link_summary,
    summarise_link,
)

NOTHING = Vector(np.empty(0, dtype=np.int32), np.empty(0))


def _article(key, lang, title, sentence="", **fields):
    return ArticleProfile(key, lang, title, 0.0, sentence, NOTHING, **fields)


def test_the_reasons_of_a_link_name_what_both_articles_name():
    texts = [
        ("en", "Angela Merkel visits Kyiv", "At least 41 people met Angela Merkel on 5 March."),
        ("ru", "Ангела Меркель в Киеве", "Вчера Ангелу Меркель встретил 41 человек, 5 марта."),
    ]
    annotator, build, state = Annotator(), ProfileBuilder().build, LinkState()
    for number, (lang, title, body) in enumerate(texts, 1):
        article = Article(str(number), lang, title, body, datetime(2031, 3, 6, number, tzinfo=UTC))
        state.add(build(article, annotator.annotate(article)), number)
    link = state.link(1, 2)
    shared = find_shared([(state.articles["1"], state.articles["2"])])
    assert any("Merkel" in name for name in shared["names"])
    assert shared["numbers"] == ["41"]
    assert shared["dates"] == ["2031-03-05"]
    said = explain_link(link, state.linker, state.articles)
    assert 1 <= len(said.summary) <= 3
    assert said.as_dict()["summary"] == list(said.summary)
    assert str(said).index(said.summary[0]) < str(said).index("textCosSim")


def test_names_are_shown_as_the_text_has_them():
    names = {"name:angal markal": 1.0, "name:markal": 2.0, "name:nastar": 5.0, "org:UN": 1.5}
    one = _article("a", "ru", "Ангела Меркель в Бледе", entities=names)
    other = _article("b", "en", "Angela Merkel's visit", entities=names)
    assert find_shared([(one, other)]) == {"names": ["UN", "Angela Merkel"]}


def test_meanings_numbers_and_dates_are_readable():
    fields = {
        "keywords": {"meaning:earthquake": 2.0, "word:rafarand": 1.0, "word:nanasans": 9.0},
        "numbers": ("78", "41"),
        "dates": (date(2031, 3, 5),),
    }
    one = _article("a", "en", "Quake of 7.8 before referendum", "It killed 41.", **fields)
    shared = find_shared([(one, _article("b", "de", "Beben", **fields))])
    assert shared["concepts"] == ["earthquake", "referendum"]
    assert sorted(shared["numbers"]) == ["41", "7.8"]
    features = {"sharedNumbers": 1.0, "sharedDates": 1.0, "keywordCosSim": 0.5}
    reasons = summarise_link(features, dict.fromkeys(features, 1.0), shared)
    assert set(reasons) == {
        "Both are about earthquake and referendum",
        "Both mention 41 and 7.8",
        "Both mention 5 March 2031",
    }
    assert find_shared([(one, replace(one, keywords={}, numbers=(), dates=()))]) == {}


@pytest.mark.parametrize("value", [0.0, None, float("nan")])
def test_nothing_speaks_for_a_link_that_is_zero_or_missing(value):
    features = {name: value for name in FEATURES if name not in ("timeDiff", "timeGap")}
    contributions = dict.fromkeys([*features, "(constant)"], 2.8)
    assert summarise_link(features, contributions, {}) == ()


def test_no_link_of_the_default_linker_is_explained_by_zeros():
    features = dict.fromkeys(FEATURES, 0.0) | {"timeDiff": 200.0, "timeGap": 200.0}
    reasons = summarise_link(features, Linker.default().contributions(features), {})
    assert reasons
    assert all(reason.startswith("Against: ") for reason in reasons)


def test_shared_names_are_never_evidence_against():
    features, contributions = {"entityCosSim": 0.1, "textCosSim": 0.0}, {"entityCosSim": -1, "textCosSim": -2}
    assert summarise_link(features, contributions, {"names": ["Kyiv"]}) == (
        "Both name Kyiv",
        "Against: their words differ",
    )
    assert summarise_link(features, contributions, {})[-1].startswith("Against: they name different")


@pytest.mark.parametrize(
    ("hours", "words"),
    [
        (0.0, "Published within an hour of each other"),
        (1.2, "Published 1 hour apart"),
        (3.0, "Published 3 hours apart"),
        (72.0, "Published 3 days apart"),
    ],
)
def test_time_is_described_in_words(hours, words):
    assert summarise_link({"timeDiff": hours}, {"timeDiff": 0.4}, {}) == (words,)


def test_similar_words_of_the_nearest_titles_are_listed():
    link = {
        "features": {"textCosSim": 0.4, "encoderCosSim": 0.714, "unknown": 0.3},
        "contributions": {"textCosSim": 2.0, "encoderCosSim": 1.0, "unknown": 0.5},
        "pairs": [[7, 9, 0.4]],
    }
    titles = {7: "Quake in Valparaiso", 9: "Землетрясение в Вальпараисо"}
    assert link_summary(link, titles) == (
        "Their words are similar: Valparaiso / Вальпараисо",
        "The sentence encoder finds the texts similar (0.71)",
        "unknown is high (0.30)",
    )
    assert link_summary(link | {"pairs": []}, {})[0] == "Their words are similar (0.40)"
    assert link_summary({}, {}) == ()
