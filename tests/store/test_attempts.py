"""Lines that fail are counted, those that keep failing are skipped, and either can be told from a crash."""

import pytest

from isogloss.store import Update
from isogloss.store.queries import WORKER_STOPPED, worker_started, worker_stopped

from .test_articles import article


@pytest.fixture
def filled(store):
    store.add([article(number) for number in range(4)])
    return store


def test_the_second_failure_of_a_line_puts_it_into_quarantine(filled):
    assert not filled.record_failure(2, "slow", "took too long")
    assert filled.failed_lines() == {2: 1}
    assert filled.quarantined_lines(0, 4) == set()
    assert filled.record_failure(2, "slow", "took too long")
    assert filled.failed_lines() == {}
    assert [filled.quarantined_lines(*span) for span in ((0, 4), (1, 2), (2, 4), (0, 1))] == [
        {2},
        {2},
        set(),
        set(),
    ]
    assert filled.record_failure(2, "slow", "again"), "it stays there"


def test_a_stop_of_the_service_needs_a_third_failure(filled):
    assert [filled.record_failure(3, WORKER_STOPPED, "") for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize("taken", [None, 3])
def test_a_line_that_events_cover_is_never_skipped(filled, taken):
    if taken is None:
        filled.apply(Update(0, 3))
    assert not any(filled.record_failure(line, "slow", "", taken) for line in (2, 3) for _ in range(3))
    assert filled.failed_lines() == {2: 3, 3: 3}
    assert [filled.record_failure(4, "slow", "", taken) for _ in range(2)] == [False, True]


def test_a_crash_leaves_the_line_that_was_started(filled):
    assert filled.crash_marker() == (False, 0)
    filled.apply(worker_started(0))
    assert filled.crash_marker() == (True, 0)
    filled.record_line_start(2)
    assert filled.crash_marker() == (True, 2)
    filled.apply(Update(0, 2))
    assert filled.crash_marker() == (True, 0), "the line was finished"
    filled.record_line_start(3)
    filled.record_failure(3, "slow", "")
    assert filled.crash_marker() == (True, 0), "the failure is recorded already"
    filled.record_line_start(4)
    filled.apply(worker_stopped(2))
    assert filled.crash_marker() == (False, 0)


def test_a_retry_appends_the_article_and_leaves_the_line_skipped(filled):
    for line in (1, 3, 1, 3):
        filled.record_failure(line, "slow", "took too long")
    assert [(one["line"], one["failures"], one["title"]) for one in filled.quarantined_articles()] == [
        (3, 2, "Rain 2"),
        (1, 2, "Rain 0"),
    ]
    assert filled.retry_quarantined([3]) == [3]
    assert [(line.seq, line.number) for line in filled.journal(4)] == [(5, 3)]
    assert filled.quarantined_lines(0, 5) == {1, 3}
    assert filled.retry_quarantined() == [1]
    assert filled.quarantined_articles() == []
