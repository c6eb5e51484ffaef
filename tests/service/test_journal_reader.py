"""The journal reader: lines in order, and articles analysed ahead with the same events to the byte."""

from isogloss.events.analyse import ArticleAnalyser
from isogloss.events.annotate import Annotator
from isogloss.events.checkpoint import save_stream
from isogloss.events.ingest import sample_corpus, sample_news
from isogloss.service.worker import JournalProcessor, StreamFactory
from isogloss.service.worker._journal_processor import JournalReader
from isogloss.similarity import LSISimilarity
from isogloss.store import Store
from tests.service.test_worker import tables, without_lines
from tests.store.conftest import store  # noqa: F401

ARTICLES = sample_news().articles[:72]


def test_lines_are_read_up_to_a_limit(store):  # noqa: F811
    store.add(ARTICLES[:20])
    with store.database.write() as session:
        session.run("DELETE FROM journal WHERE seq = 5")
    reader = JournalReader(store, ArticleAnalyser(Annotator()), 3)
    assert [entry.seq for entry in reader.read(10, until=6)] == [4, 6]
    assert [entry.seq for entry in reader.read(3)] == [7, 8, 9]
    assert [entry.seq for entry in reader.read(100)] == list(range(10, 21))
    assert reader.read(100) == []


def test_a_process_pool_is_prefetched_and_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("isogloss.events.analyse._analyser._BATCH_ARTICLES", 8)
    monkeypatch.setattr("isogloss.events.analyse._analyser._MIN_TASK_ARTICLES", 2)
    model = LSISimilarity(20).fit(sample_corpus())
    with Store(tmp_path / "alone.db") as alone:
        alone.add(ARTICLES)
        processor = JournalProcessor(alone, StreamFactory(model=model))
        processor.catch_up()
        wanted = without_lines(tables(alone)), save_stream(processor.stream)
    with Store(tmp_path / "pool.db") as store:  # noqa: F811
        store.add(ARTICLES)
        processor = JournalProcessor(store, StreamFactory(model=model, n_jobs=2))
        with processor.stream as stream:
            stream.analyser.start()
            assert processor.process(10) == 10
            assert processor.reader.last == 10 + stream.analyser.ahead
            while processor.process(10):
                pass
            processor.update_events()
            assert stream.analyser.count < 16
            assert (without_lines(tables(store)), save_stream(stream)) == wanted
