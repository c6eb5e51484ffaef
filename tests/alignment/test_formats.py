"""Files of links."""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isogloss.alignment import Gold, Links
from isogloss.alignment.formats import _links as formats
from isogloss.exceptions import CorpusError

sets = st.lists(st.sets(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=6), max_size=5)
in_one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@in_one_folder
@given(sentences=sets, first=st.integers(0, 1))
def test_pharaoh_comes_back(tmp_path, sentences, first):
    links = Links.from_sets(sentences)
    formats.write_pharaoh(links, tmp_path / "a", first=first)
    assert formats.read_pharaoh(tmp_path / "a", first=first) == links
    assert (tmp_path / "a").read_text().count("\n") == len(sentences)


@in_one_folder
@given(sure=sets, first=st.integers(0, 1), seed=st.integers(0, 9))
def test_gold_comes_back(tmp_path, sure, first, seed):
    rng = np.random.default_rng(seed)
    possible = Links.from_sets([{(int(i), int(j)) for i, j in rng.integers(9, size=(3, 2))} for _ in sure])
    gold = Gold.join(Links.from_sets(sure), possible)
    formats.write_gold(gold, tmp_path / "g", first=first)
    assert formats.read_gold(tmp_path / "g", first=first) == gold
    formats.write_naacl(gold, tmp_path / "n")
    assert formats.read_naacl(tmp_path / "n", n=len(gold)) == gold


def test_probabilities_come_back(tmp_path):
    links = Links([0, 0, 2], [0, 1], [0, 5], [0.75, 1.25e-5])
    formats.write_pharaoh(links, tmp_path / "a", probabilities=True)
    assert (tmp_path / "a").read_text() == "\n0-0:0.75 1-5:1.25e-05\n"
    assert formats.read_pharaoh(tmp_path / "a") == links
    with pytest.raises(ValueError, match="probabilities=False"):
        formats.write_pharaoh(Links.from_sets([set()]), tmp_path / "a", probabilities=True)


def test_what_other_programs_write_is_read(tmp_path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbf 0-0  1-2 \r\n\r\n1-1 0-0 1-1")
    assert formats.read_pharaoh(tmp_path / "a").to_lists() == [[(0, 0), (1, 2)], [], [(0, 0), (1, 1)]]
    (tmp_path / "g").write_text("0-0 1?1 2p2\n")
    assert formats.read_gold(tmp_path / "g").possible.n_links == 3
    (tmp_path / "n").write_text("1 1 1 s\n1 0 2 S\n\n2 3 0 P\n1 2 2\n2 1 1 P 0.5\n")
    gold = formats.read_naacl(tmp_path / "n")
    assert gold.sure.to_lists() == [[(0, 0), (1, 1)], []]
    assert gold.possible.to_lists() == [[(0, 0), (1, 1)], [(0, 0)]]
    with gzip.open(tmp_path / "z.gz", "wb") as file:
        file.write(b"0-1\n")
    assert formats.read_pharaoh(tmp_path / "z.gz").to_lists() == [[(0, 1)]]


def test_a_name_that_ends_in_gz_is_packed(tmp_path):
    formats.write_pharaoh(Links.from_sets([{(0, 1)}]), tmp_path / "z.gz")
    assert gzip.decompress((tmp_path / "z.gz").read_bytes()) == b"0-1\n"


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (formats.read_pharaoh, "0-0\n0_1\n", r"file:2: .*0_1.* expected links like 0-0"),
        (formats.read_pharaoh, "0-0\n0p1\n", "file:2"),
        (formats.read_pharaoh, "0-0:0.5 1-1\n", "file:1"),
        (formats.read_pharaoh, "0-0:0.5e\n", "file:1: .* expected links like 0-0:0.93"),
        (formats.read_pharaoh, "99999999999999999999-0\n", "file:1"),
        (formats.read_pharaoh, "0-0-0\n", "file:1"),
        (formats.read_gold, "0-0 1x1\n", "0p0"),
        (formats.read_naacl, "1 1 1 S\n1 1\n", "file:2"),
        (formats.read_naacl, "1 1 1 X\n", "S or P"),
        (formats.read_naacl, "0 1 1 S\n", "sentences 0 to 0"),
    ],
)
def test_bad_lines_are_named(tmp_path, reader, text, message):
    (tmp_path / "file").write_text(text)
    with pytest.raises(CorpusError, match=message):
        reader(tmp_path / "file")


def test_positions_before_the_first_are_refused(tmp_path):
    (tmp_path / "file").write_text("0-0\n")
    with pytest.raises(CorpusError, match="before 1"):
        formats.read_pharaoh(tmp_path / "file", first=1)
    (tmp_path / "n").write_text("3 1 1\n")
    with pytest.raises(CorpusError, match="expected 1 to 2"):
        formats.read_naacl(tmp_path / "n", n=2)


@pytest.mark.parametrize("probabilities", [False, True])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, probabilities):
    path = tmp_path / "out"
    path.write_text("old\n")
    monkeypatch.setattr(formats.itertools, "pairwise", lambda ends: iter([(0, 1), ("a", "b")]))
    monkeypatch.setattr(formats, "link_lines", lambda *arrays: 1 + "a")
    with pytest.raises(TypeError):
        formats.write_pharaoh(Links([0, 1], [0], [0], [0.5]), path, probabilities=probabilities)
    assert path.read_text() == "old\n"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_gold_needs_both_of_the_same_text():
    with pytest.raises(ValueError, match="2 sentence pairs and possible ones of 1"):
        Gold.join(Links.from_sets([set()] * 2), Links.from_sets([set()]))
