"""RELIABILITY 32: articles that were made to stop the pipeline go through it like others.

What they cost is compared with what an ordinary long article costs, in CPU time.
"""

import time
from datetime import UTC, datetime

import pytest

from isogloss.events import EventStream, parse_article
from isogloss.events.article import MAX_TITLE_CHARS
from isogloss.exceptions import ArticleError
from isogloss.service.worker import JournalProcessor, StreamFactory
from isogloss.store import Store

NOISE = 0.5
"""CPU seconds that are always allowed."""

ATTACKS = {
    "900 kB of blanks in the title": {"title": "a" + " " * 900_000 + "b"},
    "a title of 30,000 blanks and dashes": {"title": "Storm" + " -" * 15_000 + " |" * 10},
    "a title of 30,000 characters": {"title": "a-" * 15_000},
    "5,000 digits in a character reference": {"title": "Storm &#" + "9" * 5_000 + ";", "body": "Roofs flew."},
    "character references without end": {"body": "&#x" * 100_000},
    "a million capital letters": {"body": "A " * 500_000},
    "one word of a million letters": {"body": "a" * 1_000_000},
    "combining marks": {"title": "a" + "\u0300" * 30_000, "body": "o" + "\u0308" * 200_000},
    "numbers like dates": {"body": "1.1." * 200_000},
}


def record(**fields):
    return {"id": "1", "lang": "en", "time": "2031-03-05T08:00:00Z", **fields}


def cost(fields):
    began = time.process_time()
    try:
        article = parse_article(record(**fields), now=datetime(2031, 3, 6, tzinfo=UTC))
    except ArticleError:
        return time.process_time() - began
    stream = EventStream()
    stream.add([article])
    stream.update()
    return time.process_time() - began


@pytest.fixture(scope="module")
def usual():
    """What an ordinary article of a hundred pages costs, when all tables are read."""
    body = "On Monday the storm tore roofs off houses near Vienna, said Anna Keller of the weather service. "
    return min(cost({"title": "Storm over the coast", "body": body * 5_000}) for _ in range(3))


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_article_costs_much_more_than_a_long_one(usual, attack):
    assert cost(ATTACKS[attack]) < NOISE + 10 * usual


def test_they_hold_nobody_up_in_the_worker(tmp_path):
    now = datetime(2031, 3, 6, tzinfo=UTC)
    articles = []
    for number, fields in enumerate(ATTACKS.values()):
        for one in (fields, {"title": f"Storm {number} over the coast", "body": f"Roof {number} flew."}):
            articles.append(parse_article(record(**one) | {"id": str(len(articles))}, now=now))
    with Store(tmp_path / "news.db") as store:
        store.add(articles)
        processor = JournalProcessor(store, StreamFactory())
        processor.catch_up()
        processor.close()
        assert store.quarantined_articles() == []
        with store.database.read() as session:
            ((members,),) = session.run("SELECT count(*) FROM member")
        assert members == len(articles)


@pytest.mark.parametrize("title", ["a" * (MAX_TITLE_CHARS + 1), "Storm " + "very " * 300_000, "x" * 900_000])
def test_a_long_title_is_cut_with_a_mark(title):
    from collections import Counter

    notes = Counter()
    article = parse_article(record(title=title), now=datetime(2031, 3, 6, tzinfo=UTC), notes=notes)
    assert len(article.title) <= MAX_TITLE_CHARS
    assert article.title.endswith("\N{HORIZONTAL ELLIPSIS}")
    assert title.startswith(article.title[:-1])
    assert notes["title cut"] == 1
    whole = parse_article(record(title="a" * MAX_TITLE_CHARS), now=datetime(2031, 3, 6, tzinfo=UTC))
    assert whole.title == "a" * MAX_TITLE_CHARS
