"""What is known beforehand: it helps where text is short, in files and in memory."""

import itertools
import os
import re
from pathlib import Path

import numpy as np
import pytest

from isogloss.alignment import (
    Aligner,
    FertilityOptions,
    Priors,
    read_gold,
    read_priors,
    score_links,
    write_fertilities,
    write_jumps,
)
from isogloss.alignment.models import LexicalPrior, TrainingSettings, pseudo_fertilities, pseudo_jumps, start
from isogloss.alignment.models._jumps import UNIFORM_WEIGHT
from isogloss.alignment.models._steps import alignment_model
from isogloss.em import FullExpectation, run_em
from isogloss.engine import Batches, LocalEngine
from isogloss.exceptions import CorpusError
from isogloss.io import load, read_lines, save
from tests.alignment.data import indexed

WORDS = 40


def backwards(n, seed=0):
    """Sentence pairs of a language that says everything in the opposite order, and some things twice."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(n):
        source = rng.integers(0, WORDS, rng.integers(3, 9)).tolist()
        target = [f"t{w}" for w in reversed(source) for _ in range(1 + (w % 4 == 0))]
        pairs.append(([f"s{w}" for w in source], target))
    return pairs


def aligner(schedule="1:3,hmm:4", **settings):
    return Aligner(schedule, spelling=0, fertility=FertilityOptions(n_classes=2), classes=5, **settings)


@pytest.fixture(scope="module")
def related():
    return aligner("1:3,hmm:4,3:2,4:2").fit(backwards(400))


@pytest.mark.parametrize(
    ("what", "schedule", "size"),
    [
        ("lexicon", "1:3,hmm:4", 6),
        ("jumps", "1:3,hmm:4", 6),
        ("lexicon", "1:3,hmm:4,3:2,4:2", 6),
        ("jumps", "1:3,hmm:4,3:2,4:2", 6),
        ("fertility", "1:3,hmm:4,3:2,4:2", 30),
        ("fertility", "1:3,hmm:4,5:2", 30),
    ],
)
def test_each_kind_of_prior_makes_other_text_likelier(related, what, schedule, size):
    known = Priors.of(related)
    small, held_out = backwards(size, seed=1), backwards(100, seed=2)
    alone = aligner(schedule).fit(small)
    helped = aligner(schedule, priors=Priors(**{what: getattr(known, what)})).fit(small)
    assert helped.score(held_out) > alone.score(held_out) + 0.1


def test_all_priors_together_align_what_a_small_text_cannot(related):
    small, held_out = backwards(6, seed=1), backwards(50, seed=2)
    schedule = "1:3,hmm:4,3:2,4:2"
    helped, alone = (aligner(schedule, priors=known).fit(small) for known in (Priors.of(related), None))
    assert share_right(helped, held_out) > 0.9 > 0.5 > share_right(alone, held_out)


def share_right(fitted, pairs):
    """Share of source words with all their links and no other."""
    right = total = 0
    for links, (source, _) in zip(fitted.align(pairs, method="forward").to_sets(), pairs, strict=True):
        ends = np.cumsum([0, *(1 + (int(word[1:]) % 4 == 0) for word in reversed(source))])
        for k, i in enumerate(reversed(range(len(source)))):
            total += 1
            right += {j for a, j in links if a == i} == set(range(ends[k], ends[k + 1]))
    return right / total


def test_files_bring_back_what_was_written(related, tmp_path):
    write_jumps(related.jump_table_, tmp_path / "jumps.gz")
    write_fertilities(related.fertility_table_, tmp_path / "fertility")
    known = read_priors(jumps=tmp_path / "jumps.gz", fertility=tmp_path / "fertility")
    wanted = Priors.of(related)
    assert known.jumps[:4] == wanted.jumps[:4]
    assert known.fertility[:3] == wanted.fertility[:3]
    np.testing.assert_allclose(known.jumps[4], wanted.jumps[4], rtol=1e-4)
    np.testing.assert_allclose(known.fertility[3], wanted.fertility[3], rtol=1e-4)


def test_the_tables_say_what_was_counted(related):
    counts = {row[:4]: row[4] for row in related.jump_table_}
    assert counts["forward", "other", "", -1] > 20 * counts.get(("forward", "other", "", 1), 0.01)
    assert {row[0] for row in counts} == {"forward", "backward"}
    assert {row[1] for row in counts} == {"word", "other", "start"}
    sentences = sum(c for (d, origin, *_), c in counts.items() if (d, origin) == ("forward", "start"))
    assert sentences == pytest.approx(400, rel=0.2)  # less what drifts
    twice = {row[1]: row[3] for row in related.fertility_table_ if row[0] == "forward" and row[2] == 2}
    assert min(twice[f"s{w}"] for w in range(0, WORDS, 4)) > 5 * max(
        [twice.get(f"s{w}", 0) for w in range(1, WORDS, 4)]
    )


def test_jumps_go_to_the_class_of_their_word():
    rows = [
        ("forward", "word", "the", 1, 8.0),
        ("forward", "word", "rare", 2, 4.0),
        ("forward", "other", "", -1, 3.0),
        ("forward", "start", "", 1, 5.0),
        ("forward", "start", "", 9, 5.0),
        ("backward", "word", "the", 0, 7.0),
    ]
    words, classes = (["the", "dog", "rare"], ["le"]), (np.array([0, 1, 1]), np.array([0]))
    forward, backward = pseudo_jumps(Priors.from_rows(jumps=rows), words, classes, 2, pseudo=0.0)
    assert forward.tolist() == [[0, 0, 0, 8, 0], [0, 3, 0, 0, 4], [0, 0, 0, 5, 0]]
    assert backward.tolist() == [[0, 0, 7, 0, 0], [0] * 5]
    spread = pseudo_jumps(Priors.from_rows(jumps=rows), words, classes, 2, pseudo=10.0)[0] - forward
    np.testing.assert_allclose(spread, np.tile(spread[0], (3, 1)))
    np.testing.assert_allclose(
        spread[0, [0, 3]],
        [10 * UNIFORM_WEIGHT / 5, 10 * ((1 - UNIFORM_WEIGHT) * 13 / 20 + UNIFORM_WEIGHT / 5)],
    )
    assert pseudo_jumps(Priors(), words, classes, 2, 1.0) is None


def test_jumps_from_words_that_are_not_here_count_with_all_others():
    known = Priors.from_rows(jumps=[("forward", "word", "zebra", 1, 4.0)])
    words, classes = (["the", "dog"], ["le"]), (np.array([0, 1]), np.array([0]))
    assert pseudo_jumps(known, words, classes, 1, 0.0)[0].tolist() == [[0, 0, 0], [0, 0, 4], [0, 0, 0]]


def test_many_known_jumps_decide():
    rows = [
        (d, o, "", w, 1e7 * (w == 2) + 1e6)
        for d in ("forward", "backward")
        for o in ("other", "start")
        for w in (0, 2)
    ]
    fitted = Aligner("1:2,hmm:3", classes=1, spelling=0, priors=Priors.from_rows(jumps=rows)).fit(
        backwards(50)
    )
    weights = fitted.parameters_.jumps_forward
    at = weights.shape[1] // 2
    np.testing.assert_allclose(weights[:, at + 2] / weights[:, at], 11, rtol=0.02)


def test_with_known_jumps_the_bound_never_falls(rng):
    bitext, table, layout, text = indexed(backwards(60))
    classes = tuple((np.arange(n) % 2).astype(np.int32) for n in bitext.shape)
    p = start(table, layout, 20, (2, 2))
    pseudo = tuple(rng.gamma(0.3, 200.0, p.jumps_forward.shape) for _ in range(2))
    settings = TrainingSettings("hmm", lexical=LexicalPrior(each=0.01), pseudo_jumps=pseudo)
    steps = alignment_model(settings, table, classes, layout)
    bounds = run_em(
        steps, FullExpectation(steps, Batches([text]), LocalEngine()), p, tol=-np.inf, max_iter=12
    ).bounds
    assert np.diff(bounds).min() >= -1e-9 * abs(bounds[-1])
    assert bounds[-1] > bounds[0]


def test_fertilities_go_to_their_word_and_large_ones_to_the_largest():
    rows = [
        ("forward", "dog", 1, 3.0),
        ("forward", "dog", 7, 2.0),
        ("backward", "dog", 1, 9.0),
        ("forward", "cat", 0, 1.0),
    ]
    found = pseudo_fertilities(Priors.from_rows(fertility=rows), (["the", "dog"], ["le"]), most=3)
    assert found["fertility_forward"].tolist() == [[0, 0, 0, 0], [0, 3, 0, 2]]
    assert not found["fertility_backward"].any()


def test_words_are_known_in_the_form_in_which_they_are_counted():
    known = Priors.from_rows(lexicon=[("Dog", "PERRO", 9.0), ("Cat", "GATO", 9.0)])
    pairs = [("dog cat", "gato perro")]
    assert Aligner("1:2", spelling=0, priors=known).fit(pairs).align(pairs).to_sets() == [{(0, 1), (1, 0)}]


def test_a_dictionary_helps_with_words_that_were_not_in_the_text():
    known = Priors.from_rows(lexicon=[("dog", "perro", 9.0), ("cat", "gato", 9.0)])
    new = [("s1 dog cat", "t1 gato perro")]
    alone, helped = (
        aligner(priors=priors).fit(backwards(50)).align(new).to_sets()[0] for priors in (None, known)
    )
    assert {(1, 2), (2, 1)} <= helped
    assert not {(1, 2), (2, 1)} & alone


def test_priors_are_saved_with_the_aligner(related, tmp_path):
    fitted = aligner("1:3,hmm:4,3:1", priors=Priors.of(related)).fit(backwards(5))
    save(fitted, tmp_path / "model")
    again = load(tmp_path / "model", expected=Aligner)
    assert again.priors == fitted.priors
    assert again.align(backwards(5)) == fitted.align(backwards(5))


def test_more_weight_is_more_of_it():
    known = Priors.from_rows(
        [("a", "x", 2.0)], [("forward", "other", "", 1, 4.0)], [("forward", "a", 1, 6.0)]
    )
    half = known.scaled(0.5)
    assert (half.lexicon[2], half.jumps[4], half.fertility[3]) == ([1.0], [2.0], [3.0])
    assert known
    assert not Priors()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"lexicon": (["a"], ["b"])}, "lexicon: expected 3 columns"),
        ({"lexicon": (["a"], ["b"], [1.0, 2.0])}, "lexicon: expected 3 columns of one length"),
        ({"lexicon": (["a"], ["b"], [-1.0])}, "negative"),
        ({"lexicon": (["a"], ["b"], [np.nan])}, "not finite"),
        ({"jumps": (["up"], ["other"], [""], [1], [1.0])}, "jumps: 'up'; expected one of forward, backward"),
        (
            {"jumps": (["forward"], ["end"], [""], [1], [1.0])},
            "jumps: 'end'; expected one of word, other, start",
        ),
        ({"fertility": (["forward"], ["a"], [-1], [1.0])}, "fewer than 0 words"),
    ],
)
def test_priors_that_cannot_be(columns, message):
    with pytest.raises(ValueError, match=message):
        Priors(**columns)


def test_fertilities_without_a_model_that_has_them_are_refused():
    known = Priors.from_rows(fertility=[("forward", "a", 1, 1.0)])
    with pytest.raises(ValueError, match="has no use for fertilities"):
        Aligner(priors=known).fit([("a", "x")])


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("jumps", "forward\tother\t\t1\t2\n", ":1:.*does not name the columns"),
        (
            "jumps",
            "direction\torigin\tword\tjump\tcount\nforward\tother\t\tone\t2\n",
            ":2:.*expected direction",
        ),
        ("jumps", "direction\torigin\tword\tjump\tcount\nforward\tother\n", ":2:"),
        ("fertility", "", "does not name the columns"),
        (
            "fertility",
            "direction\tword\tfertility\tcount\nsideways\ta\t1\t2\n",
            "known: fertility: 'sideways'",
        ),
        ("lexicon", "a\tb\tmany\n", ":1:"),
        ("lexicon", "a\n", ":1:"),
        ("lexicon", "a\tb\t-1\n", "known: lexicon: a count that is negative"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, monkeypatch, kind, text, message):
    monkeypatch.chdir(tmp_path)
    Path("known").write_text(text)
    with pytest.raises(CorpusError, match=message):
        read_priors(**{kind: "known"})


def test_columns_may_come_in_any_order(tmp_path):
    (tmp_path / "known").write_text("count\tnote\ttarget\tsource\n3\tsure\tperro\tdog\n")
    assert read_priors(lexicon=tmp_path / "known").translations == [("dog", "perro", 3.0)]


@pytest.mark.slow
def test_text_of_another_domain_helps_a_small_one():
    data = Path(os.environ.get("ISOGLOSS_DATA", "../shared/data"))
    hansards, other = data / "alignment" / "hansards-en-fr", data / "parallel" / "tatoeba" / "en-fr.tsv.gz"
    if not hansards.exists() or not other.exists():
        pytest.skip("no Hansards or no Tatoeba; set ISOGLOSS_DATA to a folder that has both")
    rows = (line.decode().lower().split("\t") for line in itertools.islice(read_lines(other), 5000))
    known = Priors.of(
        Aligner().fit([tuple(re.findall(r"\w+|[^\w\s]", side) for side in row[1:3]) for row in rows])
    )
    sides = [
        [
            line.decode().split()
            for name in (f"dev.{code}", f"train.{code}.gz")
            for line in itertools.islice(read_lines(hansards / name), 300)
        ]
        for code in ("en", "fr")
    ]
    text, gold = list(zip(*sides, strict=True)), read_gold(hansards / "dev.gold")
    alone, helped = (
        score_links(Aligner(priors=priors).fit(text).align(text[: len(gold)]), gold).aer
        for priors in (None, known)
    )
    assert helped < alone - 0.05
