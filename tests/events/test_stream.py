"""A stream: the same articles in the same order, the same events to the byte, however they come."""

import hashlib
import json
import random
from dataclasses import replace
from datetime import timedelta

import pytest

from isogloss.events import (
    Article,
    EventStream,
    EventStreamSettings,
    History,
    Journal,
    parse_article,
    read_journal,
)
from isogloss.events.checkpoint import restore_stream, save_stream
from isogloss.events.cluster import ClusterSettings
from isogloss.events.ingest import sample_corpus, sample_news
from isogloss.events.track import AgglomerationRules
from isogloss.events.training import bcubed
from isogloss.exceptions import ArticleError, ModelFileError
from tests.elsewhere import run_elsewhere
from tools.load_news import News

NEWS = sample_news()
SHORT = NEWS.articles[:100]


def told(stream):
    """All events as bytes."""
    return json.dumps([event.as_dict() for event in stream.events()], ensure_ascii=False).encode()


def run(articles, **options):
    stream = EventStream(**options)
    stream.add(articles)
    stream.update()
    return stream


@pytest.fixture(scope="module")
def short():
    return told(run(SHORT))


def test_however_articles_are_handed_over(short):
    stream = EventStream()
    for start in range(0, len(SHORT), 7):
        stream.add(SHORT[start : start + 7])
    stream.update()
    assert told(stream) == short


SCRIPT = """
import hashlib
from tests.events.test_stream import SHORT, run, told
print(hashlib.sha256(told(run(SHORT))).hexdigest())
"""


def test_another_process_gives_the_same(short):
    assert run_elsewhere(SCRIPT).strip() == hashlib.sha256(short).hexdigest()


@pytest.mark.parametrize("cut", [1, 63, 64, 99])
def test_continuing_from_a_saved_state(short, cut):
    stream = EventStream()
    stream.add(SHORT[:cut])
    stream = restore_stream(save_stream(stream))
    stream.add(SHORT[cut:])
    stream.update()
    assert told(stream) == short


def test_a_saved_state_with_a_model():
    from isogloss.similarity import LSISimilarity

    model = LSISimilarity(20).fit(sample_corpus())
    whole = run(SHORT[:80], model=model)
    stream = EventStream(model=model)
    stream.add(SHORT[:50])
    stream = restore_stream(save_stream(stream), model=model)
    stream.add(SHORT[50:80])
    stream.update()
    assert told(stream) == told(whole)


@pytest.mark.parametrize("saved", [b"", b"junk", save_stream(EventStream())[:-20]])
def test_a_damaged_state_is_refused(saved):
    with pytest.raises(ModelFileError, match="checkpoint"):
        restore_stream(saved)


@pytest.mark.parametrize("times", [1, 10])
def test_redelivery_changes_nothing(short, times):
    stream, chance = EventStream(), random.Random(times)
    for start in range(0, len(SHORT), 10):
        part = SHORT[start : start + 10]
        stream.add(part)
        again = list(SHORT[: start + 10] if times > 2 else part) * min(times, 3)
        chance.shuffle(again)
        assert all(step.repeated for step in stream.add(again))
    stream.update()
    assert told(stream) == short


def test_neighbours_that_change_places_change_little():
    shuffled, chance = list(SHORT), random.Random(0)
    for start in range(0, len(shuffled) - 5, 5):
        part = shuffled[start : start + 5]
        chance.shuffle(part)
        shuffled[start : start + 5] = part
    first, second = (run(order).assignment() for order in (SHORT, shuffled))
    names = [article.id for article in SHORT]
    assert bcubed([first[name] for name in names], [second[name] for name in names]).f1 > 0.85


def test_replaying_the_journal_gives_the_same_events(short, tmp_path):
    with Journal(tmp_path / "j") as journal:
        journal.add(SHORT[:70])
    with (tmp_path / "j").open("ab") as file:
        file.write(b'{"id": "cut sho')
    with Journal(tmp_path / "j") as journal:
        journal.add(SHORT[70:])
    assert told(run(read_journal(tmp_path / "j"))) == short


def test_a_file_that_is_no_journal(tmp_path):
    (tmp_path / "j").write_bytes(b"{}\n")
    with pytest.raises(ArticleError, match="j:1: is not a journal line"):
        list(read_journal(tmp_path / "j"))
    with pytest.raises(ArticleError, match="cannot be opened"):
        list(read_journal(tmp_path / "none"))
    with pytest.raises(ArticleError, match="cannot be opened"):
        Journal(tmp_path)


def test_reprints_count_once():
    history = History(EventStream())
    history.run(NEWS.articles)
    assert history.reprints == NEWS.reprints
    assert not NEWS.reprints.keys() & history.cluster_of.keys()
    assert history.assignment().keys() == {article.id for article in NEWS.articles}


def test_the_same_article_many_times():
    first = SHORT[0]
    copies = [replace(first, id=f"copy{i}", source=f"s{i}") for i in range(200)]
    stream = run([first, *copies])
    (event,) = stream.events()
    assert len(event) == 1
    assert len(stream.reprints(first.id)) == 200
    assert set(stream.assignment().values()) == {event.id}


def later(days):
    return [
        replace(article, time=article.time + timedelta(days=days), id=f"l{article.id}")
        for article in SHORT[:40]
    ]


def test_ended_stories_are_dropped():
    stream = run(SHORT[:40])
    stream.add(later(60))
    stream.update()
    stream.add(later(200)[-1:])
    stream.update()
    names = {article for event in stream.events() for own in event.articles.values() for article in own}
    assert names <= {article.id for article in later(60)} | {later(200)[-1].id}
    assert stream.links.cluster_of.keys() == names
    assert not stream.reprints_of.keys() - names
    assert not stream.expired_since.keys() - stream.links.profiles.keys()


def test_stories_that_never_end_keep_a_quarter_more_than_the_window():
    news, begin = News(seed=5, stories=30), SHORT[0].time
    records = [news.article(begin + timedelta(seconds=n)) for n in range(600)]
    settings = EventStreamSettings(ClusterSettings(max_articles=100), AgglomerationRules(prior=0.0))
    kept = []
    stream = EventStream(settings)
    stream.observer = lambda _: kept.append((len(stream.links.articles), len(stream.expired_since)))
    stream.add(parse_article(record, check_language=False) for record in records)
    assert max(articles for articles, _ in kept) <= 125 + settings.update_every
    assert min(dormant for _, dormant in kept[-5:]) > 0
    assert stream.links.articles.keys() == stream.links.cluster_of.keys()
    assert not stream.expired_since.keys() - stream.links.profiles.keys()


def test_an_event_keeps_its_languages_while_one_of_them_continues():
    day = SHORT[0].time
    english = [_quake(f"e{i}", "en", day + timedelta(days=2 * i)) for i in range(8)]
    german = [_quake(f"d{i}", "de", day + timedelta(hours=i + 1)) for i in range(2)]
    stream = run(sorted([*english, *german], key=lambda article: article.time))
    found = stream.assignment()
    assert len({found[name] for name in ("e0", "e7", "d0", "d1")}) == 1
    assert not any(cluster.lang == "de" for cluster in stream.clusters.clusters.values())
    assert stream.event(found["d0"]).languages == ("en", "de")


def _quake(name, lang, time):
    texts = {
        "en": (
            "Earthquake shakes Tirana",
            "A strong earthquake shook Tirana; Mayor Arben Kolasi named 42 houses.",
        ),
        "de": ("Erdbeben erschüttert Tirana", "Ein Erdbeben traf Tirana; Arben Kolasi nannte 42 Häuser."),
    }
    title, body = texts[lang]
    return Article(name, lang, title, f"{body} {name}", time)


def test_changes_suffice_to_follow_the_events():
    seen, aliases = {}, {}
    stream = EventStream(EventStreamSettings(update_every=10))

    def follow(changes):
        for old, new in changes.aliases.items():
            seen.pop(old, None)
            aliases[old] = new
        for number in changes.events:
            seen[number] = stream.event(number).as_dict()

    stream.observer = follow
    stream.add(SHORT)
    stream.update()
    current = {event.id: event.as_dict() for event in stream.events()}
    assert {number: seen[number] for number in current} == current
    assert all(
        stream.tracker.ids.resolve(old) == stream.tracker.ids.resolve(new) for old, new in aliases.items()
    )


def test_links_are_explained():
    stream = run(SHORT)
    event = max(stream.events(), key=lambda event: len(event.clusters))
    told = stream.explain(*event.clusters[:2])
    assert 0 <= told.probability <= 1
    assert {reason.feature for reason in told.reasons} >= {"textCosSim", "entityCosSim", "timeDiff"}


def test_the_same_text_in_another_language_is_not_a_reprint():
    """Pages in several languages often have a body that was not translated yet."""
    original = SHORT[0]
    copies = [replace(original, id=name, lang=lang) for name, lang in (("same", original.lang), ("it", "it"))]
    stream = run([original, *copies])
    assert stream.reprints(original.id) == ["same"]
    cluster = stream.links.profiles[stream.links.cluster_of["it"]]
    assert (cluster.lang, cluster.articles) == ("it", ["it"])


def test_a_language_that_no_channel_knows_has_events_of_its_own():
    texts = {
        "vo": ["Tep fäks in län nulik", "Fäks in län nulik: mens tel nosükons"],
        "en": ["Wheat is cheap", "Rain falls"],
    }
    articles = [
        replace(
            SHORT[0],
            id=f"{lang} {n}",
            lang=lang,
            title=title,
            body="",
            time=SHORT[0].time + timedelta(hours=n),
        )
        for lang, titles in texts.items()
        for n, title in enumerate(titles)
    ]
    stream = run(sorted(articles, key=lambda one: (one.time, one.id)), encoder=None)
    found = stream.assignment()
    assert found["vo 0"] == found["vo 1"]
    assert len(set(found.values())) == 3
    assert stream.event(found["vo 0"]).languages == ("vo",)
