"""Multistream dumps, read in parts."""

import bz2
import re

import pytest

from isogloss.corpora import Concepts, ProcessMap, WikipediaDump, build_corpus
from isogloss.corpora.readers import _streams as streams
from isogloss.corpora.readers import read_index
from isogloss.exceptions import CorpusError
from isogloss.wikipedia import write_sample


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dumps")
    write_sample(folder, ["en", "sl"], concepts=330, words=500, length=30)
    return folder


@pytest.fixture
def small_parts(monkeypatch):
    """A part for each stream."""
    monkeypatch.setattr(streams.find_spans, "__defaults__", (1,))


def dump_of(folder, code, kind=".xml.bz2"):
    return next(folder.glob(f"{code}wiki/*/*multistream{kind}"))


def shown(document):
    return document.id, document.title, document.lang, document.text


def test_streams_are_where_the_index_says(folder):
    path = dump_of(folder, "en")
    offsets, pages = read_index(dump_of(folder, "en", "-index.txt.bz2"))
    assert streams.find_streams(path) == [0, *offsets, streams.find_streams(path)[-1]]
    assert pages == len(re.findall(b"<page>", bz2.decompress(path.read_bytes()).replace(b"&lt;page>", b"")))


def test_spans_cover_the_file_once(folder):
    path = dump_of(folder, "en")
    spans = streams.find_spans(path, 20_000)
    assert [span.start for span in spans] == [0, *(span.end for span in spans[:-1])]
    assert spans[-1].end == path.stat().st_size
    assert [span.last for span in spans] == [False] * (len(spans) - 1) + [True]
    assert b"".join(chunk for span in spans for chunk in streams.read_span(path, span)) == bz2.decompress(
        path.read_bytes()
    )


@pytest.mark.usefixtures("small_parts")
def test_parts_have_the_articles_of_the_whole(folder):
    dump = WikipediaDump(dump_of(folder, "en"))
    whole = [shown(document) for document in dump.raw()]
    parts = [part.read() for part in dump.parts()]
    assert len(parts) > 4
    assert [shown(document) for documents, _ in parts for document in documents] == whole
    passed = sum((report.passed for _, report in parts), start=type(dump.report.passed)())
    assert passed == dump.report.passed
    assert sum(report.documents for _, report in parts) == len(whole)


def files(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def aligned(folder):
    """The rows of articles with a number."""
    titles = [document.id for document in WikipediaDump(dump_of(folder, "en")).raw()]
    return Concepts({("en", title): f"row {number}" for number, title in enumerate(titles[::2])})


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("with_rows", [True, False])
def test_a_corpus_does_not_depend_on_how_the_dump_is_read(folder, tmp_path, n_jobs, with_rows, monkeypatch):
    align = aligned(folder) if with_rows else None
    path = dump_of(folder, "en")
    build_corpus({"en": WikipediaDump(path)}, tmp_path / "parts", str.split, align=align, n_jobs=n_jobs)
    monkeypatch.setattr(WikipediaDump, "parts", lambda self: [])
    build_corpus({"en": WikipediaDump(path)}, tmp_path / "whole", str.split, align=align)
    assert files(tmp_path / "parts") == files(tmp_path / "whole")


@pytest.mark.usefixtures("small_parts")
def test_a_build_goes_on_with_the_next_part(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("isogloss.corpora._shards.PARTS_PER_SHARD", 2)
    dump = WikipediaDump(dump_of(folder, "en"))
    build_corpus({"en": dump}, tmp_path / "whole", str.split, min_words=5)
    report = str(dump.report)

    class StoppedError(Exception):
        pass

    def stop(code, count):
        if count > 250:
            raise StoppedError

    with pytest.raises(StoppedError):
        build_corpus({"en": dump}, tmp_path / "corpus", str.split, min_words=5, progress=stop)
    read = []
    original = type(dump.parts()[0]).read
    monkeypatch.setattr(type(dump.parts()[0]), "read", lambda self: read.append(self.span) or original(self))
    build_corpus({"en": dump}, tmp_path / "corpus", str.split, min_words=5)
    spans = [part.span for part in dump.parts()]
    assert read == spans[-len(read) :]
    assert 0 < len(read) < len(spans)
    assert files(tmp_path / "corpus") == files(tmp_path / "whole")
    assert "redirects" in report


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda content: content[:-5], r"the stream at byte [\d,]+ is cut short"),
        (lambda content: content[: content.rindex(b"BZh9")], "XML is cut short"),
        (
            lambda content: content[:9_000] + bytes(30) + content[9_030:],
            "the stream at byte [0-9,]+ is cut short",
        ),
    ],
    ids=["inside a stream", "between streams", "spoiled"],
)
def test_damage_is_named_with_its_place(folder, tmp_path, change, place):
    path = tmp_path / "d.xml.bz2"
    path.write_bytes(change(dump_of(folder, "en").read_bytes()))
    with pytest.raises(CorpusError, match=rf"d\.xml\.bz2: bytes [\d,]+ to [\d,]+: .*{place}"):
        build_corpus({"en": WikipediaDump(path)}, tmp_path / "corpus", str.split)
    assert not (tmp_path / "corpus").exists()
    dump = WikipediaDump(path, on_bad="skip")
    corpus = build_corpus({"en": dump}, tmp_path / "corpus", str.split, min_words=1, restart=True)
    assert corpus.header["languages"]["en"]["bad"] == {"cut short": 1}
    assert len(corpus) > 200
    assert "cut short" in str(dump.report)


def test_other_files_have_no_parts(tmp_path):
    for name, content in {"a.xml": b"<mediawiki/>", "empty": b"", "one.bz2": bz2.compress(b"x" * 99)}.items():
        (tmp_path / name).write_bytes(content)
        assert streams.find_spans(tmp_path / name, 1) == []
    with pytest.raises(CorpusError, match="there is no such file"):
        streams.find_streams(tmp_path / "absent")


def test_an_index_that_is_none(tmp_path):
    (tmp_path / "index.txt").write_text("616:10:Bled\nBohinj\n")
    with pytest.raises(CorpusError, match=r"index\.txt:2: b'Bohinj.+' is no entry"):
        read_index(tmp_path / "index.txt")


def double(number):
    return 2 * number


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_process_map_keeps_the_order(n_jobs):
    with ProcessMap(double, n_jobs) as each:
        assert list(each(range(20))) == list(range(0, 40, 2))
        assert list(each([])) == []
