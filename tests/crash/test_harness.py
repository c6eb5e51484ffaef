"""The kill harness, some rounds of each fault; many by ``python -m tests.crash.harness``."""

import os

import pytest

from isogloss.events import parse_article
from isogloss.service.app import create_app
from isogloss.service.settings import Settings
from isogloss.service.worker import JournalProcessor
from isogloss.store import Store
from tests.crash.harness import FAULTS, missing, play_all
from tests.crash.trial import SETTINGS, Trial, stream_factory
from tests.crash.warm import Starter

ROUNDS = 2
QUICK = {("kill", "sqlite"), ("checkpoint", "sqlite")}
"""Faults that strike in every run of the tests; the others are marked slow."""


@pytest.fixture(scope="module")
def starter(tmp_path_factory):
    starter = Starter(os.environ | SETTINGS, tmp_path_factory.mktemp("starter") / "workers")
    yield starter
    starter.close()


@pytest.mark.usefixtures("warm_processes")
@pytest.mark.parametrize(
    ("fault", "store"),
    [
        pytest.param(fault, store, marks=() if (fault, store) in QUICK else pytest.mark.slow)
        for fault in FAULTS
        for store in ("sqlite", "postgres")
    ],
)
def test_nothing_is_lost_doubled_or_different_after_a_fault(fault, store, starter):
    if why := missing(fault, store):
        pytest.skip(why)
    told = play_all(fault, store, rounds=ROUNDS, seed=1, starter=starter)
    assert told["finds"] == []
    assert told["acknowledged"] > ROUNDS


@pytest.fixture
def trial(tmp_path):
    """A store with articles and events, as a service without faults leaves it."""
    trial = Trial(str(tmp_path / "news.db"), tmp_path, 1)
    with Store(trial.place) as store:
        trial.acknowledged.update(trial.write(0, 16))
        store.add([parse_article(record, check_language=False) for record in trial.records.values()])
        processor = JournalProcessor(store, stream_factory(store))
        processor.catch_up()
        processor.close()
        sender = create_app(Settings.load(trial.config), store).state.isogloss.alerts
        sender.look_at_searches()
        while sender.work():
            pass
    yield trial
    trial.close()


def test_a_store_without_faults_passes(trial):
    trial.check()
    trial.check()


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("DELETE FROM article WHERE seq = 3", "are missing, 0 were pruned"),
        ("UPDATE article SET title = (SELECT title FROM article WHERE seq = 4) WHERE seq = 3", "doubled"),
        (
            "INSERT INTO journal (kind, article, revision, received) VALUES ('article', 3, 0, 0)",
            "several lines",
        ),
        ("DELETE FROM journal WHERE seq = 3", "several lines, or none"),
        ("DELETE FROM event_term WHERE term = (SELECT min(term) FROM event_term)", "event_term is not as in"),
        ("UPDATE cluster SET data = '{}' WHERE id = 1", "cluster is not as in a replay"),
        ("UPDATE cluster SET size = size + 1 WHERE id = 1", "clusters whose size differs"),
        ("INSERT INTO alias VALUES ('e99', 'e1')", "alias is not as in a replay"),
        ("DELETE FROM alert WHERE id = 2", "alerts are missing"),
        ("UPDATE alert SET event = 'e9' WHERE id = 2", "alerts do not follow merged events"),
        ("UPDATE event SET changed = changed + 1 WHERE id = 'e1'", "alert 1 on e1"),
        ("DELETE FROM article_text WHERE rowid = 3", r"article_text is not as in a replay: \[3\]"),
        ("UPDATE article_text SET body = '' WHERE rowid = 3", r"article_text is not as in a replay: \[3\]"),
        ("DELETE FROM article_text_data WHERE id > 10", "the search index is damaged"),
        ("DELETE FROM article_point WHERE article = 3", r"article_point is not as in a replay: \[3\]"),
        (
            "UPDATE article_point SET vector = (SELECT vector FROM article_point WHERE article = 4) "
            "WHERE article = 3",
            r"article_point is not as in a replay: \[3\]",
        ),
    ],
)
def test_harm_is_found(trial, harm, said):
    with Store(trial.place) as store, store.database.write() as session:
        session.run(harm)
    with pytest.raises(AssertionError, match=said):
        trial.check()


def test_an_alert_that_did_not_come_is_found(trial):
    while trial.receiver.got:
        trial.receiver.got.pop()
    with pytest.raises(AssertionError, match="alert 1 on e"):
        trial.check()
