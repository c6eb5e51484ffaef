"""Plain parallel text many lines at a time: the same pairs, reports and refusals as a line at a time."""

import io
import itertools
import os
import threading
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isogloss.alignment import Bitext, WordForms, WordList
from isogloss.alignment import _bitext as bitexts
from isogloss.corpora import BarPairs, ColumnPairs, LinePairs, ZipPairs
from isogloss.exceptions import CorpusError
from isogloss.io import _lines as lines
from isogloss.kernels import number_pairs, part_spans
from tests.oracles import words as twin

BLANKS = [b" ", b"\t", b"\x0b", b"\x0c", b"\r", b"\n", b"\n"]
LETTERS = [b"|||", b"|", b"a", b"B", b"b", b"word", b"x" * 12, b"\x00", b"\x1c"]
WIDE = [letter.encode() for letter in "\ufeff\u00a0\u3000éİ\U0001f600"]
WRONG = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x85"]
LIMIT = 30
TEXT = st.lists(st.sampled_from(BLANKS + LETTERS + WIDE + WRONG), max_size=60).map(b"".join)
FEW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, and lines that are soon too long."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", LIMIT)
    return tmp_path


def readers(left, right, **options):
    """Every reader of these bytes, and what its twin makes of them."""
    for name, data in (("left", left), ("right", right), ("file", left + b"\n" + right)):
        Path(name).write_bytes(data)
    with zipfile.ZipFile("zip", "w") as archive:
        archive.writestr("b.en", left)
        archive.writestr("b.fr", right)
    both = Path("file").read_bytes()
    yield LinePairs("left", "right", **options), twin.raw_lines(left, right, LIMIT)
    yield ColumnPairs("file", 2, 0, **options), twin.raw_columns(both, 2, 0, LIMIT)
    yield BarPairs("file", **options), twin.raw_bars(both, LIMIT)
    names = "zip[b.en]", "zip[b.fr]"
    yield ZipPairs("zip", "en", "fr", **options), twin.raw_lines(left, right, LIMIT, names)


def outcome(work):
    """What comes out, or what was refused."""
    try:
        return work(), None
    except CorpusError as error:
        return None, str(error)


def assert_as_expected(corpus, expected, found, refused):
    pairs, problems, said = expected
    if said is not None:
        assert refused is not None
        assert said.removeprefix(":") in refused
        return
    assert refused is None
    assert found == pairs
    assert corpus.report.pairs == len(pairs)
    assert corpus.report.problems == Counter(kind for _, kind, _ in problems)
    assert len(corpus.report.examples) == min(len(problems), 5)
    for example, (number, _, what) in zip(corpus.report.examples, problems, strict=False):
        assert f":{number}: {what}" in example


@FEW
@given(TEXT, TEXT, st.sampled_from(["raise", "skip"]), st.integers(1, 5), st.integers(1, 40))
def test_blocks_and_single_pairs_are_what_a_slow_reader_reads(folder, left, right, on_bad, most, size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", size)
        for corpus, raw in readers(left, right, on_bad=on_bad, max_tokens=most):
            expected = twin.sentences(raw, most, on_bad == "raise")
            assert_as_expected(corpus, expected, *outcome(lambda one=corpus: list(one)))
            bitext, refused = outcome(lambda one=corpus: Bitext.from_pairs(one, forms=WordForms(lower=False)))
            assert_as_expected(corpus, expected, None if bitext is None else list(bitext.texts()), refused)


@FEW
@given(TEXT, TEXT, st.integers(1, 40), st.booleans(), st.sampled_from([None, 1]))
def test_words_have_the_numbers_that_they_have_one_at_a_time(folder, left, right, size, lower, prefix):
    n = min(left.count(b"\n"), right.count(b"\n"))
    left, right = (b"".join(text.splitlines(keepends=True)[:n]) for text in (left, right))
    forms, known = WordForms(lower, prefix), (WordList(["a", "word"]), WordList(["é"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", size)
        patch.setattr(lines, "MAX_LINE_BYTES", 1 << 20)
        for corpus, _ in readers(left, right, on_bad="skip"):
            if outcome(lambda one=corpus: list(one))[1] is not None:
                continue
            blocks = Bitext.from_pairs(corpus, forms=forms, vocabularies=known)
            single = Bitext.from_pairs(iter(corpus), forms=forms, vocabularies=known)
            for a, b in ((blocks.source, single.source), (blocks.target, single.target)):
                np.testing.assert_array_equal(a.words, b.words)
                np.testing.assert_array_equal(a.offsets, b.offsets)
                assert a.words.dtype == b.words.dtype == np.int32
                assert a.vocabulary == b.vocabulary


def test_the_characters_of_utf8_and_no_others():
    edges = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0]
    edges += [0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF]
    found = [bytes(pair) for pair in itertools.product(range(256), repeat=2)]
    some = itertools.chain(*(itertools.product(edges, repeat=n) for n in (1, 3, 4)))
    found += [bytes(one) for one in some if one[0] >= 0xC0]
    text = np.frombuffer(b"".join(found), dtype=np.uint8)
    ends = np.cumsum([len(one) for one in found])
    starts = np.append(0, ends[:-1])
    bad, *_ = number_pairs(text, starts, ends, text, starts, ends, 10)
    expected = [k for k, one in enumerate(found) if twin.problem_of(one, one, 10) is not None]
    np.testing.assert_array_equal(bad, expected)


def test_many_words_each_have_a_number():
    words = [f"w{k * 7919 % 5003}é{'x' * (k % 13)}" for k in range(20_000)]
    text = np.frombuffer(" ".join(words).encode(), dtype=np.uint8)
    span = np.array([0]), np.array([len(text)])
    bad, (numbers, lengths, forms), _ = number_pairs(text, *span, text, *span, len(words))
    assert bad.size == 0
    assert lengths.tolist() == [20_000]
    forms = bytes(forms).decode().split("\n")
    assert forms == list(dict.fromkeys(words))
    assert [forms[k] for k in numbers] == words


def test_words_of_bad_pairs_have_no_number(folder):
    Path("a").write_text("one\ntwo\nthree\n")
    Path("b").write_text("un\n\ntrois\n")
    bitext = Bitext.from_pairs(LinePairs("a", "b", on_bad="skip"))
    assert bitext.words == (["one", "three"], ["un", "trois"])
    assert bitext.source.offsets.tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize("size", [4, 1000])
def test_a_bad_pair_is_refused_before_a_later_line_that_is_too_long(folder, monkeypatch, size):
    monkeypatch.setattr(lines, "BLOCK_BYTES", size)
    Path("a").write_text("one\ntwo\n\n" + "x" * 40)
    Path("b").write_text("un\ndeux\ntrois\nquatre")
    with pytest.raises(CorpusError, match="a:3, b:3: the source side is empty"):
        Bitext.from_pairs(LinePairs("a", "b"))
    with pytest.raises(CorpusError, match="a:4: the line is longer than 30 bytes"):
        Bitext.from_pairs(LinePairs("a", "b", on_bad="skip"))


def test_a_line_without_end_is_given_up_at_the_limit(folder, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 20)
    data = io.BytesIO(b"one\n" + b"x" * 1000)
    blocks = lines.iter_line_blocks(data, "file")
    assert list(next(blocks)) == [b"one"]
    with pytest.raises(CorpusError, match="file:2: the line is longer"):
        next(blocks)
    assert data.tell() == 40


def test_a_mark_is_one_at_the_start_of_the_file_alone(folder, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 5)
    assert list(lines.iter_lines(io.BytesIO("\ufeffa\n\ufeffb\n".encode()), "file")) == [
        b"a",
        "\ufeffb".encode(),
    ]


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
def test_files_in_utf_16_are_refused(mark):
    text = io.BytesIO("\ufeffla maison\n".encode(mark))
    with pytest.raises(CorpusError, match="fr: the file is in UTF-16; expected UTF-8"):
        list(lines.iter_lines(text, "fr"))


def test_numbers_on_disk_are_those_in_memory(folder, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 50)
    monkeypatch.setattr(bitexts, "BUFFER_WORDS", 7)
    Path("t").write_text("".join(f"a{k % 13} b c ||| x y{k % 7}\n" for k in range(40)))
    in_memory, on_disk = (Bitext.from_pairs(BarPairs("t"), folder=where) for where in (None, folder))
    assert isinstance(on_disk.source.words, np.memmap)
    assert list(on_disk.texts()) == list(in_memory.texts()) == list(BarPairs("t"))


def test_a_table_of_names_alone_is_no_text(folder):
    Path("t").write_text("en\tfr\r\n")
    assert len(Bitext.from_pairs(ColumnPairs("t", "en", "fr"))) == 0
    Path("t").write_bytes(b"")
    with pytest.raises(CorpusError, match="one column 'en' on the first line"):
        Bitext.from_pairs(ColumnPairs("t", "en", "fr"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_two_pipes_filled_by_turns_do_not_wait_for_each_other(folder):
    names = "left", "right"
    for name in names:
        os.mkfifo(name)

    def write():
        with open("left", "wb", buffering=0) as left:
            left.write(b"first\n")
            with open("right", "wb", buffering=0) as right:
                right.write(b"first\n")
                for k, pipe in itertools.product(range(20_000), (left, right)):
                    pipe.write(b"word %05d\n" % k)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    assert len(Bitext.from_pairs(LinePairs(*names))) == 20_001
    writer.join()


def test_kernels_refuse_spans_outside_the_text():
    text, inside, outside = np.zeros(3, dtype=np.uint8), np.array([0, 3]), np.array([3, 4])
    with pytest.raises(ValueError, match="outside the text"):
        number_pairs(text, inside, outside, text, inside, outside, 5)
    with pytest.raises(ValueError, match="equally many"):
        number_pairs(text, inside[:1], inside[1:], text, inside[:0], inside[:0], 5)
    with pytest.raises(ValueError, match="as many starts as ends"):
        part_spans(text, inside, inside[:1], text, 0, 1, 0)
    with pytest.raises(ValueError, match="empty separator"):
        part_spans(text, inside, inside, text[:0], 0, 1, 0)
