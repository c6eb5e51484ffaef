"""Text that does not fit: on disk, in blocks, over fewer pairs, on several workers; the same results."""

import dataclasses

import numpy as np
import pytest

from isogloss.alignment import Aligner, Bitext, Checkpoints, FertilityOptions, PairTable
from isogloss.alignment import _bitext as bitexts
from isogloss.alignment.models import IndexedBitext, LexicalPrior, TrainingSettings, start
from isogloss.alignment.models import _pairs as pairs
from isogloss.alignment.models._steps import alignment_model
from isogloss.em import FullExpectation, run_em
from isogloss.engine import Batches, LocalEngine
from isogloss.exceptions import CorpusError
from isogloss.io import load, save
from tests.alignment.data import indexed, planted

SCHEDULES = ["1:3", "1:2,2:2", "1:2,diagonal:2", "1:2,hmm:2", "1:2,hmm:2,3:1,4:1"]


def fresh(schedule="1:3,hmm:3", **settings):
    return Aligner(schedule, fertility=FertilityOptions(n_classes=3), **settings)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks and stretches of a few sentence pairs."""
    plain = Bitext.blocks
    monkeypatch.setattr(Bitext, "blocks", lambda self, most=90: plain(self, most))
    monkeypatch.setattr(pairs, "PAIRS_PER_BLOCK", 17)
    monkeypatch.setattr(bitexts, "BUFFER_WORDS", 50)


def assert_same(one, two):
    np.testing.assert_array_equal(one.table_.columns, two.table_.columns)
    np.testing.assert_array_equal(one.counts_, two.counts_)
    for field in dataclasses.fields(one.parameters_):
        a, b = (getattr(fitted.parameters_, field.name) for fitted in (one, two))
        np.testing.assert_array_equal(a, b, err_msg=field.name)
    assert one.bits_per_word_ == two.bits_per_word_


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_text_on_disk_in_blocks_gives_the_same_to_the_last_bit(schedule, tmp_path, request):
    text, _ = planted(150)
    whole = fresh(schedule, keep_index=True).fit(text)
    links = [whole.align(text, method=method) for method in ("agreed", "forward", "union")]
    score = whole.score(text)
    request.getfixturevalue("small_blocks")
    on_disk = Bitext.from_pairs(text, folder=tmp_path)
    assert isinstance(on_disk.source.words, np.memmap)
    assert len(list(on_disk.blocks())) > 20
    blocks = fresh(schedule, keep_index=False).fit(on_disk)
    assert_same(blocks, whole)
    assert [blocks.align(on_disk, method=method) for method in ("agreed", "forward", "union")] == links
    assert blocks.score(on_disk) == pytest.approx(score, rel=1e-6)


def test_where_arrays_lie_in_memory_changes_no_bit():
    text, _ = planted(150)
    reader, bitext = fresh("1:2,hmm:2").fit(text)._reader(text)
    held = []
    for first in range(148):
        stretch = reader.index(bitext[first : first + 3])
        found = set()
        for size in range(16, 600, 24):
            held.append(np.empty(size, dtype=np.uint8))
            found.add(b"".join(side.tobytes() for side in reader.posteriors(stretch)))
        assert len(found) == 1


def test_the_numbers_of_words_are_on_disk_and_nowhere_else(tmp_path, small_blocks):
    text, _ = planted(80)
    in_memory, on_disk = Bitext.from_pairs(text), Bitext.from_pairs(text, folder=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source.words", "target.words"]
    for a, b in ((in_memory.source, on_disk.source), (in_memory.target, on_disk.target)):
        np.testing.assert_array_equal(a.words, b.words)
        np.testing.assert_array_equal(a.offsets, b.offsets)
        np.testing.assert_array_equal(a.counts, np.bincount(a.words))
        assert a.vocabulary == b.vocabulary
        assert not b.words.flags.owndata
    assert list(on_disk.texts()) == [(list(e), list(f)) for e, f in text]


def test_a_folder_that_is_none_is_refused_and_empty_text_is_no_trouble(tmp_path):
    with pytest.raises(CorpusError, match="is not a folder"):
        Bitext.from_pairs([], folder=tmp_path / "absent")
    assert len(Bitext.from_pairs([("", "")], folder=tmp_path)) == 1


def test_tables_of_stretches_make_the_table_of_the_whole(monkeypatch):
    bitext = Bitext.from_pairs(planted(100)[0])
    whole = PairTable.of(bitext)
    monkeypatch.setattr(pairs, "PAIRS_PER_BLOCK", 9)
    parts = PairTable.of(bitext)
    np.testing.assert_array_equal(parts.rows, whole.rows)
    np.testing.assert_array_equal(parts.columns, whole.columns)


def test_an_index_that_would_be_too_large_is_not_held(monkeypatch):
    bitext = Bitext.from_pairs(planted(30)[0])
    table = PairTable.of(bitext)
    assert IndexedBitext(bitext, table, keep=None)._slots is not None
    monkeypatch.setattr(pairs, "INDEX_CELLS", 100)
    assert IndexedBitext(bitext, table, keep=None)._slots is None


@pytest.mark.parametrize("rows", [slice(0, 0), slice(0, 1)])
def test_blocks_cover_every_sentence_pair_once(rows):
    bitext = Bitext.from_pairs([("a b c", "x y"), ("", "x"), ("a", "x"), ("a b", "x y")])
    assert list(bitext[rows].blocks(1)) == [slice(k, k + 1) for k in range(rows.start, rows.stop)]
    for most in range(1, 15):
        found = list(bitext.blocks(most))
        assert [k for part in found for k in range(part.start, part.stop)] == [0, 1, 2, 3]
        cells = [bitext.cells[part.stop] - bitext.cells[part.start] for part in found]
        assert all(c <= most or part.stop - part.start == 1 for c, part in zip(cells, found, strict=True))


def test_a_checkpoint_knows_text_on_disk(tmp_path, small_blocks):
    text, _ = planted(60)
    on_disk = Bitext.from_pairs(text, folder=tmp_path)
    checkpoints = Checkpoints(tmp_path / "c", Aligner(), on_disk, seconds=0)
    Aligner().fit(on_disk, on_iteration=lambda place, line: checkpoints.keep(place))
    assert Checkpoints(tmp_path / "c", Aligner(), Bitext.from_pairs(text)).load() is not None
    other = [*text[:-1], (text[-1][0], ["t1"])]
    with pytest.raises(CorpusError, match="other text"):
        Checkpoints(tmp_path / "c", Aligner(), Bitext.from_pairs(other)).load()


@pytest.mark.parametrize("model", ["1", "2", "diagonal", "hmm"])
def test_links_of_a_pair_do_not_depend_on_the_pairs_around_it(model):
    text, _ = planted(60)
    fitted = fresh(f"1:2,{model}:2").fit(text)
    together = fitted.align(text)
    for k in range(0, 60, 7):
        assert fitted.align(text[k : k + 1]).to_sets()[0] == together.to_sets()[k]


def test_a_score_is_the_likelihood_of_training():
    text, _ = planted(100)
    fitted = fresh("1:2,hmm:3", agreement=None, spelling=0)
    kept = []
    fitted.fit(text, on_iteration=lambda place, line: kept.append(place))
    last = fresh("1:2,hmm:1", agreement=None, spelling=0).fit(text, resume=kept[2])
    assert last.bits_per_word_ == pytest.approx(fitted.bits_per_word_[2:3])
    before = fresh("1:2,hmm:2", agreement=None, spelling=0).fit(text)
    assert before.score(text) == pytest.approx(-fitted.bits_per_word_[4], rel=1e-5)


@pytest.mark.parametrize("schedule", ["1:3,hmm:3", "1:2,2:2", "1:3,hmm:2,3:1,4:1"])
def test_pairs_that_cannot_be_are_dropped_and_nothing_else_changes_much(schedule):
    text, _ = planted(600)
    whole, pruned = (fresh(schedule, spelling=0, prune=prune).fit(text) for prune in (0.0, 1e-3))
    assert len(pruned.table_) < 0.5 * len(whole.table_)
    n = len(pruned.table_)
    assert len(pruned.parameters_.lexicon) == len(pruned.counts_) == n
    found, wanted = (fitted.align(text).to_sets() for fitted in (pruned, whole))
    assert sum(len(a ^ b) for a, b in zip(found, wanted, strict=True)) < 0.02 * sum(map(len, wanted))
    if "3:" not in schedule:
        assert pruned.parameters_.lexicon.max(axis=1).min() >= 1e-3


def test_a_threshold_below_everything_drops_nothing():
    text, _ = planted(100)
    assert_same(
        fresh(spelling=0, pseudo_count=0.01, prune=1e-30).fit(text),
        fresh(spelling=0, pseudo_count=0.01).fit(text),
    )


def test_the_table_shrinks_from_iteration_to_iteration():
    sizes = []
    Aligner("1:4,hmm:2", spelling=0, prune=0.01).fit(
        planted(300)[0],
        on_iteration=lambda place, line: sizes.append((len(place.table), len(place.parameters.lexicon))),
    )
    assert all(a == b for a, b in sizes)
    assert sizes[0][0] > sizes[1][0] > sizes[-1][0]


@pytest.mark.parametrize("stop", range(1, 7))
def test_pruned_training_resumes_where_it_stopped(tmp_path, stop):
    text, _ = planted(100)
    settings = {"schedule": "1:2,hmm:2,3:1,4:1", "prune": 0.01}
    kept = []
    fresh(**settings).fit(text, on_iteration=lambda place, line: kept.append(place) or len(kept) == stop)
    save(kept[-1], tmp_path / "progress")
    whole = fresh(**settings).fit(text)
    resumed = fresh(**settings).fit(text, resume=load(tmp_path / "progress"))
    whole.bits_per_word_ = whole.bits_per_word_[stop - 1 :]
    assert_same(whole, resumed)


def test_added_text_after_pruning():
    fitted = Aligner(spelling=0, prune=1e-3).fit(planted(300)[0])
    fitted.partial_fit([(f"s{k} novel", f"fresh t{k}") for k in range(20)])
    assert len(fitted.table_) == len(fitted.counts_) == len(fitted.parameters_.lexicon)
    assert fitted.align([("novel s3", "t3 fresh")]).to_sets() == [{(0, 1), (1, 0)}]


@pytest.mark.parametrize("model", ["1", "2", "hmm"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_on_the_way_to_the_best_lexicon_the_bound_never_falls(model, share):
    bitext, table, layout, text = indexed(planted()[0])
    classes = tuple((np.arange(n) % 3).astype(np.int32) for n in bitext.shape)
    settings = TrainingSettings(model=model, lexical=LexicalPrior(each=0.01), interpolate=share)
    steps = alignment_model(settings, table, classes, layout)
    p = start(table, layout, 12, (3, 3))
    p = dataclasses.replace(p, lexicon=(p.lexicon / p.lexicon.max()).astype(np.float32))
    source = FullExpectation(steps, Batches([text]), LocalEngine())
    p = dataclasses.replace(p, lexicon=steps.solve(source(p), start(table, layout, 12, (3, 3))).lexicon)
    bounds = run_em(steps, source, p, tol=-np.inf, max_iter=8).bounds
    assert np.diff(bounds).min() >= -1e-9 * abs(bounds[-1])
    assert bounds[-1] > bounds[0]


def test_an_interpolated_lexicon_is_the_mean_of_the_old_and_the_new():
    bitext, table, layout, text = indexed(planted(40)[0])
    classes = tuple(np.zeros(n, dtype=np.int32) for n in bitext.shape)
    p = start(table, layout, 12, (1, 1))
    plain, mixed = (
        alignment_model(TrainingSettings(model="1", interpolate=share), table, classes, layout)
        for share in (0.0, 0.25)
    )
    found = plain.expect(text, p)
    new, between = plain.solve(found, p).lexicon, mixed.solve(found, p).lexicon
    np.testing.assert_allclose(between, 0.75 * new + 0.25 * p.lexicon, rtol=1e-5)
    slow, quick = (
        Aligner("1:3", interpolate=share, agreement=None).fit(planted(200)[0]) for share in (0.6, 0.0)
    )
    assert slow.bits_per_word_[-1] > quick.bits_per_word_[-1]


@pytest.mark.dask
@pytest.mark.parametrize("schedule", ["1:2,hmm:2", "1:2,hmm:1,3:1,4:1"])
def test_workers_give_the_same_over_fewer_pairs_and_with_fertility(schedule):
    distributed = pytest.importorskip("distributed")
    from isogloss.engine.dask import DaskEngine

    text, _ = planted(120)
    settings = {"schedule": schedule, "batch_pairs": 40, "prune": 1e-3}
    local = fresh(**settings).fit(text)
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as client:
        remote = fresh(**settings, engine=DaskEngine(client)).fit(text)
    np.testing.assert_allclose(remote.parameters_.lexicon, local.parameters_.lexicon, atol=1e-7)
    assert remote.align(text) == local.align(text)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prune": 1.0}, "'prune' parameter of Aligner"),
        ({"interpolate": -0.1}, "'interpolate' parameter of Aligner"),
        ({"interpolate": 0.5, "bayes": True, "pseudo_count": 0.1}, "expected one of them"),
    ],
)
def test_shares_that_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        Aligner(**settings).fit([("a", "x")])
