"""Progress bars have a total whenever the input has one."""

import bz2
import gzip
import io
import json
import lzma
import sys

import pytest
from rich.progress import Progress
from typer.testing import CliRunner

from isogloss.cli.app import app
from isogloss.corpora import save_corpus
from isogloss.events.ingest import ArticleReader, sample_news
from isogloss.io import open_decompressed, report_reads, total_size
from isogloss.lexicon import write_dictionary, write_vectors
from tests.lexicon.data import dictionary, languages
from tests.similarity.data import comparable_corpus

runner = CliRunner()
ARTICLES = sample_news().articles[:12]
LINES = "".join(json.dumps(article.as_record()) + "\n" for article in ARTICLES).encode()


@pytest.fixture
def bars(monkeypatch):
    """Every task of every bar, in the order in which they began."""
    tasks = []
    add = Progress.add_task

    def added(self, *args, **fields):
        number = add(self, *args, **fields)
        tasks.append(self._tasks[number])
        return number

    monkeypatch.setattr(Progress, "add_task", added)
    return tasks


def run(*arguments):
    result = runner.invoke(app, [str(one) for one in arguments])
    assert result.exit_code == 0, (result.output, result.exception)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_bytes_are_those_of_the_file_however_it_is_packed(tmp_path, pack):
    path = tmp_path / "news"
    path.write_bytes(pack(LINES * 50))
    counted = []
    with report_reads(counted.append), open_decompressed(path) as file:
        assert sum(map(len, file)) == 50 * len(LINES)
    assert sum(counted) == path.stat().st_size == total_size([path])
    with open_decompressed(path) as file:  # outside, nobody is told
        file.read()
    assert sum(counted) == path.stat().st_size


def test_what_has_no_size_has_no_total(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_bytes(LINES)
    assert ArticleReader("a.jsonl").total_bytes() == len(LINES)
    assert ArticleReader(".", "a.jsonl").total_bytes() == 2 * len(LINES)
    with open("a.jsonl") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert ArticleReader("-").total_bytes() == len(LINES)
        assert len(list(ArticleReader("-"))) == len(ARTICLES)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES)))
    assert ArticleReader("-").total_bytes() is None
    assert len(list(ArticleReader("-"))) == len(ARTICLES)
    assert total_size(["/dev/null"]) is None


@pytest.mark.usefixtures("warm_processes")
@pytest.mark.parametrize("name", ["news.jsonl", "news.jsonl.gz"])
def test_bars_of_news(tmp_path, bars, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(LINES) if name.endswith(".gz") else LINES)
    size = path.stat().st_size
    run("events", path, "--journal", "journal", "-o", "events.jsonl")
    run("events", "replay", "journal")
    run("ingest", path, "--store", "a.db")
    run("doctor", "--rebuild", "--store", "a.db")
    journal = (tmp_path / "journal").stat().st_size
    lines = len(ARTICLES) + 1  # and one that brings events up to date
    assert [task.total for task in bars] == [size, journal, size, lines - 1, lines]
    assert all(task.total == task.completed for task in bars)


def test_bars_of_alignment(tmp_path, bars):
    (tmp_path / "en.txt").write_text("the house\nthe flower\nblue flower\n")
    (tmp_path / "fr.txt").write_text("la maison\nla fleur\nfleur bleue\n")
    size = total_size(["en.txt", "fr.txt"])
    run("align", "en.txt", "fr.txt", "-o", "links", "--model", "m")
    run("align", "apply", "m", "en.txt", "fr.txt", "-o", "links")
    assert [task.total for task in bars if task.fields.get("unit")] == [size, size]
    assert all(task.completed == size for task in bars if task.fields.get("unit"))


def test_bars_of_a_corpus(tmp_path, bars):
    for code in ("en", "de"):
        texts = [{"id": str(i), "text": f"{code} word{i} other{i}"} for i in range(30)]
        (tmp_path / f"{code}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in texts))
    run("corpus", "build", "en.jsonl", "de.jsonl", "-o", "corpus", "--min-words", 1, "-j", 1)
    (task,) = bars
    assert task.total == task.completed == total_size(["en.jsonl", "de.jsonl"])


def test_bars_of_a_dictionary(tmp_path, bars):
    for name, vectors in languages().items():
        write_vectors(vectors, tmp_path / f"{name}.vec")
    write_dictionary(dictionary("en", "it", range(200)), tmp_path / "seed")
    arguments = ("--src", "en.vec", "--tgt", "it.vec", "--seed", "seed", "--rounds", 0)
    run("dictionary", "build", *arguments, "-o", "en-it", "--kind", "procrustes")
    *reads, steps = bars
    assert [task.total for task in reads] == [total_size(["en.vec"]), total_size(["it.vec"])]
    assert all(task.total == task.completed for task in reads)
    assert (steps.total, steps.completed) == (3, 2)  # the last step ends with the bar
    bars.clear()
    run("dictionary", "build", *arguments, "-o", "en-it")
    assert (bars[-1].total, bars[-1].completed) == (4, 3)


def test_bars_of_evaluations(tmp_path, bars):
    save_corpus(comparable_corpus(n=60, languages=("en", "de")), tmp_path / "corpus")
    run("similar", "fit", "corpus", "-o", "hub", "-d", 4)
    run("evaluate", "retrieval", "hub", "corpus")
    run("evaluate", "clusters")
    assert [task.total for task in bars] == [4, 364]
