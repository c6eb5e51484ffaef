"""Translations, their evaluation, self-learning, the check against chance, and the explorer."""

import os
from dataclasses import replace

import numpy as np
import pytest

from isogloss.exceptions import DictionaryError
from isogloss.lexicon import (
    BilingualDictionary,
    WordSpace,
    WordVectors,
    build_space,
    chance_test,
    evaluate_induced,
    evaluate_space,
    induce,
    mutual_pairs,
    neighbourhood,
    read_induced,
    refine,
    write_induced,
)
from isogloss.lexicon import _building as building
from isogloss.lexicon import _refinement as refinement
from tests.lexicon.data import dictionary, languages

PAIR = ("en", "de")
NAMES = [f"w{i}" for i in range(60)]


@pytest.fixture(scope="module")
def vectors():
    return languages(PAIR)


@pytest.fixture(scope="module")
def placed(vectors):
    return WordSpace.learn(vectors, [dictionary(*PAIR, range(200))]).place(vectors)


@pytest.mark.parametrize("rule", ["cosine", "csls", "inverted_softmax"])
def test_translations_have_score_rank_and_margin(placed, rule):
    found = induce(placed["en"], placed["de"], k=3, rule=rule)
    assert len(found) == 3 * len(placed["en"])
    assert found.ranks[:6].tolist() == [1, 2, 3, 1, 2, 3]
    scores = found.scores.reshape(-1, 3)
    np.testing.assert_allclose(found.margins.reshape(-1, 3)[:, :2], scores[:, :2] - scores[:, 1:])
    assert (found.margins >= 0).all()
    assert len(found.best()) == len(placed["en"])


def test_right_translations_have_larger_margins(placed):
    found = induce(placed["en"], placed["de"])
    right = np.array([s[2:] == t[2:] for s, t in found.pairs])
    assert found.margins[right].mean() > 1.5 * found.margins[~right].mean()


def test_mutual_translations_are_each_others_best(placed):
    kept = induce(placed["en"], placed["de"], mutual=True)
    back = dict(induce(placed["de"], placed["en"]).pairs)
    assert 0 < len(kept) < len(placed["en"])
    assert all(back[t] == s for s, t in kept.pairs)
    both, score = mutual_pairs(placed["en"], placed["de"])
    assert both.pairs == kept.pairs
    assert score == pytest.approx(kept.scores.mean())


def test_some_words_alone(placed):
    found = induce(placed["en"], placed["de"], ["en7", "en3"], k=2)
    assert [s for s, _ in found.pairs] == ["en7", "en7", "en3", "en3"]
    with pytest.raises(DictionaryError, match=r"1 of 2 words have no vector in 'en' \(400 words\): dog"):
        induce(placed["en"], placed["de"], ["en7", "dog"])


def test_an_induced_dictionary_is_written_whole_and_read_back(tmp_path, placed):
    found = induce(placed["en"], placed["de"], k=2)
    write_induced(found, tmp_path / "en-de.tsv")
    again = read_induced(tmp_path / "en-de.tsv")
    assert (again.source, again.target, again.pairs) == ("en", "de", found.pairs)
    np.testing.assert_array_equal(again.ranks, found.ranks)
    np.testing.assert_allclose(again.scores, found.scores, atol=1e-6)
    assert os.listdir(tmp_path) == ["en-de.tsv"]
    broken = replace(found, margins=np.array(["a"] * len(found)))
    with pytest.raises(ValueError, match="format"):
        write_induced(broken, tmp_path / "en-de.tsv")
    assert read_induced(tmp_path / "en-de.tsv").pairs == found.pairs
    assert os.listdir(tmp_path) == ["en-de.tsv"]


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "expected the columns"), ("a\tb\n", "expected the columns"), ("HEADER\na\tb\t1\n", r"t\.tsv:2: ")],
)
def test_tables_of_something_else_are_refused(tmp_path, text, message):
    (tmp_path / "t.tsv").write_text(text.replace("HEADER", "source\ttarget\tscore\trank\tmargin"))
    with pytest.raises(DictionaryError, match=message):
        read_induced(tmp_path / "t.tsv")


def by_hand():
    """Two languages of four words in one space."""
    en = WordVectors(["a", "b", "c", "d"], np.eye(4), "en")
    rows = np.array([[9, 2, 1, 4], [0, 3, 2, 3], [0, 0, 3, 2], [0, 0, 0, 1.0]])
    de = WordVectors(["A", "B", "C", "D"], rows, "de")
    return {"en": en, "de": de}


def test_figures_by_hand():
    placed = by_hand()
    gold = BilingualDictionary("en", "de", [("a", "A"), ("b", "A"), ("d", "C"), ("x", "D"), ("c", "Y")])
    result = evaluate_space(placed, gold, rule="cosine", depth=3, bands=[1], reachable_only=True)
    order = {q: induce(placed["en"], placed["de"], [q], k=4, rule="cosine").pairs for q in "abd"}
    ranks = [[t for _, t in order[q]].index(t) + 1 for q, t in (("a", "A"), ("b", "A"), ("d", "C"))]
    assert result.query_words == ("a", "b", "d")
    assert result.ranks.tolist() == [r if r <= 3 else 0 for r in ranks]
    assert ranks[0] == 1
    assert ranks[1:] != [1, 1]
    assert (result.n_words, result.n_queries, result.coverage) == (5, 3, 0.6)
    hits = np.array([r == 1 for r in ranks], dtype=float)
    assert result.precision(1) == hits.mean()
    assert result.standard_error(1) == pytest.approx(np.sqrt(hits.mean() * (1 - hits.mean()) / 3))
    assert result.mrr == pytest.approx(np.mean([1 / r if r <= 3 else 0 for r in ranks]))
    assert [(band.first, band.last, band.n_queries) for band in result.bands] == [(0, 1, 1), (1, 4, 2)]
    assert result.bands[0].precision == 1.0
    every = evaluate_space(placed, gold, rule="cosine", depth=3, bands=[1])
    assert every.query_words == ("a", "b", "d", "c")
    assert every.ranks.tolist() == [*result.ranks.tolist(), 0]
    assert (every.n_words, every.n_queries, every.coverage, every.n_reachable) == (5, 4, 0.8, 3)
    for k in (1, 3):
        right = sum(0 < rank <= k for rank in every.ranks)
        assert every.precision(k) == right / 4
        assert every.precision(k, of="all") == right / 5
        assert every.precision(k, of="reachable") == result.precision(k) == right / 3
        assert every.standard_error(k, of="reachable") == pytest.approx(result.standard_error(k))
        assert every.standard_error(k, of="all") == pytest.approx(np.sqrt(right / 5 * (1 - right / 5) / 5))
    with pytest.raises(ValueError, match="up to place 3"):
        result.precision(5)


def test_any_of_several_translations_is_right():
    placed = by_hand()

    def rank(translations):
        gold = BilingualDictionary("en", "de", [("b", t) for t in translations])
        return evaluate_space(placed, gold, rule="cosine", depth=4).ranks[0]

    assert rank("A") != rank("C")
    assert rank("AC") == rank("CA") == min(rank("A"), rank("C"))


def test_a_dictionary_is_evaluated_as_its_space_is(placed):
    gold = dictionary(*PAIR, range(150, 400))
    found = induce(placed["en"], placed["de"], k=5)
    direct, table = evaluate_space(placed, gold, depth=5), evaluate_induced(found, gold)
    assert dict(zip(table.query_words, table.ranks, strict=True)) == dict(
        zip(direct.query_words, direct.ranks, strict=True)
    )
    with pytest.raises(DictionaryError, match="none of the 3 words"):
        evaluate_induced(found, BilingualDictionary("en", "de", [("x", "y"), ("v", "w"), ("a", "b")]))


def test_a_table_and_its_space_have_the_same_figures_whatever_the_vocabulary(placed):
    few = WordVectors(placed["de"].words[:260], placed["de"].matrix[:260], "de")
    gold = dictionary(*PAIR, range(150, 450))
    space = {"en": placed["en"], "de": few}
    direct, table = evaluate_space(space, gold, depth=5), evaluate_induced(induce(*space.values(), k=5), gold)
    assert direct.n_reachable < direct.n_queries < direct.n_words
    figures = table.as_dict()
    shared = {name: value for name, value in direct.as_dict().items() if name in figures}
    same = set(figures) - {"rule", "bands"}
    assert {"p@1", "p@1_all", "p@5", "mrr", "mrr_all", "coverage", "p@1_all_error"} <= same
    assert {name: shared[name] for name in same} == {name: figures[name] for name in same}
    assert direct.as_dict()["p@1_reachable"] > figures["p@1"] > figures["p@1_all"]
    with pytest.raises(ValueError, match="not known"):
        table.precision(1, of="reachable")


def test_self_learning_makes_more_of_a_small_seed():
    vectors = languages(PAIR, n=600, noise=0.2, dims=(10, 10), factors=9, rotated=True)
    held = dictionary(*PAIR, range(300, 600))
    seed = [dictionary(*PAIR, range(8))]
    before = evaluate_space(WordSpace.learn(vectors, seed, "procrustes").place(vectors), held).precision()
    result = refine(vectors, seed, rounds=8, model="procrustes")
    after = evaluate_space(result.space.place(vectors), held).precision()
    assert after > before + 0.05
    assert len(result.rounds) > 1
    assert max(line.score for line in result.rounds) > result.rounds[0].score


def test_no_rounds_are_the_seed_alone(vectors):
    seed = [dictionary(*PAIR, range(200))]
    plain, refined = WordSpace.learn(vectors, seed), refine(vectors, seed, rounds=0)
    assert refined.rounds == ()
    np.testing.assert_array_equal(plain.weight, refined.space.weight)


def test_a_seed_of_wrong_pairs_is_refused(vectors, rng):
    wrong = BilingualDictionary(
        *PAIR, [(f"en{i}", f"de{j}") for i, j in zip(range(300), rng.permutation(300), strict=True)]
    )
    with pytest.raises(
        DictionaryError, match=r"300 seed pairs would be no better than chance: en-de: \d+ of 60"
    ):
        build_space(vectors, [wrong])


def test_a_good_seed_is_not_refused_and_all_of_it_is_used(vectors):
    said = []
    built = build_space(vectors, [dictionary(*PAIR, range(200))], rounds=0, progress=said.append)
    assert built.refinement.rounds == ()
    assert built.tests[0].passed
    assert built.tests[0].n_queries == 50
    assert built.tried.keys() == {"ibfa", "procrustes"}
    assert built.tried[built.model] == max(built.tried.values())
    assert built.space.n_rows == 200
    assert len(said) == 3


def test_small_seeds_are_refined_by_default(vectors):
    built = build_space(vectors, [dictionary(*PAIR, range(60))], "procrustes")
    assert len(built.refinement.rounds) > 1


def test_small_seeds_start_with_sampled_similarities(monkeypatch):
    """Fourteen pairs are too few for a map of thirty dimensions, and one round alone does not mend it."""
    vectors = languages(PAIR, n=600, noise=0.3, dims=(30, 30), factors=28, rotated=True, seed=2)
    held, seed = dictionary(*PAIR, range(300, 600)), [dictionary(*PAIR, range(14))]

    def precision():
        space = refine(vectors, seed, rounds=1, model="procrustes").space
        return evaluate_space(space.place(vectors), held).precision()

    assert precision() > 0.95
    monkeypatch.setattr(refinement, "FEW_PAIRS", 14)
    assert precision() < 0.7


def test_the_same_similarities_are_sampled_again(vectors):
    seed = [dictionary(*PAIR, range(40))]
    first, second = (refine(vectors, seed, rounds=1, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(first.space.weight, second.space.weight)


def test_few_words_and_foreign_languages_are_refused(vectors):
    with pytest.raises(DictionaryError, match="has 9 words with vectors; at least 10"):
        build_space(vectors, [dictionary(*PAIR, range(9))])
    with pytest.raises(DictionaryError, match=r"without vectors \(fr\); there are vectors of en, de"):
        build_space(vectors, [dictionary("en", "fr", range(50))])
    with pytest.raises(DictionaryError, match=r"0 of 1 pairs have vectors"):
        build_space(vectors, [BilingualDictionary(*PAIR, [("dog", "Hund")])])
    with pytest.raises(DictionaryError, match="en-de is empty"):
        build_space(vectors, [BilingualDictionary(*PAIR, [])])
    with pytest.raises(ValueError, match="model='best'"):
        build_space(vectors, [dictionary(*PAIR, range(50))], "best")


def test_one_answer_to_everything_is_chance(rng):
    """A frequent word that is right for some questions is no sign of knowledge."""
    en = WordVectors(NAMES, np.abs(rng.normal(size=(60, 4))), "en")
    hub = np.vstack([np.ones((1, 4)), -np.abs(rng.normal(size=(59, 4)))])
    held = BilingualDictionary("en", "de", [(w, "w0" if i < 20 else w) for i, w in enumerate(NAMES)])
    test = chance_test({"en": en, "de": WordVectors(NAMES, hub, "de")}, held, rule="cosine")
    assert test.hits == 20
    assert test.expected == pytest.approx(20)
    assert not test.passed


def test_neighbours_in_all_languages_at_once(placed):
    around = neighbourhood(placed, "en5", "en", k=4)
    assert around.neighbours[0].word == "en5"
    assert "en5" not in [one.word for one in around.of("en")]
    assert len(around.of("en")) == len(around.of("de")) == 4
    cosines = [one.cosine for one in around.neighbours]
    assert cosines == sorted(cosines, reverse=True)
    assert around.positions.shape == (9, 2)
    only = neighbourhood(placed, "en5", "en", k=4, languages=["de"])
    assert only.neighbours[1:] == around.of("de")
    with pytest.raises(DictionaryError, match="'dog' is not among the 400 words of 'en'"):
        neighbourhood(placed, "dog", "en")


THREE = ("en", "de", "it")


def chain(*more):
    """English with German and German with Italian, and whatever else is given."""
    return [dictionary("en", "de", range(150)), dictionary("de", "it", range(150)), *more]


def test_a_pair_without_a_dictionary_goes_by_way_of_others():
    vectors = languages(THREE)
    built = build_space(vectors, chain(), "mbfa", rounds=0)
    assert [test.name for test in built.tests] == ["en-de", "de-it"]
    held = dictionary("en", "it", range(200, 400))
    assert evaluate_space(built.space.place(vectors), held).precision() > 0.5


def test_a_dictionary_too_small_to_test_is_used_where_others_connect_its_languages():
    vectors = languages(THREE)
    built = build_space(vectors, chain(dictionary("en", "it", range(150, 155))), "mbfa", rounds=0)
    assert [test.name for test in built.tests] == ["en-de", "de-it"]
    assert built.space.n_rows == 150 + 150 + 5 + 3 * 152
    alone = [dictionary("en", "de", range(150)), dictionary("de", "it", range(5))]
    with pytest.raises(DictionaryError, match="de-it has 5 words with vectors; at least 10"):
        build_space(vectors, alone, "mbfa", rounds=0)


def test_a_dictionary_of_chance_is_left_out_where_others_connect_its_languages(rng, caplog):
    vectors = languages(THREE)
    places = zip(range(60), rng.permutation(60), strict=True)
    wrong = BilingualDictionary("en", "it", [(f"en{i}", f"it{j}") for i, j in places])
    built = build_space(vectors, chain(wrong), "mbfa", rounds=0)
    assert [test.passed for test in built.tests] == [True, True, False]
    assert "left out, because it is no better than chance: en-it: " in caplog.text
    assert built.space.n_rows == 150 + 150 + 3 * 150
    with pytest.raises(DictionaryError, match=r"no better than chance: en-it: \d+ of \d+ [^;]*\. Check"):
        build_space(vectors, [dictionary("en", "de", range(150)), wrong], "mbfa", rounds=0)


def test_what_a_caller_keeps_out_stays_out_while_models_are_tried(vectors, monkeypatch):
    unseen, fitted = dictionary(*PAIR, range(100, 150)), []

    def watched(*arguments, **options):
        fitted.append(options["exclude"])
        return refine(*arguments, **options)

    monkeypatch.setattr(building, "refine", watched)
    built = build_space(vectors, [dictionary(*PAIR, range(150))], "mbfa", rounds=0, exclude=[unseen])
    assert built.space.n_rows == 100 + 2 * 50
    assert [unseen in given for given in fitted] == [True, True]


def test_the_name_of_a_language_is_that_of_the_mapping(vectors):
    """Whatever the vectors call themselves, pairs found in self-learning must be between known languages."""
    named = {"english": vectors["en"], "german": vectors["de"]}
    seed = BilingualDictionary("english", "german", dictionary(*PAIR, range(60)).pairs)
    refined = refine(named, [seed], rounds=1, model="procrustes")
    assert refined.rounds[1].pairs > 0
    assert refined.space.n_rows > 60
