"""Articles analysed by other processes: the same events to the byte, and nothing left behind."""

import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import psutil
import pytest

from isogloss.engine import ProcessExecutor
from isogloss.events import EventStream
from isogloss.events.analyse import ArticleAnalyser
from isogloss.events.analyse import _analyser as analysing
from isogloss.events.analyse._analysed_article import AnalysedArticle, pack_analyses, unpack_analyses
from isogloss.events.annotate import Annotator, ConceptDictionary
from isogloss.events.annotate.concepts._dictionary import ConceptPhrase, write_concepts
from isogloss.events.checkpoint import save_stream
from isogloss.events.ingest import sample_corpus, sample_news
from isogloss.similarity import LSISimilarity
from isogloss.text import Gazetteer
from tests.waiting import wait_until

NEWS = sample_news().articles[:120]


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Batches so small that a few articles are many."""
    monkeypatch.setattr(analysing, "_BATCH_ARTICLES", 8)
    monkeypatch.setattr(analysing, "_MIN_POOL_ARTICLES", 16)


PLAIN = Annotator(gazetteer=None)
"""Without places, which every process would have to read."""


def comparable(outcomes):
    """Outcomes whose points compare as bytes."""
    return [
        one._replace(latent=None if one.latent is None else one.latent.tobytes())  # arrays do not compare
        for one in outcomes
    ]


def followed(articles=NEWS, **options):
    """Steps, events and state of a stream, and whether it had processes."""
    with EventStream(**options) as stream:
        stream.analyser.start()
        steps = comparable(stream.add(articles))
        stream.update()
        started = stream.analyser.started
    events = json.dumps([event.as_dict() for event in stream.events()])
    return (steps, events, save_stream(stream)), started


@pytest.mark.usefixtures("leaves_no_processes")
@pytest.mark.parametrize("with_model", [False, True])
def test_processes_change_nothing(with_model):
    """Two processes that find places, and three that compare by a model."""
    options = {"model": LSISimilarity(20).fit(sample_corpus()), "annotator": PLAIN} if with_model else {}
    alone, none = followed(**options)
    together, some = followed(**options, n_jobs=3 if with_model else 2)
    assert alone == together
    assert (none, some) == (False, True)


@pytest.fixture
def scheduler(dask_client):
    """The address of a cluster of two processes."""
    return dask_client.scheduler.address


@pytest.mark.dask
@pytest.mark.parametrize("with_model", [False, True])
def test_dask_changes_nothing(with_model, scheduler):
    model = LSISimilarity(20).fit(sample_corpus()) if with_model else None
    with EventStream(model=model, scheduler=scheduler) as stream:
        stream.analyser.start()
        steps = comparable(stream.add(NEWS))
        stream.update()
        assert stream.analyser.count == 0
        events = json.dumps([event.as_dict() for event in stream.events()])
        assert (steps, events, save_stream(stream)) == followed(model=model)[0]


@pytest.mark.dask
def test_what_was_begun_on_dask_comes_in_order(scheduler):
    with ArticleAnalyser(PLAIN, scheduler=scheduler) as analyser:
        analyser.start()
        assert analyser.ahead == 2 * 3 * 8
        analyser.begin(NEWS[:60])
        given = [pair for start in range(0, 60, 10) for pair in analyser.run(NEWS[start : start + 10])]
        assert [(one.id, analysed.profile.id) for one, analysed in given] == [
            (one.id,) * 2 for one in NEWS[:60]
        ]
        assert analyser.count == 0


@pytest.mark.dask
def test_a_dask_worker_that_dies_costs_nothing_but_time(dask_client, scheduler):
    with ArticleAnalyser(PLAIN, scheduler=scheduler) as analyser:
        analyser.start()
        given = []
        for article, analysed in analyser.run(NEWS):
            given.append((article.id, analysed.profile.id))
            if len(given) == 40:
                os.kill(next(iter(dask_client.run(os.getpid).values())), signal.SIGKILL)
    assert given == [(article.id, article.id) for article in NEWS]


class Stuck(Annotator):
    """Never ends at one article, in any process but that of the test."""

    def annotate(self, article):
        while article.id == NEWS[43].id and os.getpid() != self.here:
            self.begun.touch()
        return super().annotate(article)


@pytest.mark.dask
def test_a_dask_worker_that_is_stuck_ends_and_its_task_is_given_up(
    dask_client, scheduler, tmp_path, monkeypatch
):
    annotator = Stuck(gazetteer=None)
    annotator.here, annotator.begun = os.getpid(), tmp_path / "begun"

    def timeout_s(executor):
        """Four seconds, counted from the time at which a worker is stuck, however busy the machine is."""
        wait_until(annotator.begun.exists)
        return 4.0

    monkeypatch.setattr("isogloss.engine._dask_executor.TASK_TIMEOUT_S", 2.0)
    monkeypatch.setattr("isogloss.engine._dask_executor.DaskExecutor.timeout", property(timeout_s))
    before = set(dask_client.run(os.getpid).values())
    monkeypatch.setattr(
        ArticleAnalyser, "_analyse_isolated", lambda self, article: next(self._analyse_here([article]))[1]
    )
    with ArticleAnalyser(annotator, scheduler=scheduler) as analyser:
        analyser.start()
        assert [analysed.profile.id for _, analysed in analyser.run(NEWS)] == [one.id for one in NEWS]
    wait_until(lambda: not before <= set(dask_client.run(os.getpid, on_error="ignore").values()))


@pytest.mark.dask
def test_dask_workers_with_other_packages_are_not_used(scheduler, monkeypatch, caplog):
    real = analysing._versions
    monkeypatch.setattr(analysing, "_versions", lambda floating: {**real(floating=floating), "numpy": "0"})
    with ArticleAnalyser(PLAIN, scheduler=scheduler) as analyser:
        analyser.start()
        assert [analysed.profile.id for _, analysed in analyser.run(NEWS)] == [one.id for one in NEWS]
        assert analyser.count == len(NEWS)
    assert "has other versions of numpy" in caplog.text


@pytest.mark.dask
def test_without_a_scheduler_articles_are_analysed_here(monkeypatch, caplog):
    monkeypatch.setattr("isogloss.engine._dask_executor.CONNECT_TIMEOUT_S", 0.2)
    with ArticleAnalyser(PLAIN, scheduler="tcp://127.0.0.1:1") as analyser:
        assert [analysed.profile.id for _, analysed in analyser.run(NEWS)] == [one.id for one in NEWS]
        assert (analyser.started, analyser.count, analyser.ahead) == (True, len(NEWS), 3 * 8)
        wait_until(lambda: "127.0.0.1:1 cannot be used" in caplog.text)


def test_a_scheduler_needs_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'isogloss\[dask\]'"):
        ArticleAnalyser(PLAIN, scheduler="tcp://127.0.0.1:1")


def test_until_processes_are_up_articles_are_analysed_here(monkeypatch):
    monkeypatch.setattr(ProcessExecutor, "ready", property(lambda workers: False))
    with ArticleAnalyser(PLAIN, n_jobs=2) as analyser:
        assert [article.id for article, _ in analyser.run(NEWS)] == [article.id for article in NEWS]
        assert analyser.started
        assert analyser.count == len(NEWS)


def test_articles_that_processes_analysed_are_not_analysed_here():
    with ArticleAnalyser(PLAIN, n_jobs=2) as analyser:
        analyser.start()
        assert sum(1 for _ in analyser.run(NEWS)) == len(NEWS)
        assert analyser.count == 0


def test_what_was_begun_is_analysed_meanwhile_and_comes_in_order():
    with ArticleAnalyser(PLAIN, n_jobs=2) as analyser:
        analyser.start()
        analyser.begin(NEWS[:60])
        analyser.begin(NEWS[60:90])
        given = [pair for start in range(0, 90, 10) for pair in analyser.run(NEWS[start : start + 10])]
        assert [article.id for article, _ in given] == [article.id for article in NEWS[:90]]
        assert all(article.title == analysed.profile.title for article, analysed in given)
        assert analyser.count == 0
        assert [article.id for article, _ in analyser.run(NEWS[:90])] == [one.id for one in NEWS[:90]]


def test_what_was_begun_is_not_lost_with_its_process():
    with ArticleAnalyser(PLAIN, n_jobs=2) as analyser:
        analyser.start()
        analyser.begin(NEWS[:64])
        for process in list(analyser._executor._pool._processes):
            os.kill(process, signal.SIGKILL)
        given = [(article.id, analysed.profile.id) for article, analysed in analyser.run(NEWS)]
    assert given == [(article.id, article.id) for article in NEWS]


@pytest.mark.usefixtures("leaves_no_processes")
def test_what_was_begun_is_done_here_after_the_processes_ended():
    analyser = ArticleAnalyser(PLAIN, n_jobs=2)
    analyser.start()
    analyser.begin(NEWS[:64])
    analyser.close()
    assert sum(analysed.profile.id == one.id for one, analysed in analyser.run(NEWS[:64])) == 64
    analyser.close()


def test_alone_or_with_few_articles_nothing_is_begun():
    alone = ArticleAnalyser(PLAIN)
    alone.begin(NEWS)
    assert (alone.ahead, alone.started, alone._begun) == (0, False, {})
    with ArticleAnalyser(PLAIN, n_jobs=2) as analyser:
        assert analyser.ahead == 0
        analyser.start()
        assert analyser.ahead == 2 * 3 * 8
        analyser.begin(NEWS[:8])
        assert analyser._begun == {}


def test_what_is_packed_comes_out_again():
    points = [np.ones(3, np.float32), None, np.zeros(3, np.float32)]
    for latents in (points, points[:1] * 3, [None] * 3):
        some = [AnalysedArticle(one, Annotator(), point) for one, point in zip(NEWS, latents, strict=False)]
        for one, other in zip(
            some, unpack_analyses(pickle.loads(pickle.dumps(pack_analyses(some)))), strict=True
        ):
            assert repr(one.profile) == repr(other.profile)
            assert repr(one.terms) == repr(other.terms)
            assert repr(one.latent) == repr(other.latent)
            np.testing.assert_array_equal(one.fingerprint, other.fingerprint)
    assert unpack_analyses(pack_analyses([])) == []


def test_few_articles_start_no_process():
    with EventStream(annotator=PLAIN, n_jobs=2) as stream:
        stream.add(NEWS[:16])
        for start in range(16, 40, 8):
            stream.add(NEWS[start : start + 8])
        assert not stream.analyser.started


def test_what_was_read_before_a_failure_is_taken():
    def failing():
        yield from NEWS[:48]
        raise OSError("the disk is gone")

    for jobs in (None, 2):
        with EventStream(annotator=PLAIN, n_jobs=jobs) as stream:
            stream.analyser.start()
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
        with EventStream(annotator=Picky(gazetteer=None), n_jobs=jobs) as stream:
            stream.analyser.start()
            with pytest.raises(ValueError, match="not this one"):
                stream.add(NEWS)
            assert stream.count + len(stream.original_of) == 43


def test_a_process_that_dies_costs_nothing_but_time():
    with ArticleAnalyser(PLAIN, n_jobs=2) as analyser:
        analyser.start()
        given = []
        for article, analysed in analyser.run(NEWS):
            given.append((article.id, analysed.profile.id))
            if len(given) == 40:
                os.kill(next(iter(analyser._executor._pool._processes)), signal.SIGKILL)
    assert given == [(article.id, article.id) for article in NEWS]


class Deadly(Annotator):
    """Ends the process it is in, unless that is this one."""

    def annotate(self, article):
        if multiprocessing.parent_process() is not None:
            os._exit(3)
        return super().annotate(article)


def test_processes_that_always_die_are_given_up(caplog):
    with ArticleAnalyser(Deadly(gazetteer=None), n_jobs=2) as analyser:
        analyser.start()
        assert [article.id for article, _ in analyser.run(NEWS)] == [article.id for article in NEWS]
        for _ in range(analysing._MAX_DEATHS):
            if analyser.jobs > 1:
                analyser.start()
                list(analyser.run(NEWS[:24]))
        assert analyser.jobs == 1
    assert "analysing in this process from now on" in caplog.text


@pytest.mark.usefixtures("leaves_no_processes")
def test_who_stops_early_leaves_nothing_behind():
    with ArticleAnalyser(PLAIN, n_jobs=2) as analyser:
        analyser.start()
        articles = analyser.run(NEWS)
        for _ in range(30):
            next(articles)
        articles.close()


def test_what_cannot_be_sent_is_refused():
    annotator = Annotator()
    annotator.concepts = lambda words: ()
    with (
        ArticleAnalyser(annotator, n_jobs=2) as analyser,
        pytest.raises(TypeError, match=r"cannot be handed to other processes .* use n_jobs=None"),
    ):
        analyser.start()


def test_gazetteers_and_dictionaries_are_sent_by_name(tmp_path):
    write_concepts(tmp_path / "concepts", {"en": [ConceptPhrase(("flood",), "en:Flood", 1.0)]}, ())
    finder = pickle.loads(pickle.dumps(ConceptDictionary(tmp_path / "concepts")))
    assert list(finder.find(["flood"], "en")) == [("en:Flood", False, 1.0)]
    assert pickle.loads(pickle.dumps(Gazetteer(200_000))).min_population == 200_000
    assert len(pickle.dumps(Gazetteer(200_000))) < 200


KILLED = """
import sys, time
from isogloss.events.annotate import Annotator
from isogloss.events.analyse import ArticleAnalyser

if __name__ == "__main__":
    analyser = ArticleAnalyser(Annotator(gazetteer=None), n_jobs=2)
    analyser.start()
    print("up", flush=True)
    time.sleep(3600)
"""


def _ended(process):
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_processes_end_with_the_one_that_started_them(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "up\n"
        others = psutil.Process(parent.pid).children(recursive=True)
        parent.kill()
    assert len(others) >= 2
    wait_until(lambda: all(_ended(one) for one in others))


UNGUARDED = """
from isogloss.events.analyse import _analyser as analysing
from isogloss.events.annotate import Annotator
from isogloss.events.ingest import sample_news

analysing._BATCH_ARTICLES, analysing._TASKS_PER_PROCESS = 8, 1
with analysing.ArticleAnalyser(Annotator(gazetteer=None), n_jobs=2) as analyser:
    for _ in range(analysing._MAX_DEATHS):
        analyser.start()
        print(sum(1 for _ in analyser.run(sample_news().articles[:40])))
"""


def test_a_script_without_a_main_guard_is_warned_and_analyses_in_process(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.stdout == "40\n" * analysing._MAX_DEATHS
    assert "under if __name__ == '__main__':" in done.stderr
