"""Files of word vectors: every form is read, what is written comes back, and bad lines are named."""

import gzip
import os

import numpy as np
import pytest

from isogloss.exceptions import IsoglossError, VectorFileError
from isogloss.lexicon import (
    WordVectors,
    fit_normaliser,
    read_vectors,
    read_vectors_with_report,
    write_vectors,
)

WORDS = ("the", "naïve", "猫", "New", "3.14")


@pytest.fixture
def vectors(rng):
    return WordVectors(WORDS, rng.normal(size=(5, 4)), "en")


def lines(*rows, header=""):
    return (header + "".join(row + "\n" for row in rows)).encode()


@pytest.mark.parametrize("name", ["en.vec", "en.vec.gz", "en.bin", "en.bin.gz"])
def test_what_is_written_comes_back_exactly(tmp_path, vectors, name):
    write_vectors(vectors, tmp_path / name, binary=".bin" in name)
    again = read_vectors(tmp_path / name)
    assert again.words == vectors.words
    assert again.language == "en"
    np.testing.assert_array_equal(again.matrix, vectors.matrix)


def test_fasttext_files_have_a_header_and_a_blank_at_the_end_of_lines(tmp_path):
    (tmp_path / "wiki.it.vec").write_bytes(lines("il 1 2 3 ", "la -1e-3 .5 0 ", header="2 3\n"))
    read = read_vectors(tmp_path / "wiki.it.vec", "it")
    assert read.words == ("il", "la")
    np.testing.assert_array_equal(read.matrix, np.float32([[1, 2, 3], [-1e-3, 0.5, 0]]))


def test_glove_files_have_no_header_and_may_have_blanks_in_words(tmp_path):
    (tmp_path / "glove.txt").write_bytes(lines("the 1 2", ". . . 3 4", "of\t5\t6"))
    read = read_vectors(tmp_path / "glove.txt")
    assert read.words == ("the", ". . .", "of")
    assert read.matrix.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_binary_files_without_line_breaks(tmp_path, vectors):
    body = b"".join(w.encode() + b" " + row.tobytes() for w, row in zip(WORDS, vectors.matrix, strict=True))
    (tmp_path / "g.bin").write_bytes(b"5 4\n" + body)
    np.testing.assert_array_equal(read_vectors(tmp_path / "g.bin").matrix, vectors.matrix)


@pytest.mark.parametrize("seed", range(20))
def test_small_binary_files_are_not_taken_for_text(tmp_path, seed):
    few = WordVectors(["a", "é"], np.random.default_rng(seed).normal(size=(2, 2)))
    write_vectors(few, tmp_path / "v.bin", binary=True)
    np.testing.assert_array_equal(read_vectors(tmp_path / "v.bin").matrix, few.matrix)


def test_text_with_a_header_and_odd_words_is_not_taken_for_binary(tmp_path):
    (tmp_path / "v").write_bytes(b"3 2\nna\xefve 1 2\n\xc3\xa9 \xc3\xa9 3 4\nx 5 6\n")
    vectors, report = read_vectors_with_report(tmp_path / "v")
    assert vectors.words == ("é é", "x")
    assert report.broken == 1


def test_npz(tmp_path, vectors):
    np.savez(tmp_path / "en.npz", words=np.array(WORDS), vectors=vectors.matrix.astype(np.float16))
    read = read_vectors(tmp_path / "en.npz", limit=2)
    assert read.words == WORDS[:2]
    np.testing.assert_allclose(read.matrix, vectors.matrix[:2], atol=1e-2)


@pytest.mark.parametrize(
    "arrays", [{"words": np.array(["a"])}, {"words": np.array(["a"]), "vectors": np.eye(2)}]
)
def test_npz_of_something_else(tmp_path, arrays):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(VectorFileError, match=r"x\.npz: .*words"):
        read_vectors(tmp_path / "x.npz")


@pytest.mark.parametrize("binary", [False, True])
def test_only_the_first_are_read(tmp_path, rng, binary):
    many = WordVectors([f"w{i}" for i in range(2500)], rng.normal(size=(2500, 3)))
    write_vectors(many, tmp_path / "v", binary=binary)
    few = read_vectors(tmp_path / "v", limit=1700)
    assert few.words == many.words[:1700]
    np.testing.assert_array_equal(few.matrix, many.matrix[:1700])


def test_a_limit_is_reached_before_what_is_broken_later(tmp_path):
    (tmp_path / "v").write_bytes(lines("a 1 2", "b 3 4", "c 5"))
    assert read_vectors(tmp_path / "v", limit=2).words == ("a", "b")


BAD = {
    "repeated": ("a 3 4", r"line 2: the word 'a' was on line 1 already"),
    "broken": ("b 1 x", r"line 2: 'x' after 'b' is not a number"),
    "wrong_length": ("b 1", r"line 2: 1 value after 'b', expected 2"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_lines_are_counted_and_named_when_lenient(tmp_path, kind):
    line, message = BAD[kind]
    (tmp_path / "v.vec").write_bytes(lines("a 1 2", line, "c 5 6"))
    vectors, report = read_vectors_with_report(tmp_path / "v.vec")
    assert vectors.words == ("a", "c")
    assert vectors.matrix.tolist() == [[1, 2], [5, 6]]
    assert getattr(report, kind) == report.skipped == 1
    assert message in str(report)


@pytest.mark.parametrize("kind", BAD)
def test_bad_lines_are_refused_when_strict(tmp_path, kind):
    line, _ = BAD[kind]
    (tmp_path / "v.vec").write_bytes(lines("a 1 2", line, "c 5 6"))
    with pytest.raises(VectorFileError, match=r"v\.vec:2: .*strict=False"):
        read_vectors(tmp_path / "v.vec")


def test_values_too_many_are_not_taken_for_a_word_with_blanks(tmp_path):
    (tmp_path / "v").write_bytes(lines("a 1 2", "b 1 2 3"))
    with pytest.raises(VectorFileError, match=":2: 3 values after 'b', expected 2"):
        read_vectors(tmp_path / "v")


def test_one_line_too_long_does_not_make_up_for_one_too_short(tmp_path):
    (tmp_path / "v").write_bytes(lines("a 1 2", "b 1 2 3", "c 1"))
    vectors, report = read_vectors_with_report(tmp_path / "v")
    assert vectors.words == ("a",)
    assert report.wrong_length == 2


@pytest.mark.parametrize(
    "bad", [b"b nan 1\n", b"b inf 1\n", b"\xff\xfe 1 2\n", b"\n", b" 1 2\n", b"b 1,5 2\n"]
)
def test_other_broken_lines(tmp_path, bad):
    (tmp_path / "v").write_bytes(b"a 1 2\n" + bad + b"c 5 6\n")
    vectors, report = read_vectors_with_report(tmp_path / "v")
    assert vectors.words == ("a", "c")
    assert report.skipped == 1


def test_examples_are_a_few(tmp_path):
    (tmp_path / "v").write_bytes(lines("a 1 2", *["a 1 2"] * 50))
    _, report = read_vectors_with_report(tmp_path / "v")
    assert report.repeated == 50
    assert len(report.examples) == 5


def test_lines_are_counted_across_blocks(tmp_path):
    (tmp_path / "v").write_bytes(lines(*(f"w{i} 1 2" for i in range(2100)), "bad 1", header="2101 2\n"))
    with pytest.raises(VectorFileError, match=":2102: "):
        read_vectors(tmp_path / "v")


def test_a_file_that_is_cut_short(tmp_path, vectors):
    (tmp_path / "t.vec").write_bytes(lines("a 1 2", header="3 2\n"))
    with pytest.raises(VectorFileError, match="promises 3 words and 1 follow"):
        read_vectors(tmp_path / "t.vec")
    assert read_vectors_with_report(tmp_path / "t.vec")[1].missing == 2
    write_vectors(vectors, tmp_path / "b.bin", binary=True)
    (tmp_path / "b.bin").write_bytes((tmp_path / "b.bin").read_bytes()[:-9])
    with pytest.raises(VectorFileError, match="ends at word 5 of 5"):
        read_vectors(tmp_path / "b.bin")
    (tmp_path / "g.vec.gz").write_bytes(gzip.compress(lines("a 1 2"))[:-4])
    with pytest.raises(VectorFileError, match="gzip"):
        read_vectors(tmp_path / "g.vec.gz")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"hello\n", ":1: no values after 'hello'"),
        ((793712314).to_bytes(4, "little") + b"....", "fastText"),
        (b"3 0\n", "promises vectors of 0 values"),
        (b"a x y\n", "holds no word vectors"),
    ],
)
def test_files_without_vectors(tmp_path, content, message):
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(VectorFileError, match=message):
        read_vectors_with_report(tmp_path / "v")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(IsoglossError, match=r"nowhere\.vec: there is no such file"):
        read_vectors(tmp_path / "nowhere.vec")
    with pytest.raises(IsoglossError, match="check the path"):
        read_vectors(tmp_path)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, vectors):
    path = tmp_path / "v.vec"
    write_vectors(vectors, path)
    before = path.read_bytes()
    with pytest.raises(VectorFileError, match="line break"):
        write_vectors(WordVectors(["a\nb"], [[1.0]]), path)
    broken = WordVectors(["a"], [[1.0]])
    broken.words = (object(),)
    with pytest.raises(AttributeError):
        write_vectors(broken, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["v.vec"]


def test_a_write_that_fails_half_way_leaves_the_old_file(tmp_path, vectors, monkeypatch):
    path = tmp_path / "v.vec"
    write_vectors(vectors, path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(VectorFileError, match="cannot be written: No space left"):
        write_vectors(vectors.first(2), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["v.vec"]


def test_word_vectors_check_what_they_get():
    with pytest.raises(ValueError, match="a row per word"):
        WordVectors(["a"], np.eye(2))
    with pytest.raises(ValueError, match="'a' occurs more than once"):
        WordVectors(["a", "b", "a"], np.eye(3))
    with pytest.raises(ValueError, match="NaN"):
        WordVectors(["a"], [[np.nan]])
    with pytest.raises(KeyError, match="not among the 1 words"):
        WordVectors(["a"], [[1.0]])["b"]
    assert WordVectors(["a", "b"], np.eye(2)).rows(["b", "c", "a"]).tolist() == [1, -1, 0]


def test_normalised_vectors_are_of_unit_length_and_the_same_for_new_words(rng):
    x = rng.normal(2.0, 1.0, size=(50, 6))
    normaliser = fit_normaliser(x)
    y = normaliser.apply(x)
    np.testing.assert_allclose(np.linalg.norm(y, axis=1), 1.0, rtol=1e-5)
    assert np.abs(y.mean(axis=0)).max() < 0.1
    np.testing.assert_array_equal(normaliser.apply(x[7:9]), y[7:9])
    np.testing.assert_array_equal(fit_normaliser(x, []).apply(x), x.astype(np.float32))
    assert not fit_normaliser(x, ["unit"]).apply(np.zeros((1, 6))).any()
    with pytest.raises(ValueError, match="'unit' and 'centre'"):
        fit_normaliser(x, ["whiten"])
