import dataclasses

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import digamma, xlogy
from scipy.stats import beta

from isogloss.alignment import Bitext, PairTable
from isogloss.alignment.decoding import Reader
from isogloss.alignment.models import (
    IndexedBitext,
    LexicalPrior,
    PositionLayout,
    TrainingSettings,
    expect,
    solve_lexicon,
    start,
)
from isogloss.alignment.models._jumps import first_jumps
from isogloss.alignment.models._spelling import similarity
from isogloss.alignment.models._steps import alignment_model
from isogloss.em import FullExpectation, run_em
from isogloss.engine import Batches, LocalEngine
from tests.alignment.data import indexed, planted
from tests.oracles import alignment as oracle

MODELS = ["1", "2", "diagonal", "hmm"]
SHORT = [("a b c", "x y"), ("b a", "y x z"), ("c", "z x"), ("a b", "y"), ("", "x"), ("c b a", "z y x")]


@pytest.mark.parametrize("columns", [None, 1, 2])
def test_lexicon_equals_its_definition(columns):
    _, table = planted_table()
    rng = np.random.default_rng(3)
    counts = rng.gamma(0.3, size=(len(table), 2))
    counts[rng.random(len(table)) < 0.2] = 0
    pairs = None if columns is None else rng.random((len(table), columns)).astype(np.float32)
    prior = LexicalPrior(pairs=pairs[:, 0] if columns == 1 else pairs, each=0.1)
    lexicon, posterior = solve_lexicon(table, counts, prior)
    expected = oracle.normalised_lexicon(table, counts, 0.1, 0.0 if pairs is None else pairs)
    np.testing.assert_allclose(lexicon, expected, rtol=1e-6)
    assert posterior.size == 0


def test_the_bayesian_lexicon_equals_its_definition():
    _, table = planted_table()
    counts = np.random.default_rng(4).gamma(0.5, size=(len(table), 2))
    lexicon, posterior = solve_lexicon(table, counts, LexicalPrior(each=0.1, bayes=True))
    np.testing.assert_allclose(posterior, counts + 0.1)
    for direction, words in enumerate((table.sources, table.columns)):
        totals = np.bincount(words, weights=posterior[:, direction])[words]
        expected = np.exp(digamma(posterior[:, direction]) - digamma(totals))
        np.testing.assert_allclose(lexicon[:, direction], expected, rtol=1e-5)


def test_words_without_counts_have_an_empty_lexicon():
    _, table = planted_table()
    lexicon, _ = solve_lexicon(table, np.zeros((len(table), 2)), LexicalPrior())
    np.testing.assert_array_equal(lexicon, 0.0)


def planted_table():
    bitext = Bitext.from_pairs(SHORT)
    return bitext, PairTable.of(bitext)


def random_parameters(bitext, table, layout, seed=0):
    rng = np.random.default_rng(seed)
    classes = tuple(
        rng.integers(0, 2, len(side.vocabulary)).astype(np.int32) for side in (bitext.source, bitext.target)
    )
    p = start(table, layout, 6, (2, 2))
    tables = layout.diagonal(np.array([1.5, 3.0]))
    return classes, dataclasses.replace(
        p,
        lexicon=rng.uniform(0.05, 1, p.lexicon.shape).astype(np.float32),
        null_forward=rng.uniform(0.1, 1, p.null_forward.shape).astype(np.float32),
        null_backward=rng.uniform(0.1, 1, p.null_backward.shape).astype(np.float32),
        jumps_forward=rng.uniform(0.1, 1, p.jumps_forward.shape),
        jumps_backward=rng.uniform(0.1, 1, p.jumps_backward.shape),
        table_forward=tables[0],
        table_backward=tables[1],
    )


def enumerated(settings, classes, p, bitext, table, layout, s):
    """What enumeration says of sentence pair ``s``: forward and backward, links as (source, target)."""
    e = bitext.source.words[bitext.source.offsets[s] : bitext.source.offsets[s + 1]]
    f = bitext.target.words[bitext.target.offsets[s] : bitext.target.offsets[s + 1]]
    slots = table.slots(bitext)[bitext.cells[s] : bitext.cells[s + 1]].reshape(len(e), len(f))
    at = layout.offsets(bitext)[s]
    out = []
    for d, name in enumerate(("forward", "backward")):
        emission = p.lexicon[slots, d].astype(float)
        places = getattr(p, f"table_{name}")[at : at + slots.size].reshape(slots.shape).astype(float)
        if d == 1:
            emission, places = emission.T, places.T
        made, words = (f, e) if d == 0 else (e, f)
        null = getattr(p, f"null_{name}")[made].astype(float)
        if settings.model == "hmm":
            weights = getattr(p, f"jumps_{name}").astype(np.float32).astype(float)
            first, rows = oracle.transitions(weights, classes[d][words], len(words), settings.uniform)
            found = oracle.by_enumeration(emission, null, settings.null, first, rows)
        else:
            places = np.full(emission.shape, 1 / len(words)) if settings.model == "1" else places
            found = oracle.by_enumeration(emission, null, settings.null, None, None, places)
        total, links, nulls, best = found
        out.append((total, links if d == 0 else links.T, nulls, best))
    return slots, out


@pytest.mark.parametrize("model", MODELS)
def test_likelihood_posteriors_and_best_paths_are_those_of_all_alignments(model):
    bitext, table, layout, text = indexed(SHORT)
    classes, p = random_parameters(bitext, table, layout)
    settings = TrainingSettings(model=model, null=0.2, uniform=0.1)
    reader = Reader(settings, p, table, classes)
    posteriors = reader.posteriors(text)
    forward, backward = (links.to_sets() for links in reader.best(bitext))
    found = expect(settings, classes, text, p)
    likelihood, counts = 0.0, np.zeros((len(table), 2))
    for s in range(len(bitext)):
        if bitext.cells[s] == bitext.cells[s + 1]:
            continue
        slots, sides = enumerated(settings, classes, p, bitext, table, layout, s)
        for d, (total, links, _, best) in enumerate(sides):
            likelihood += np.log(total)
            np.add.at(counts[:, d], slots.ravel(), links.ravel())
            got = posteriors[d][bitext.cells[s] : bitext.cells[s + 1]].reshape(slots.shape)
            np.testing.assert_allclose(got, links, atol=2e-6)
            if model == "hmm":
                expected = {(i, j) if d == 0 else (j, i) for j, i in enumerate(best) if i is not None}
                assert (forward, backward)[d][s] == expected
    assert found.log_likelihood == pytest.approx(likelihood, rel=1e-6)
    np.testing.assert_allclose(found["links"], counts, atol=1e-5)
    assert found.entropy > 0


@pytest.mark.parametrize("agreement", [None, "product", "mutual"])
@pytest.mark.parametrize("model", MODELS)
def test_the_number_of_threads_changes_nothing(model, agreement):
    bitext, table, layout, text = indexed(planted(700)[0])
    classes, p = random_parameters(bitext, table, layout)
    p = dataclasses.replace(p, jumps_forward=first_jumps(2, 12), jumps_backward=first_jumps(2, 12))
    one = expect(TrainingSettings(model=model, agreement=agreement, threads=1), classes, text, p)
    many = expect(TrainingSettings(model=model, agreement=agreement, threads=3), classes, text, p)
    for name, values in one.tables.items():
        np.testing.assert_array_equal(values, many[name], err_msg=name)
    assert one.log_likelihood == many.log_likelihood


@pytest.mark.parametrize("bayes", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_the_bound_never_falls(model, bayes):
    bitext, table, layout, text = indexed(planted()[0])
    prior = LexicalPrior(each=0.1, bayes=True) if bayes else LexicalPrior(each=0.01)
    p = start(table, layout, 12, (3, 3))
    lexicon, posterior = solve_lexicon(table, np.zeros((len(table), 2)), prior)
    p = dataclasses.replace(p, lexicon=lexicon, posterior=posterior)
    classes = tuple(
        (np.arange(len(side.vocabulary)) % 3).astype(np.int32) for side in (bitext.source, bitext.target)
    )
    for stage in ("1", model):
        if stage == "diagonal":
            forward, backward = layout.diagonal(p.tension)
            p = dataclasses.replace(p, table_forward=forward, table_backward=backward)
        steps = alignment_model(TrainingSettings(model=stage, lexical=prior), table, classes, layout)
        result = run_em(
            steps, FullExpectation(steps, Batches([text]), LocalEngine()), p, tol=-np.inf, max_iter=8
        )
        assert np.diff(result.bounds).min() >= -1e-9 * abs(result.bounds[-1])
        assert result.bounds[-1] > result.bounds[0]
        p = result.parameters


def test_both_lexica_are_distributions():
    _, table, _, _ = indexed(planted(50)[0])
    counts = np.random.default_rng(0).uniform(0, 3, (len(table), 2))
    lexicon, _ = solve_lexicon(table, counts, LexicalPrior(each=0.5))
    np.testing.assert_allclose(np.bincount(table.sources, weights=lexicon[:, 0]), 1, rtol=1e-5)
    np.testing.assert_allclose(np.bincount(table.columns, weights=lexicon[:, 1]), 1, rtol=1e-5)


def test_bayes_pays_for_its_distance_from_the_prior():
    table = PairTable.of(Bitext.from_pairs([("a", "x y")]))
    posterior = np.array([[3.0, 2.0], [1.5, 2.0]])
    paid = LexicalPrior(each=0.7, bayes=True).log_density(table, np.ones((2, 2), np.float32), posterior)
    q, p = beta(3.0, 1.5), beta(0.7, 0.7)
    distance, _ = quad(lambda t: q.pdf(t) * (q.logpdf(t) - p.logpdf(t)), 0, 1)
    assert paid == pytest.approx(-distance, rel=1e-6)  # backward, each word has one translation only


def test_a_uniform_hmm_is_model_1():
    bitext, table, layout, text = indexed(SHORT)
    classes, p = random_parameters(bitext, table, layout)
    flat = dataclasses.replace(
        p, jumps_forward=np.ones_like(p.jumps_forward), jumps_backward=np.ones_like(p.jumps_backward)
    )
    one = expect(TrainingSettings(model="1"), classes, text, flat)
    hmm = expect(TrainingSettings(model="hmm"), classes, text, flat)
    assert hmm.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-6)
    np.testing.assert_allclose(hmm["links"], one["links"], atol=1e-5)


def test_null_as_one_more_position_is_the_first_description_of_model_1():
    bitext, table, layout, text = indexed([("a b c", "x y")])
    classes, p = random_parameters(bitext, table, layout)
    even = expect(TrainingSettings(model="1", null=None), classes, text, p)
    quarter = expect(TrainingSettings(model="1", null=0.25), classes, text, p)
    third = expect(TrainingSettings(model="1", null=1 / 3), classes, text, p)
    assert even["scalars_forward"][4] == pytest.approx(quarter["scalars_forward"][4], rel=1e-6)
    assert even["scalars_backward"][4] == pytest.approx(third["scalars_backward"][4], rel=1e-6)
    assert even.entropy == pytest.approx(
        sum(
            -xlogy(q, q).sum()
            for q in (
                np.vstack([even["links"][:, 0].reshape(3, 2), even["null_forward"]]),
                np.vstack([even["links"][:, 1].reshape(3, 2).T, even["null_backward"]]),
            )
        ),
        rel=1e-5,
    )


def test_a_flat_diagonal_is_model_1():
    bitext, table, layout, text = indexed(SHORT)
    classes, p = random_parameters(bitext, table, layout)
    forward, backward = layout.uniform()
    flat = dataclasses.replace(p, table_forward=forward, table_backward=backward)
    one, two = (expect(TrainingSettings(model=model), classes, text, flat) for model in ("1", "2"))
    np.testing.assert_allclose(two["links"], one["links"], atol=1e-6)


def test_the_tension_that_made_the_counts_is_found():
    layout = PositionLayout([Bitext.from_pairs([("a b c d", "x y z"), ("a b", "x y z w v")])])
    counts = [table.astype(float) * 50 for table in layout.diagonal(np.array([2.5, 7.0]))]
    np.testing.assert_allclose(layout.solve_tension(counts, np.full(2, 4.0)), [2.5, 7.0], rtol=1e-4)


def test_the_table_has_every_pair_once_in_order():
    bitext, table, _, _ = indexed(planted(60)[0])
    pairs = list(zip(table.sources.tolist(), table.columns.tolist(), strict=True))
    assert pairs == sorted(oracle.pairs_of(bitext))
    cells = table.slots(bitext)
    first = bitext.source.lengths[0], bitext.target.lengths[0]
    for i, j in np.ndindex(*first):
        slot = cells[i * first[1] + j]
        assert (table.sources[slot], table.columns[slot]) == (bitext.source.words[i], bitext.target.words[j])


def test_pairs_that_a_table_lacks_have_no_slot():
    small = PairTable.of(Bitext.from_pairs([("a b", "x")]))
    bitext = Bitext.from_pairs([("a b c", "x y")])
    assert small.slots(bitext).tolist() == [0, -1, 1, -1, -1, -1]
    large = PairTable.of(bitext)
    assert small.find(large).tolist() == [0, 2]
    assert large.find(small).tolist() == [0, -1, 1, -1, -1, -1]
    merged = small.merge(PairTable.of(Bitext.from_pairs([("a", "x y")])))
    assert list(zip(merged.sources.tolist(), merged.columns.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 0),
    ]


def test_slots_looked_up_again_give_the_same():
    bitext, table, layout, text = indexed(planted(60)[0])
    again = IndexedBitext(bitext, table, table_offsets=layout.offsets(bitext), keep=False)
    np.testing.assert_array_equal(text.text().slots, again.text().slots)


def test_similarity_is_the_common_subsequence_over_the_longer_length():
    rng = np.random.default_rng(0)
    source = ["".join(rng.choice(list("abcd"), rng.integers(1, 12))) for _ in range(20)]
    target = ["".join(rng.choice(list("abcd"), rng.integers(1, 12))) for _ in range(20)]
    rows = np.arange(0, 401, 20)
    table = PairTable(rows, np.tile(np.arange(20, dtype=np.int32), 20), (20, 20))
    expected = [[oracle.common_subsequence(a, b) / max(len(a), len(b)) for b in target] for a in source]
    np.testing.assert_allclose(similarity(table, source, target).reshape(20, 20), expected, rtol=1e-6)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_pairs_and_slots_are_the_same_for_any_number_of_threads(threads: int) -> None:
    rng = np.random.default_rng(3)
    words = [" ".join(f"w{k}" for k in rng.zipf(1.4, size=rng.integers(0, 12)) if k < 60) for _ in range(80)]
    bitext = Bitext.from_pairs(list(zip(words[:40], words[40:], strict=True)))
    one, many = PairTable.of(bitext), PairTable.of(bitext, threads=threads)
    assert np.array_equal(one.rows, many.rows)
    assert np.array_equal(one.columns, many.columns)
    assert np.array_equal(one.slots(bitext), one.slots(bitext, threads=threads))
