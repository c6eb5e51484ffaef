"""Articles that other processes prepare: the same events to the byte, and nothing left behind."""

import json
import multiprocessing
import os
import signal

import pytest

from isogloss.events import EventStream, preparing
from isogloss.events.annotation import Annotator
from isogloss.events.preparing import Preparer
from isogloss.events.samples import sample_corpus, sample_news
from isogloss.events.saving import save_stream
from isogloss.similarity import LSISimilarity

NEWS = sample_news().articles[:120]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Batches so small that a few articles are many."""
    monkeypatch.setattr(preparing, "_BATCH", 8)
    monkeypatch.setattr(preparing, "_WORTH", 16)


def followed(articles=NEWS, **options):
    """Steps, events and state of a stream, and whether it had processes."""
    with EventStream(**options) as stream:
        steps = stream.add(articles)
        stream.update()
        started = stream.preparer.started
    events = json.dumps([event.as_dict() for event in stream.events()])
    return (steps, events, save_stream(stream)), started


@pytest.mark.parametrize("with_model", [False, True])
def test_processes_change_nothing(with_model):
    model = LSISimilarity(20).fit(sample_corpus()) if with_model else None
    alone, none = followed(model=model)
    together, some = followed(model=model, n_jobs=2)
    assert alone == together
    assert (none, some) == (False, True)
    assert not multiprocessing.active_children()


def test_few_articles_start_no_process():
    with EventStream(n_jobs=2) as stream:
        stream.add(NEWS[:16])
        for start in range(16, 40, 8):
            stream.add(NEWS[start : start + 8])
        assert not stream.preparer.started


def test_what_was_read_before_a_failure_is_taken():
    def failing():
        yield from NEWS[:48]
        raise OSError("the disk is gone")

    for jobs in (None, 2):
        with EventStream(n_jobs=jobs) as stream:
            with pytest.raises(OSError, match="the disk is gone"):
                stream.add(failing())
            assert stream.count + len(stream.original_of) == 48


class Picky(Annotator):
    """Fails at one article."""

    def annotate(self, article):
        if article.id == NEWS[43].id:
            raise ValueError("not this one")
        return super().annotate(article)


def test_a_failure_is_that_of_its_article():
    for jobs in (None, 2):
        with EventStream(annotator=Picky(), n_jobs=jobs) as stream:
            with pytest.raises(ValueError, match="not this one"):
                stream.add(NEWS)
            assert stream.count + len(stream.original_of) == 43


def test_a_process_that_dies_costs_nothing_but_time():
    with Preparer(Annotator(), n_jobs=2) as preparer:
        given = []
        for article, prepared in preparer.run(NEWS):
            given.append((article.id, prepared.draft.id))
            if len(given) == 40:
                os.kill(next(iter(preparer._pool._processes)), signal.SIGKILL)
    assert given == [(article.id, article.id) for article in NEWS]


def test_who_stops_early_leaves_nothing_behind():
    with Preparer(Annotator(), n_jobs=2) as preparer:
        articles = preparer.run(NEWS)
        for _ in range(30):
            next(articles)
        articles.close()
    assert not multiprocessing.active_children()
