"""IBM Models 3, 4 and 5 beside their definitions, enumeration and each other."""

import dataclasses
import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from isogloss.alignment import (
    Aligner,
    Bitext,
    FertilityOptions,
    FertilityParameters,
    PairTable,
    read_gold,
    score_links,
)
from isogloss.alignment.models import (
    REACH,
    FertilitySettings,
    FertilityText,
    FertilityTrainer,
    IndexedBitext,
    PositionLayout,
    WordClasses,
    climb,
    link_probabilities,
    log_probabilities,
)
from isogloss.alignment.models._distortion import solve_displacements
from isogloss.alignment.models._fertility_steps import expect, fertility_model
from isogloss.em import FullExpectation, run_em
from isogloss.engine import Batches, LocalEngine
from isogloss.io import load, read_lines, save
from tests.oracles.fertility import SlowModel

MODELS = ["3", "4", "5"]
TEXT = [("a b c", "x y z"), ("b a", "y y x z"), ("c c a", "z x"), ("a", "x y"), ("c b", "y z w x")]


class Toy:
    """A bitext with random parameters of all three models."""

    def __init__(self, pairs, seed=0, most=3):
        rng = np.random.default_rng(seed)
        self.bitext = Bitext.from_pairs(pairs)
        self.table = PairTable.of(self.bitext)
        self.layout = PositionLayout([self.bitext])
        n, m = (np.arange(n, dtype=np.int32) for n in self.table.shape)
        self.classes = WordClasses((n % 2, m % 3), (2, 3))
        self.text = IndexedBitext(self.bitext, self.table, table_offsets=self.layout.offsets(self.bitext))
        self.parameters = self.random_parameters(rng, most)

    def random_parameters(self, rng, most):
        shape, width = self.table.shape, 2 * REACH + 1
        _, by_target, by_source = self.layout.cells()
        by_column, by_row = self.table.columns, self.table.sources
        lexicon = np.stack([shares(rng, by_row), shares(rng, by_column)], axis=1).astype(np.float32)
        words = [rng.dirichlet(np.ones(n)).astype(np.float32) for n in shape]
        fertility = [rng.dirichlet(np.ones(most + 1), size=n) for n in shape]
        places = shares(rng, by_source), shares(rng, by_target)
        heads = [rng.dirichlet(np.ones(width), size=n) for n in (3 * 3, 4 * 2)]
        others = [rng.dirichlet(np.ones(width), size=n) for n in (3, 2)]
        return FertilityParameters(
            lexicon, words[1], words[0], *fertility, *places, *heads, *others, null_share=np.array([0.2, 0.3])
        )

    def batch(self, forward=None, backward=None):
        s, t = self.bitext.source, self.bitext.target
        starts = [
            np.full(len(side.words), 0) if a is None else a for side, a in ((t, forward), (s, backward))
        ]
        return FertilityText(self.text, tuple(np.asarray(a, dtype=np.int32) for a in starts))

    def slow(self, model, direction):
        return SlowModel(int(model), self.parameters, direction, self.table, self.classes, self.layout)

    def words(self, s, direction):
        """Words that generate and words that are generated, of one sentence pair."""
        sides = [
            side.words[side.offsets[s] : side.offsets[s + 1]].tolist()
            for side in (self.bitext.source, self.bitext.target)
        ]
        return sides[direction], sides[1 - direction]


def shares(rng, group):
    values = rng.random(len(group)) + 0.05
    return values / np.bincount(group, weights=values)[group]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("pair", TEXT)
def test_enumeration_gives_the_likelihood_posteriors_and_best_alignment_of_the_slow_twin(model, pair):
    toy = Toy([pair, *TEXT])
    toy.text = IndexedBitext(toy.bitext[:1], toy.table, table_offsets=toy.layout.offsets(toy.bitext[:1]))
    s, t = toy.bitext[:1].source, toy.bitext[:1].target
    starts = tuple(np.zeros(len(side.words), dtype=np.int32) for side in (t, s))
    batch = FertilityText(toy.text, starts)
    settings = FertilitySettings(model, search="all")
    found = expect(settings, toy.classes, batch, toy.parameters)
    best = climb(settings, toy.classes, batch, toy.parameters)
    likelihood, links = 0.0, np.zeros((len(toy.table), 2))
    fertility = [np.zeros_like(found[f"fertility_{name}"]) for name in ("forward", "backward")]
    for d in (0, 1):
        e, f = toy.words(0, d)
        every = list(toy.slow(model, d).enumerate(e, f))
        total = sum(p for _, p in every)
        likelihood += np.log(total)
        assert tuple(best[d]) == max(every, key=lambda x: x[1])[0]
        for a, p in every:
            for j, i in enumerate(a):
                if i >= 0:
                    pair_of = (e[i], f[j]) if d == 0 else (f[j], e[i])
                    links[slot(toy.table, *pair_of), d] += p / total
            if p > 0:
                for i, word in enumerate(e):
                    fertility[d][word, a.count(i)] += p / total
    assert found.log_likelihood == pytest.approx(likelihood, rel=1e-6)
    np.testing.assert_allclose(found["links"], links, atol=1e-6)
    np.testing.assert_allclose(found["fertility_forward"], fertility[0], atol=1e-6)
    np.testing.assert_allclose(found["fertility_backward"], fertility[1], atol=1e-6)


def slot(table, e, f):
    row = slice(table.rows[e], table.rows[e + 1])
    return table.rows[e] + int(np.flatnonzero(table.columns[row] == f)[0])


@pytest.mark.parametrize("model", MODELS)
def test_a_given_alignment_has_the_probability_of_the_definition(model, rng):
    toy = Toy([(" ".join("abcde"), " ".join("vwxyzvw")), ("e d c b a b", "v w x y z z")], most=4)
    settings = FertilitySettings(model, search="given")
    for _ in range(20):
        starts = [draw(toy, d, rng) for d in (0, 1)]
        found = expect(settings, toy.classes, toy.batch(*map(np.concatenate, starts)), toy.parameters)
        wanted = sum(
            np.log(toy.slow(model, d).probability(*toy.words(s, d), a.tolist()))
            for d in (0, 1)
            for s, a in enumerate(starts[d])
        )
        assert found.log_likelihood == pytest.approx(wanted, rel=1e-6)


def draw(toy, direction, rng):
    """A possible alignment of every sentence pair."""
    out = []
    for s in range(len(toy.bitext)):
        e, f = toy.words(s, direction)
        while True:
            a = rng.integers(-1, len(e), size=len(f))
            if 2 * (a < 0).sum() <= len(f) and np.bincount(a[a >= 0], minlength=1).max() <= 4:
                break
        out.append(a)
    return out


@pytest.mark.parametrize("model", MODELS)
def test_the_search_ends_where_no_move_and_no_swap_helps(model, rng):
    toy = Toy([(" ".join("abcd"), " ".join("wxyzw"))], most=3)
    settings = FertilitySettings(model)
    for _ in range(10):
        starts = [draw(toy, d, rng)[0] for d in (0, 1)]
        best = climb(settings, toy.classes, toy.batch(*starts), toy.parameters)
        found = expect(settings, toy.classes, toy.batch(*starts), toy.parameters)
        seen = 0.0
        for d in (0, 1):
            slow, (e, f) = toy.slow(model, d), toy.words(0, d)
            around = {a: slow.probability(e, f, a) for a in neighbourhood(tuple(best[d].tolist()), len(e))}
            assert max(around.values()) <= around[tuple(best[d].tolist())] * (1 + 1e-6)
            seen += np.log(sum(around.values()))
        assert found.log_likelihood == pytest.approx(seen, rel=1e-5)


def neighbourhood(a, n):
    out = {a}
    for j in range(len(a)):
        out |= {(*a[:j], i, *a[j + 1 :]) for i in range(-1, n)}
        for k in range(j):
            swapped = list(a)
            swapped[j], swapped[k] = a[k], a[j]
            out.add(tuple(swapped))
    return out


@pytest.mark.parametrize(("model", "whole"), [("3", False), ("4", False), ("5", True)])
def test_only_model_5_gives_all_its_probability_to_texts(model, whole):
    fertility = np.array([[0.2, 0.3, 0.5], [0.4, 0.6, 0.0]])
    total = 0.0
    for length in range(1, 7):
        strings = list(itertools.product("xy", repeat=length))
        alignments = [a for a in itertools.product((-1, 0, 1), repeat=length) if possible(a)]
        if not alignments:
            continue
        toy = Toy([("a b", " ".join(f)) for f in strings], most=2)
        toy.parameters = dataclasses.replace(toy.parameters, **same_words(fertility))
        for a in alignments:
            found = given(toy, model, np.tile(a, len(strings)))
            total += np.exp(found).sum()
    nothing = 0.2 * 0.4
    if whole:
        assert total + nothing == pytest.approx(1.0, abs=1e-6)
    else:
        assert total + nothing < 0.99


def possible(a):
    return 2 * a.count(-1) <= len(a) and a.count(0) <= 2 and a.count(1) <= 1


def same_words(fertility):
    rng = np.random.default_rng(5)
    width = 2 * REACH + 1
    lexicon = np.array([[0.3, 0.5], [0.7, 0.5], [0.6, 0.5], [0.4, 0.5]], dtype=np.float32)
    return {
        "lexicon": lexicon,
        "null_forward": np.array([0.25, 0.75], dtype=np.float32),
        "fertility_forward": fertility,
        "heads_forward": rng.dirichlet(np.ones(width), size=9),
        "others_forward": rng.dirichlet(np.ones(width), size=3),
    }


def given(toy, model, forward):
    """Log-probability of each sentence pair under a given forward alignment."""
    settings = FertilitySettings(model, search="given")
    return log_probabilities(settings, toy.classes, toy.batch(forward=forward), toy.parameters)[0]


@pytest.mark.parametrize("model", MODELS)
def test_over_all_alignments_the_likelihood_never_falls(model):
    toy = Toy(TEXT)
    settings = FertilitySettings(model, search="all", fertility_pseudo=0, distortion_pseudo=1e-9)
    steps = fertility_model(settings, toy.table, toy.layout, toy.classes)
    source = FullExpectation(steps, Batches([toy.batch()]), LocalEngine())
    bounds = run_em(steps, source, toy.parameters, tol=-np.inf, max_iter=15).bounds
    assert np.diff(bounds).min() >= -1e-5
    assert bounds[-1] > bounds[0] + 1


@pytest.mark.parametrize("model", MODELS)
def test_the_m_step_gives_distributions(model):
    toy = Toy(TEXT)
    steps = fertility_model(FertilitySettings(model), toy.table, toy.layout, toy.classes)
    p = steps.solve(steps.expect(toy.batch(), toy.parameters), toy.parameters)
    _, by_target, by_source = toy.layout.cells()
    for name, group in (("forward", by_source), ("backward", by_target)):
        np.testing.assert_allclose(np.bincount(group, weights=getattr(p, f"places_{name}")), 1.0)
        for kind in ("fertility", "heads", "others"):
            np.testing.assert_allclose(getattr(p, f"{kind}_{name}").sum(axis=1), 1.0)


def test_displacements_of_model_5_are_recovered(rng):
    """Weights that generate choices among vacant places are found again from their counts."""
    weights = np.full(2 * REACH + 1, 1e-9)
    weights[REACH - 2 : REACH + 4] = [0.05, 0.1, 0.05, 0.5, 0.2, 0.1]
    counts = np.zeros((1, 2 * REACH + 1))
    ranges = [slice(REACH - low, REACH + high + 1) for low in range(3) for high in range(1, 4)]
    for span in ranges:
        counts[0, span] += rng.multinomial(500, weights[span] / weights[span].sum())
    solved = np.full((1, 2 * REACH + 1), 1 / (2 * REACH + 1))
    for _ in range(300):
        reached = np.zeros((1, 2 * REACH + 2))
        for span in ranges:
            reached[0, span.start] += 500 / solved[0, span].sum()
            reached[0, span.stop] -= 500 / solved[0, span].sum()
        solved = solve_displacements(counts, reached, solved, 1e-9)
    np.testing.assert_allclose(solved[0, REACH - 2 : REACH + 4], weights[REACH - 2 : REACH + 4], atol=0.03)


PAIRS = [
    ("the house", "la maison"),
    ("the flower", "la fleur"),
    ("blue flower", "fleur bleue"),
    ("i do not sleep", "je ne dors pas"),
    ("i do not see", "je ne vois pas"),
    ("i see the house", "je vois la maison"),
    ("i do not see the flower", "je ne vois pas la fleur"),
]


@pytest.mark.parametrize("schedule", ["1:4,3:2", "1:4,hmm:2,4:2", "1:3,hmm:2,3:2,4:2,5:2"])
def test_threads_and_repetition_make_no_difference(schedule):
    many = PAIRS * 80
    one = fertile(schedule).fit(many)
    two = fertile(schedule, n_jobs=2).fit(Bitext.from_pairs(many))
    assert_same_state(one, two)
    assert one.align(PAIRS) == two.align(PAIRS)
    assert one.align(PAIRS, method="forward").to_lists()[0] == [(0, 0), (1, 1)]


def fertile(schedule="1:3,hmm:2,3:2,4:2", n_classes=4, **settings):
    return Aligner(schedule, fertility=FertilityOptions(n_classes=n_classes), **settings)


def assert_same_state(one, two):
    for field in dataclasses.fields(FertilityParameters):
        name = field.name
        a, b = (getattr(aligner.fertility_.parameters, name) for aligner in (one, two))
        np.testing.assert_array_equal(a, b, err_msg=name)
    for name, table in one.fertility_.counts.items():
        np.testing.assert_array_equal(table, two.fertility_.counts[name], err_msg=name)
    np.testing.assert_array_equal(one.counts_, two.counts_)
    for a, b in zip(one.jump_totals_, two.jump_totals_, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_word_can_have_two_words():
    aligner = fertile("1:5,hmm:3,3:2,4:3", n_classes=3, spelling=0).fit(PAIRS * 5)
    links = aligner.align([("i do not see", "je ne vois pas")], method="forward").to_sets()[0]
    assert {(0, 0), (3, 2)} <= links
    assert {j for i, j in links if i in (1, 2)} == {1, 3}
    fertility = aligner.fertility_.parameters.fertility_forward
    flower = aligner.source_words_.index("flower")
    assert fertility[flower].argmax() == 1


ODD = [("", "la"), ("the " * 130, "la " * 130), ("the", "la " * 40), ("the", "")]


@pytest.mark.parametrize("schedule", ["1:3,3:1", "1:3,hmm:2,5:1"])
def test_unseen_words_long_sentences_empty_and_lopsided_pairs(schedule):
    aligner = fertile(schedule, n_classes=3).fit(PAIRS + ODD)
    for method in ("agreed", "grow-diag-final-and"):
        links = aligner.align([*ODD, ("the zebra sleeps", "la zebre dort bien"), *PAIRS], method=method)
        assert len(links) == len(ODD) + 1 + len(PAIRS)
        assert (0, 0) in links.to_sets()[len(ODD)]
    simple = Aligner(schedule.rpartition(",")[0]).fit(PAIRS + ODD)
    long = aligner.posterior(*ODD[1])
    assert long.forward.sum(axis=0).min() > 0.5
    assert long.forward.shape == simple.posterior(*ODD[1]).forward.shape


@pytest.mark.parametrize("model", MODELS)
def test_links_have_the_probabilities_of_all_alignments_when_all_are_looked_at(model):
    toy = Toy(TEXT)
    settings = FertilitySettings(model, search="all")
    found = link_probabilities(settings, toy.classes, toy.batch(), toy.parameters)
    for d in (0, 1):
        for s in range(len(TEXT)):
            (e, f), slow = toy.words(s, d), toy.slow(model, d)
            wanted = slow_links(slow, e, f)
            got = found[d][toy.bitext.cells[s] : toy.bitext.cells[s + 1]]
            shape = (len(e), len(f)) if d == 0 else (len(f), len(e))
            got = got.reshape(shape) if d == 0 else got.reshape(shape).T
            np.testing.assert_allclose(got, wanted, atol=1e-5)


def slow_links(slow, e, f):
    """Posteriors of links by definition: shares of the alignments that have them."""
    out, total = np.zeros((len(e), len(f))), 0.0
    for a in itertools.product(range(-1, len(e)), repeat=len(f)):
        if 2 * a.count(-1) > len(f) or max(map(a.count, range(len(e)))) > 3:
            continue
        p = slow.probability(e, f, list(a))
        total += p
        for j, i in enumerate(a):
            if i >= 0:
                out[i, j] += p
    return out / total


@pytest.mark.parametrize("schedule", ["1:3,3:2", "1:3,hmm:2,3:2,4:2", "1:3,hmm:1,5:2"])
def test_posteriors_are_shares_and_agreed_links_follow_them(schedule):
    aligner = fertile(schedule, threshold=0.4).fit(PAIRS * 5)
    links = aligner.align(PAIRS)
    for s, pair in enumerate(PAIRS):
        posterior = aligner.posterior(*pair)
        assert posterior.forward.sum(axis=0).max() <= 1 + 1e-5
        assert posterior.backward.sum(axis=1).max() <= 1 + 1e-5
        wanted = {tuple(cell) for cell in np.argwhere(posterior.agreed > 0.4).tolist()}
        assert links.to_sets()[s] == wanted


@pytest.mark.parametrize("stop", range(1, 9))
def test_stopping_anywhere_and_going_on_is_going_through(tmp_path, stop):
    schedule = "1:2,hmm:2,3:2,4:2"
    whole = fertile(schedule).fit(PAIRS)
    kept = []
    fertile(schedule).fit(PAIRS, on_iteration=lambda place, line: kept.append(place) or len(kept) == stop)
    save(kept[-1], tmp_path / "progress")
    resumed = fertile(schedule).fit(PAIRS, resume=load(tmp_path / "progress"))
    assert_same_state(whole, resumed)
    assert resumed.align(PAIRS) == whole.align(PAIRS)
    assert len(whole.bits_per_word_) == 8


def test_a_stage_that_continues_climbs_from_where_it_climbed_before(monkeypatch):
    kept, begun = [], []
    alone = fertile(ensemble=())
    alone.fit(PAIRS, on_iteration=lambda place, line: kept.append(place))
    plain = FertilityTrainer.batches
    monkeypatch.setattr(
        FertilityTrainer,
        "batches",
        lambda self, text, starts, *rest: begun.append(starts) or plain(self, text, starts, *rest),
    )
    alone.fit(PAIRS, resume=kept[-1])
    assert len(begun) == 1
    for used, wanted in zip(begun[0], kept[-1].fertility.starts, strict=True):
        np.testing.assert_array_equal(used, wanted)


def test_a_saved_model_aligns_the_same(tmp_path):
    aligner = fertile().fit(PAIRS)
    save(aligner, tmp_path / "model")
    again = load(tmp_path / "model", expected=Aligner)
    new = [("i do not see the zebra", "je ne vois pas le zebre"), *PAIRS]
    for method in ("agreed", "forward", "grow-diag-final-and"):
        assert again.align(new, method=method) == aligner.align(new, method=method)
    again.partial_fit(PAIRS)


@pytest.mark.parametrize("schedule", ["1:3,3:2", "1:3,hmm:2,3:2,4:2", "1:3,hmm:2,5:2"])
def test_batches_and_the_index_change_nothing_that_matters(schedule):
    many = PAIRS * 10
    whole = fertile(schedule, keep_index=True).fit(many)
    assert_same_state(fertile(schedule, keep_index=False).fit(many), whole)
    split = fertile(schedule, batch_pairs=17).fit(many)
    p, q = split.fertility_.parameters, whole.fertility_.parameters
    np.testing.assert_allclose(p.lexicon, q.lexicon, atol=1e-4)
    np.testing.assert_allclose(p.fertility_forward, q.fertility_forward, atol=1e-4)


@pytest.mark.parametrize("schedule", ["1:3,3:2", "1:3,hmm:2,3:2,4:2", "1:3,hmm:2,5:2"])
def test_added_text_counts_beside_the_old(schedule):
    aligner = fertile(schedule, spelling=0).fit(PAIRS * 10)
    before = {name: table.copy() for name, table in aligner.fertility_.counts.items()}
    never = aligner.source_words_.index("not")
    fertility = aligner.fertility_.parameters.fertility_forward[never]
    aligner.partial_fit([("i do not run", "je ne cours pas"), ("run", "cours")])
    after = aligner.fertility_
    old, new = before["fertility_forward"], after.counts["fertility_forward"]
    assert new.sum() == pytest.approx(old.sum() + 5, abs=1e-6)
    assert after.counts["scalars_forward"][2] == before["scalars_forward"][2] + 5
    np.testing.assert_allclose(after.parameters.fertility_forward[never], fertility, atol=0.05)
    assert aligner.align([("the house", "la maison"), ("run", "cours")]).to_sets() == [
        {(0, 0), (1, 1)},
        {(0, 0)},
    ]


def test_a_stop_among_the_simple_models_leaves_a_simple_model():
    aligner = fertile().fit(PAIRS * 5, on_iteration=lambda place, line: place.stage == 1)
    assert aligner.fertility_ is None
    assert aligner.align([("the house", "la maison")]).to_sets() == [{(0, 0), (1, 1)}]
    with pytest.raises(AttributeError, match="no model with fertilities"):
        _ = aligner.fertility_table_


@pytest.mark.parametrize(
    "schedule", ["3:2", "1:2,4:1,3:1", "1:2,4", "1:2,6:1", "1:2,3:1,hmm:2", "1:2,3:1,3:2"]
)
def test_schedules_that_cannot_be(schedule):
    with pytest.raises(ValueError, match="schedule="):
        Aligner(schedule).fit(PAIRS)


@pytest.mark.parametrize(
    "setting",
    [
        {"null": 1.0},
        {"n_classes": 0},
        {"most_fertile": 0},
        {"fertility_pseudo": -1},
        {"distortion_pseudo": -1},
    ],
)
def test_settings_that_cannot_be(setting):
    with pytest.raises(ValueError, match=f"'{next(iter(setting))}' parameter of FertilityOptions"):
        Aligner(fertility=FertilityOptions(**setting)).fit(PAIRS)


def test_too_many_alignments_to_enumerate_are_refused():
    toy = Toy([(" ".join("abcdefgh"), " ".join("stuvwxyz"))])
    with pytest.raises(ValueError, match="too long to enumerate"):
        expect(FertilitySettings(search="all"), toy.classes, toy.batch(), toy.parameters)


def test_a_clone_has_the_same_settings():
    aligner = fertile("1:2,3:1", null=0.1, n_classes=7)
    assert clone(aligner).get_params() == aligner.get_params()


@pytest.mark.slow
def test_model_4_beats_the_hmm_on_hansards():
    folder = Path(os.environ.get("ISOGLOSS_DATA", "../shared/data")) / "alignment/hansards-en-fr"
    if not folder.exists():
        pytest.skip("no Hansards; set ISOGLOSS_DATA to a folder that has alignment/hansards-en-fr")
    sides = [
        [
            line
            for name in (f"train.{code}.gz", f"test.{code}")
            for line in itertools.islice(read_lines(folder / name), 3000)
        ]
        for code in ("en", "fr")
    ]
    pairs = [(e.decode().split(), f.decode().split()) for e, f in zip(*sides, strict=True)]
    test, gold = pairs[3000:], read_gold(folder / "test.gold")
    simple = Aligner("1:5,hmm:5", agreement=None).fit(pairs).align(test, method="intersection")
    fertile = Aligner("1:5,hmm:5,3:3,4:3", agreement=None).fit(pairs).align(test, method="intersection")
    assert score_links(fertile, gold).aer < score_links(simple, gold).aer - 0.01


@pytest.mark.parametrize("name", ["fertility_pseudo", "distortion_pseudo"])
def test_pseudo_counts_may_be_few_or_none_and_not_fewer(name):
    for value in (0, 0.5):
        FertilityOptions(**{name: value}).check()
    with pytest.raises(ValueError, match=f"'{name}'.* Got -0.1"):
        FertilityOptions(**{name: -0.1}).check()
