"""Parallel text from plain files and archives."""

import bz2
import gzip
import lzma
import os
import threading
import zipfile

import pytest

from isogloss.corpora import BarPairs, ColumnPairs, LinePairs, ZipPairs
from isogloss.corpora._languages import same_language
from isogloss.exceptions import CorpusError
from isogloss.io import MAX_LINE_BYTES, atomic_write, open_decompressed

PAIRS = [(["the", "house"], ["la", "maison"]), (["été"], ["summer", "time"])]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, so that files have short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, **files):
    for name, text in files.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def zipped(path, **members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "."), text)


def readers(folder, left, right):
    """The same text in every form."""
    write(folder, left="\n".join(left), right="\n".join(right) + "\n")
    lines = list(zip(left, right, strict=True))
    write(folder, tsv="".join(f"x\t{b}\t{a}\n" for a, b in lines))
    write(folder, bars="".join(f"{a} ||| {b}\n" for a, b in lines))
    zipped("pairs.zip", Books__en="\n".join(left) + "\n", Books__fr="\n".join(right) + "\n", README="")
    yield lambda **o: LinePairs("left", "right", **o)
    yield lambda **o: ColumnPairs("tsv", 2, 1, **o)
    yield lambda **o: BarPairs("bars", **o)
    yield lambda **o: ZipPairs("pairs.zip", "en", "fr", **o)


def test_every_form_gives_the_same_pairs_in_every_pass(folder):
    for make in readers(folder, ["the  house", "été"], ["la maison", "summer time "]):
        corpus = make()
        assert list(corpus) == PAIRS
        assert list(corpus) == PAIRS
        assert corpus.report.pairs == 2
        assert corpus.report.bad == 0


def test_bad_pairs_keep_their_lines(folder):
    left, right = ["a", "", "b c d", "e"], ["a", "b", "c", " "]
    for make in readers(folder, left, right):
        corpus = make(on_bad="skip", max_tokens=2)
        assert list(corpus) == [(["a"], ["a"]), ([], []), ([], []), ([], [])]
        assert corpus.report.problems == {"empty": 2, "too long": 1}
        assert next(iter(corpus)) == (["a"], ["a"])
        assert corpus.report.pairs == 1


def test_bad_pairs_are_refused_by_name(folder):
    for make in readers(folder, ["a", "b"], ["a", ""]):
        with pytest.raises(CorpusError, match=r":2.*target side is empty.*on_bad='skip' .*without --strict"):
            list(make())


def test_the_longest_sentence_is_still_accepted(folder):
    write(folder, a="w " * 1000, b="w")
    assert len(next(iter(LinePairs("a", "b")))[0]) == 1000
    write(folder, a="w " * 1001)
    with pytest.raises(CorpusError, match="1001 tokens, the limit is 1000"):
        list(LinePairs("a", "b"))


@pytest.mark.parametrize("on_bad", ["raise", "skip"])
def test_unequal_files_are_always_refused_with_both_counts(folder, on_bad):
    write(folder, a="1\n2\n3\n4\n", b="1\n2\n")
    with pytest.raises(CorpusError, match="a has 4 lines and b has 2"):
        list(LinePairs("a", "b", on_bad=on_bad))
    with pytest.raises(CorpusError, match="b has 2 lines and a has 4"):
        list(LinePairs("b", "a", on_bad=on_bad))
    zipped("z.zip", x__en="1\n2\n", x__fr="1\n")
    with pytest.raises(CorpusError, match=r"x\.en\] has 2 lines and z.zip\[x\.fr\] has 1"):
        list(ZipPairs("z.zip", "en", "fr", on_bad=on_bad))


def test_invalid_utf8_is_named_or_skipped(folder):
    write(folder, a=b"ok\nbad \xff word\n", b="ok\nfine\n")
    with pytest.raises(CorpusError, match="a:2, b:2: the source side is not UTF-8"):
        list(LinePairs("a", "b"))
    corpus = LinePairs("b", "a", on_bad="skip")
    assert list(corpus) == [(["ok"], ["ok"]), ([], [])]
    assert "target side is not UTF-8" in str(corpus.report)


def test_only_ascii_blanks_and_line_feeds_separate(folder):
    write(folder, a="1\u00a0000 x\u2028y\x0bz\r\n", b="\ufeff\u3000 w\x1cv\r\n")
    assert list(LinePairs("a", "b")) == [(["1\u00a0000", "x\u2028y", "z"], ["\u3000", "w\x1cv"])]


def test_packed_files_are_known_by_their_content(folder):
    write(folder, g=gzip.compress(b"a b\n"), z=bz2.compress(b"c\n"), x=lzma.compress(b"d\n"))
    assert list(LinePairs("g", "z")) == [(["a", "b"], ["c"])]
    assert list(LinePairs("x", "g")) == [(["d"], ["a", "b"])]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_can_be_read_once(folder):
    os.mkfifo("pipe")
    write(folder, b="x\n")
    writer = threading.Thread(target=lambda: (folder / "pipe").write_bytes(gzip.compress(b"a\n")))
    writer.start()
    assert list(LinePairs("pipe", "b")) == [(["a"], ["x"])]
    writer.join()


def test_a_damaged_file_is_the_one_that_is_named(folder):
    write(folder, cut=gzip.compress(b"a b\n" * 9999)[:-20], fine=b"a\n" * 9999)
    for corpus in (LinePairs("cut", "fine"), LinePairs("fine", "cut")):
        with pytest.raises(CorpusError, match=r"^cut: the gzip data are cut short"):
            list(corpus)
    with pytest.raises(CorpusError, match="absent: there is no such file"):
        list(LinePairs("fine", "absent"))
    with pytest.raises(CorpusError, match="check the path"):
        list(LinePairs(folder, "fine"))


def test_a_line_without_end_is_not_read_into_memory(folder):
    write(folder, a=b"x" * (MAX_LINE_BYTES + 5), b=b"y")
    with pytest.raises(CorpusError, match="a:1: the line is longer"):
        list(LinePairs("a", "b", on_bad="skip"))


def test_columns_by_name(folder):
    write(folder, t="id\ten\tfr\n1\tthe house\tla maison\n2\tthe cat\n")
    assert next(iter(ColumnPairs("t", "fr", "en"))) == (["la", "maison"], ["the", "house"])
    with pytest.raises(CorpusError, match="t:3: has fewer columns"):
        list(ColumnPairs("t", "en", "fr"))
    with pytest.raises(CorpusError, match="one column 'de' on the first line, which has 'id', 'en', 'fr'"):
        list(ColumnPairs("t", "en", "de"))
    for columns in [(1, 1), (0, "en"), (-1, 0)]:
        with pytest.raises(ValueError, match="numbers from zero, or two names"):
            ColumnPairs("t", *columns)


def test_bars_must_occur_once(folder):
    write(folder, t="a ||| b\na b\na ||| b ||| c\n")
    corpus = BarPairs("t", on_bad="skip")
    assert list(corpus) == [(["a"], ["b"]), ([], []), ([], [])]
    assert corpus.report.problems == {"incomplete": 2}


def test_members_of_archives_are_found_or_listed(folder):
    zipped("z.zip", Book__en="a", Book__pt_BR="b", Book__pt_PT="c")
    assert list(ZipPairs("z.zip", "en", "pt-BR")) == [(["a"], ["b"])]
    assert list(ZipPairs("z.zip", "en", "Book.pt_PT")) == [(["a"], ["c"])]
    with pytest.raises(CorpusError, match="2 members for 'pt'"):
        list(ZipPairs("z.zip", "en", "pt"))
    with pytest.raises(CorpusError, match=r"0 members for 'fr'.*Book.en"):
        list(ZipPairs("z.zip", "en", "fr"))
    write(folder, n="no archive")
    with pytest.raises(CorpusError, match="not a zip archive"):
        list(ZipPairs("n", "en", "fr"))
    with pytest.raises(CorpusError, match="no such file"):
        list(ZipPairs("absent", "en", "fr"))


def test_options_are_checked():
    with pytest.raises(ValueError, match="'raise' or 'skip'"):
        LinePairs("a", "b", on_bad="ignore")
    with pytest.raises(ValueError, match="at least 1"):
        LinePairs("a", "b", max_tokens=0)


def test_examples_of_bad_pairs_are_few(folder):
    write(folder, a="\n" * 100, b="x\n" * 100)
    corpus = LinePairs("a", "b", on_bad="skip")
    assert sum(1 for _ in corpus) == 100
    assert corpus.report.bad == 100
    assert len(corpus.report.examples) == 5


def test_codes_of_languages():
    assert same_language("en", "EN_gb")
    assert not same_language("en", "eng")
    assert not same_language("zh-Hans", "zh-Hant")


def test_a_file_is_replaced_whole_or_not_at_all(folder):
    write(folder, out="old")

    def fails():
        with atomic_write("out") as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fails()
    assert (folder / "out").read_text() == "old"
    assert [path.name for path in folder.iterdir()] == ["out"]
    with atomic_write("out.gz") as file:
        file.write(b"new")
    with open_decompressed("out.gz") as file:
        assert file.read() == b"new"


def test_what_cannot_be_written_is_named(folder):
    with pytest.raises(CorpusError, match="absent/out: cannot be written"), atomic_write("absent/out"):
        pass
    with pytest.raises(CorpusError, match="not a regular file"), atomic_write(folder):
        pass
