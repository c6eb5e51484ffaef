"""Sentence pairs of raw text, split into words on the way."""

import numpy as np
import pytest

from isogloss.alignment import Bitext
from isogloss.corpora import BarPairs, ColumnPairs, LinePairs, TmxPairs, WordPairs
from isogloss.exceptions import CorpusError

RAW = "The house, the cat.\nNo!\n"
SPLIT = "la maison , le chat .\nnon !\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en").write_text(RAW)
    (tmp_path / "fr").write_text(SPLIT)
    return tmp_path


@pytest.mark.parametrize(
    ("tokenised", "source", "target"),
    [
        (None, ["The", "house", "the", "cat"], ["la", "maison", ",", "le", "chat", "."]),
        (True, ["The", "house,", "the", "cat."], ["la", "maison", ",", "le", "chat", "."]),
        (False, ["The", "house", "the", "cat"], ["la", "maison", "le", "chat"]),
    ],
)
def test_each_side_is_split_if_it_is_raw(files, tokenised, source, target):
    pairs = WordPairs(LinePairs("en", "fr"), tokenised)
    assert next(iter(pairs)) == (source, target)
    assert pairs.tokenised_sides == ((False, True) if tokenised is None else (tokenised, tokenised))
    pair = next(pairs.with_offsets())
    for text, words, offsets in zip(*pair, strict=True):
        assert [text[a:b] for a, b in offsets] == words


def test_texts_have_no_line_breaks_of_windows(files):
    (files / "en").write_bytes(RAW.replace("\n", "\r\n").encode())
    pairs = list(WordPairs(LinePairs("en", "fr")).with_offsets())
    assert [pair.texts[0] for pair in pairs] == RAW.splitlines()


def test_one_pair_at_a_time_and_many_are_the_same(files):
    pairs = WordPairs(LinePairs("en", "fr"))
    one, many = Bitext.from_pairs(list(pairs)), Bitext.from_pairs(pairs)
    assert one.words == many.words
    np.testing.assert_array_equal(one.source.words, many.source.words)


def test_bad_pairs_keep_their_places_and_are_reported(files):
    (files / "en").write_bytes("Good, one.\n...\n\xff bad\nDie Größe, ja.\n".encode("latin-1"))
    (files / "fr").write_text("un\ndeux\ntrois\nquatre\n")
    pairs = WordPairs(LinePairs("en", "fr", on_bad="skip"), tokenised=False)
    assert list(pairs) == [(["Good", "one"], ["un"]), ([], []), ([], []), ([], [])]
    assert pairs.report.problems == {"empty": 1, "not UTF-8": 2}
    assert [len(pair.words[0]) for pair in pairs.with_offsets()] == [2, 0, 0, 0]
    with pytest.raises(CorpusError, match="en:2, fr:2"):
        list(WordPairs(LinePairs("en", "fr"), tokenised=False))


def test_every_reader_can_be_split(files):
    (files / "t.tsv").write_text("The house, yes.\tla maison, oui.\nshort\n")
    (files / "bars").write_text("The house, yes. ||| la maison, oui.\n")
    unit = (
        '<tu><tuv xml:lang="en"><seg>The house, yes.</seg></tuv><tuv xml:lang="fr"><seg>la maison, oui.</seg>'
    )
    (files / "m.tmx").write_text(f"<tmx><body>\n{unit}</tuv></tu>\n{unit}</tuv></tu></body></tmx>")
    wanted = (["The", "house", "yes"], ["la", "maison", "oui"])
    for reader in (ColumnPairs("t.tsv", on_bad="skip"), BarPairs("bars"), TmxPairs("m.tmx", "en", "fr")):
        pairs = WordPairs(reader)
        assert next(iter(pairs)) == wanted
        assert len(list(pairs)) == len(list(pairs.with_offsets()))
    pairs = WordPairs(ColumnPairs("t.tsv", on_bad="skip"))
    assert list(pairs)[1] == ([], [])
    assert "t.tsv:2" in str(pairs.report)
