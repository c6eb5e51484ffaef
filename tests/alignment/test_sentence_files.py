"""Files and folders of raw text, and files of aligned sentences; how far they can be trusted."""

import random

import pytest

from isogloss.alignment.sentences import (
    ReadText,
    SentenceAlignment,
    SentenceOptions,
    Trust,
    align_documents,
    align_sentences,
    match_files,
    write_beads,
)
from isogloss.alignment.sentences._beads import Bead
from isogloss.alignment.sentences._trust import find_runs
from isogloss.corpora import ColumnPairs, LinePairs, TmxPairs
from isogloss.exceptions import CorpusError
from isogloss.text.raw import SplitText
from tests.alignment.test_sentences import make_bitext


@pytest.fixture
def folders(tmp_path):
    for name in (
        "en/a.1.en.txt",
        "en/b.en.txt",
        "en/in/c.en.txt",
        "en/.x",
        "cs/a.1.cs.txt",
        "cs/in/c.cs.txt",
        "cs/d.cs.txt",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("A.")
    return tmp_path


def test_files_of_folders_are_matched_without_their_endings(folders):
    pairs, alone = match_files(folders / "en", folders / "cs")
    names = [tuple(file.relative_to(folders).as_posix() for file in pair) for pair in pairs]
    assert names == [("en/a.1.en.txt", "cs/a.1.cs.txt"), ("en/in/c.en.txt", "cs/in/c.cs.txt")]
    assert [file.name for file in alone] == ["b.en.txt", "d.cs.txt"]


def test_what_follows_the_first_stop_does_not_count_where_files_end_differently(folders):
    (folders / "en" / "README").write_text("about")
    (folders / "cs" / "b.old.html").write_text("B.")
    pairs, _ = match_files(folders / "en", folders / "cs")
    assert [pair[0].name for pair in pairs] == ["a.1.en.txt", "b.en.txt", "c.en.txt"]


def test_two_files_are_a_pair_and_a_file_and_a_folder_are_not(folders):
    assert match_files("en", "cs")[0][0][1].name == "cs"
    with pytest.raises(CorpusError, match="two files or two folders"):
        match_files(folders / "en", folders / "cs" / "d.cs.txt")
    (folders / "empty").mkdir()
    with pytest.raises(CorpusError, match="no files of the same name"):
        match_files(folders / "en", folders / "empty")


def test_a_file_says_its_encoding_and_its_scripts(tmp_path):
    path = tmp_path / "sr.txt"
    path.write_text("Добар дан. " * 20 + "Dobar dan. " * 20, encoding="utf-16")
    text = ReadText.of(path, "sr")
    assert (len(text.text), text.encoding) == (40, "utf-16-le")
    assert set(text.scripts) == {"Cyrl", "Latn"}
    path.write_text("A. B.\nC.")
    assert ReadText.of(path, layout="sentences").text.sentences == ("A. B.", "C.")


@pytest.fixture
def aligned():
    texts = SplitText(("a  <b>", "c\x01", "d"), (0, 0, 0)), SplitText(("x &\ty", "z"), (0, 0))
    beads = [
        Bead(range(1), range(1), 0.9),
        Bead(range(1, 3), range(1, 2), 0.4),
    ]
    alone = SentenceAlignment(SplitText(("e",), (0,)), SplitText((), ()), [Bead(range(1), range(0), 1.0)])
    return [SentenceAlignment(*texts, beads), alone]


def test_beads_are_written_in_the_formats_of_the_readers(aligned, tmp_path):
    write_beads(aligned, tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_text() == "a <b>\tx & y\t0.9000\nc\x01 d\tz\t0.4000\n"
    assert list(ColumnPairs(tmp_path / "out.tsv"))[1] == (["c\x01", "d"], ["z"])
    paths = write_beads(aligned, tmp_path / "out", "lines", languages=("en", "cs"))
    assert [path.name for path in paths] == ["out.en", "out.cs"]
    assert next(iter(LinePairs(*paths))) == (["a", "<b>"], ["x", "&", "y"])
    write_beads(aligned, tmp_path / "out.tmx", "tmx", languages=("en", "cs"))
    assert list(TmxPairs(tmp_path / "out.tmx", "en", "cs")) == [
        (["a", "<b>"], ["x", "&", "y"]),
        (["c", "d"], ["z"]),
    ]


def test_doubtful_pairs_are_left_out_and_sentences_alone_on_demand(aligned, tmp_path):
    (path,) = write_beads(aligned, tmp_path / "out.tsv", min_probability=0.5, unaligned=True)
    assert path.read_text() == "a <b>\tx & y\t0.9000\ne\t\t1.0000\n"
    paths = write_beads(aligned, tmp_path / "out", "lines", min_probability=0.95, unaligned=True)
    assert [(path.name, path.read_text()) for path in paths] == [("out.source", "e\n"), ("out.target", "\n")]
    with pytest.raises(ValueError, match="codes of both languages"):
        write_beads(aligned, tmp_path / "no.tmx", "tmx")
    assert not (tmp_path / "no.tmx").exists()


def cognates(rng, n):
    """Sentences whose rare words are the same on both sides."""
    source, target, _ = make_bitext(rng, n, share=0.05)
    return source, [line.replace("w", "q").replace("or", "ax") for line in target]


def test_translations_are_trusted_and_others_are_not(rng):
    source, target = cognates(rng, 120)
    other, _ = cognates(rng, 120)
    quick = SentenceOptions(passes=0)

    def trust(left, right):
        return Trust.of([align_sentences(left, right, options=quick)])

    right = trust(source, target)
    assert right.warnings == ()
    assert right.order > 1
    assert right.one_to_one > 0.8
    assert any("do not seem to be translations" in w for w in trust(other, target).warnings)
    assert any("reversed" in w for w in trust(source, target[::-1]).warnings)
    shuffled = target[:]
    random.Random(0).shuffle(shuffled)
    assert any("not in the same order" in w for w in trust(source, shuffled).warnings)


def test_a_passage_in_another_place_is_noticed(rng):
    source, target = cognates(rng, 200)
    moved = target[:20] + target[60:] + target[20:60]
    trust = Trust.of([align_sentences(source, moved, options=SentenceOptions(passes=0))])
    assert any("in another place" in w for w in trust.warnings)
    assert max(len(run[1]) for run in trust.runs) > 20


def test_few_sentences_and_an_empty_side_are_warned_of():
    few = Trust.of([align_sentences(["The house."] * 20, ["Das Haus."] * 20)])
    assert "20 source and 20 target sentences are too few" in few.warnings[0]
    empty = Trust.of(align_documents([(["The house."], [])]))
    assert empty.warnings[0] == "the target text has no sentences; nothing corresponds"
    assert Trust.of([]).sentences == (0, 0)


def test_runs_are_stretches_without_partners():
    beads = [Bead(range(k, k + 1), range(0), 1.0) for k in range(4)]
    beads += [Bead(range(4, 4), range(1), 1.0), Bead(range(4, 5), range(1, 2), 1.0)]
    assert find_runs(beads, 4) == [(range(4), range(1))]
    assert find_runs(beads, 5) == []
