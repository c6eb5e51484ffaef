"""Observations as codes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.exceptions import CorpusError
from isogloss.graphical import Structure, Variable, asia, decode, encode, read_rows, student
from tests.oracles.enumerate_network import random_network

NUMBERS = Structure([Variable("n", ["0", "1", "2"]), Variable("b", ["False", "True"])])


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(0, 8))
def test_decoding_takes_encoding_back(seed, n, rows):
    rng = np.random.default_rng(seed)
    network = random_network(rng, n)
    codes = rng.integers(-1, network.cards, size=(rows, n))
    named = decode(network, codes)
    assert len(named) == rows
    np.testing.assert_array_equal(encode(network, codes), codes)
    np.testing.assert_array_equal(encode(network, named), codes)
    columns = {name: [row[name] for row in named] for name in reversed(network.names)}
    np.testing.assert_array_equal(encode(network, columns), codes)
    np.testing.assert_array_equal(encode(network.structure, columns), codes)


class Frame(dict):
    """A stand-in for a data frame."""

    @property
    def columns(self):
        return list(self)


class Categorical:
    """A stand-in for a column of categories."""

    def __init__(self, categories, codes):
        self.cat, self.categories, self.codes = self, categories, codes


def test_data_frames_need_no_pandas():
    frame = Frame(
        G=np.array(["g3", None, "g1"], dtype=object),
        I=Categorical(["i1", "i0"], np.array([0, 1, -1], dtype=np.int8)),
    )
    np.testing.assert_array_equal(encode(student(), frame)[:, 1:3], [[1, 2], [0, -1], [-1, 0]])


def test_cells_that_are_no_texts_are_read_as_their_names():
    columns = {
        "n": [1, 2.0, np.int64(0), float("nan"), None, ""],
        "b": [True, False, np.True_, "True", None, ""],
    }
    expected = [[1, 1], [2, 0], [0, 1], [-1, 1], [-1, -1], [-1, -1]]
    np.testing.assert_array_equal(encode(NUMBERS, columns), expected)
    np.testing.assert_array_equal(encode(NUMBERS, {"n": np.array([0.0, np.nan, 2.0])})[:, 0], [0, -1, 2])
    np.testing.assert_array_equal(encode(NUMBERS, {"n": np.array(["2", "0"])})[:, 0], [2, 0])


def test_no_rows_are_no_rows():
    assert encode(student(), []).shape == (0, 5)
    assert encode(student(), {}).shape == (0, 5)
    assert encode(student(), [{}, {}]).tolist() == [[-1] * 5] * 2


def test_many_states_need_wider_codes():
    wide = Structure([Variable("w", [str(k) for k in range(2**15)])])
    assert encode(wide, [{"w": "32767"}]).dtype == np.int32
    assert encode(student(), [{}]).dtype == np.int16


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"G": "g1"}, {"G": "g9"}], "row 1: G has no state 'g9'; it has g1, g2, g3"),
        ([{"X": "g1"}], "the column 'X' is no variable"),
        ({"G": ["g1"], "I": ["i0", "i1"]}, "the column I has 2 cells; expected 1"),
        (np.zeros((2, 4), dtype=int), r"an array of shape \(2, 4\)"),
        (np.zeros((2, 5)), "expected integers"),
        (np.array([[0, 0, 0, 0, 0], [0, 0, 3, 0, 0]]), "row 1: the code 3 of G; expected -1 to 2"),
        (np.array([[0, -2, 0, 0, 0]]), "row 0: the code -2 of I"),
    ],
)
def test_bad_rows_are_refused_by_number(rows, message):
    with pytest.raises(ValueError, match=message):
        encode(student(), rows)


def test_a_row_is_a_dict():
    with pytest.raises(TypeError, match="row 0 is 'G'; expected a dict"):
        encode(student(), ["G"])


@pytest.mark.parametrize("separator", [",", "\t"])
def test_rows_come_from_files(tmp_path, separator):
    path = tmp_path / "rows"
    lines = [["G", "I"], ["g2", "i1"], ["?", "i0"], ["g1", ""]]
    path.write_text("\n".join(separator.join(line) for line in lines) + "\n")
    structure, codes = read_rows(path, student())
    assert structure == student()
    assert codes[:, 1:3].tolist() == [[1, 1], [0, -1], [-1, 0]]
    structure, codes = read_rows(path)
    assert [v.states for v in structure.variables] == [("g1", "g2"), ("i0", "i1")]
    assert codes.tolist() == [[1, 1], [-1, 0], [0, -1]]


def test_a_state_may_be_called_as_missing_cells_are(tmp_path):
    path = tmp_path / "rows"
    path.write_text('a\n"NA"\nx\n')
    assert read_rows(path, Structure([Variable("a", ["NA", "x"])])).codes.tolist() == [[0], [1]]
    assert read_rows(path).codes.tolist() == [[-1], [0]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a,b\n1,2\n1\n", "rows:3: 1 cells; expected 2"),
        (b"a,a\n1,2\n", "rows:1: the columns a, a"),
        (b"a,\n1,2\n", "rows:1: the columns a, ; expected a different name"),
        (b"", "rows: is empty or begins with an empty line"),
        (b"a,b\n1,\n", "the column b has no states"),
        (b"a\n\xff\n", "is not separated text in UTF-8"),
    ],
)
def test_bad_files_are_refused_by_line(tmp_path, text, message):
    path = tmp_path / "rows"
    path.write_bytes(text)
    with pytest.raises(CorpusError, match=message):
        read_rows(path)


def test_a_file_with_another_state_is_refused(tmp_path):
    (tmp_path / "rows").write_text("G\ng1\ng7\n")
    with pytest.raises(CorpusError, match=r"rows:3: G has no state 'g7'; it has g1, g2, g3$"):
        read_rows(tmp_path / "rows", student())
    with pytest.raises(CorpusError, match="rows:1: the column 'G' is no variable"):
        read_rows(tmp_path / "rows", asia())
    with pytest.raises(CorpusError, match="there is no such file"):
        read_rows(tmp_path / "none")
