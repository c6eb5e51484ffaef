"""RELIABILITY 32: memory grows with the terms that are held, not with the languages that are seen."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from isogloss.events import Article, EventStream
from isogloss.events.checkpoint import save_stream
from isogloss.events.cluster import TermWindow, Vector
from isogloss.events.cluster import _vectors as vectors
from isogloss.events.cluster._vectors import TermCountTable
from isogloss.events.ingest import sample_news
from isogloss.events.link import _candidates as candidates
from isogloss.events.link._candidates import _BoundedLists

MOST_MB = 400
"""A short article in each of 172 languages took 3,956 MB with tables of fixed size, and 234 MB now."""

SCRIPT = """
from tests.events.test_language_memory import article, resident_mb
from isogloss.events import EventStream
from isogloss.text import known_languages

stream = EventStream()
stream.add([article(n, "en") for n in range(400)])
before = resident_mb()
stream.add([article(1000 + n, one.code) for n, one in enumerate(known_languages())])
print(len(known_languages()), resident_mb() - before)
"""


def article(number, lang):
    """A short article that repeats no other."""
    words = [f"w{(number * 7919 + k * 104729) % 999983:x}" for k in range(30)]
    time = datetime(2031, 1, 1, tzinfo=UTC) + timedelta(minutes=number)
    title, body = f"Storm {' '.join(words[:8])}", f"Vienna {' '.join(words)} on Monday."
    return Article(str(number), lang, title, body, time)


def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc to tell the memory")
def test_an_article_in_every_language_takes_little_memory():
    said = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout
    languages, growth = said.split()
    assert int(languages) > 150
    assert float(growth) < MOST_MB


@pytest.mark.parametrize("few", [0, 50, 1 << 20])
def test_tables_of_any_size_give_the_same_stream(monkeypatch, few):
    def saved():
        stream = EventStream()
        stream.add(sample_news().articles[:80])
        stream.update()
        return save_stream(stream)

    before = saved()
    monkeypatch.setattr(vectors, "MAX_DICT_TERMS", few)
    monkeypatch.setattr(candidates, "_DENSE_FROM_LISTS", few)
    assert saved() == before


def test_terms_that_left_the_window_take_no_memory():
    counts, terms = TermCountTable(), np.array([2, 5, 9], dtype=np.int32)
    counts.add(terms, np.array([1, 2, 3], dtype=np.int32))
    counts.add(terms, np.array([-1, -1, -3], dtype=np.int32))
    assert (len(counts), counts.counts_of(terms).tolist(), counts.as_table()[terms].tolist()) == (
        1,
        [0, 1, 0],
        [0, 1, 0],
    )
    assert len(TermWindow().counts) == 0


def test_lists_take_places_as_they_come_into_use():
    lists = _BoundedLists(4, 8, 100)
    random = np.random.default_rng(5)
    for number in range(1, 60):
        terms = np.sort(random.choice(1 << 20, 6, replace=False)).astype(np.int32)
        lists.add(number, Vector(terms, random.random(6)))
        assert lists.is_full or len(lists.lists) < 4 * 6 * number + 16
        again = _BoundedLists(4, 8, 100)
        again.load_state(lists.state_dict())
        for name, array in lists.state_dict().items():
            assert np.array_equal(again.state_dict()[name], array)
    assert lists.is_full
