"""Memory: what was let go is the system's again, and texts that many articles have are kept once."""

import gc
from pathlib import Path

import pytest

from isogloss.events import trim_heap
from isogloss.events._gc import _malloc_trim
from isogloss.events.ingest import sample_news
from isogloss.events.link import ProfileBuilder, UnweightedProfile, extract_profile


def resident():
    """Megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


@pytest.mark.skipif(
    _malloc_trim() is None or not Path("/proc/self/statm").exists(),
    reason="needs Linux with glibc: no malloc_trim",
)
def test_what_is_free_between_what_is_not_is_given_back():
    gc.collect()
    trim_heap()
    held = [bytearray(900) for _ in range(200_000)]
    full = resident()
    held[:] = held[::100]
    kept = resident()
    trim_heap()
    assert resident() < full - 120
    assert kept > full - 60


def test_where_the_system_has_no_way_nothing_happens(monkeypatch):
    monkeypatch.setattr("isogloss.events._gc._malloc_trim", lambda: None)
    trim_heap()


def test_names_of_two_articles_are_one_text():
    make, (article, *_) = ProfileBuilder(), sample_news().articles
    plain = extract_profile(article)
    names = ["org:" + "".join(letters) for letters in (["U", "N"], ["U", "N"])]
    assert names[0] is not names[1]
    drafts = [
        UnweightedProfile(
            str(n),
            plain.lang,
            "",
            plain.time,
            "",
            plain.day,
            plain.terms,
            {"entities": {name: 1.0}, "keywords": {}},
        )
        for n, name in enumerate(names)
    ]
    one, other = (next(iter(make.weigh(draft).entities)) for draft in drafts)
    assert one is other
