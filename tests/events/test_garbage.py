"""Memory: what was let go is the system's again, and texts that many articles have are kept once."""

import gc
from pathlib import Path

import pytest

from isogloss.events import give_back
from isogloss.events._gc import _trim
from isogloss.events.ingest import sample_news
from isogloss.events.link import Draft, Signatures, draft_signature


def resident():
    """Megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


@pytest.mark.skipif(
    _trim() is None or not Path("/proc/self/statm").exists(), reason="needs Linux with glibc: no malloc_trim"
)
def test_what_is_free_between_what_is_not_is_given_back():
    gc.collect()
    give_back()
    held = [bytearray(900) for _ in range(200_000)]
    full = resident()
    held[:] = held[::100]
    kept = resident()
    give_back()
    assert resident() < full - 120
    assert kept > full - 60


def test_where_the_system_has_no_way_nothing_happens(monkeypatch):
    monkeypatch.setattr("isogloss.events._gc._trim", lambda: None)
    give_back()


def test_names_of_two_articles_are_one_text():
    make, (article, *_) = Signatures(), sample_news().articles
    plain = draft_signature(article)
    names = ["org:" + "".join(letters) for letters in (["U", "N"], ["U", "N"])]
    assert names[0] is not names[1]
    drafts = [
        Draft(
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
    one, other = (next(iter(make.finish(draft).entities)) for draft in drafts)
    assert one is other
