import numpy as np
import pytest

from isogloss.alignment import Aligner, Bitext, Links, Priors, WordForms
from isogloss.alignment.models import parse_schedule
from isogloss.io import load, save
from tests.alignment.data import planted

BOOK = [
    ("the black dog", "o cao preto"),
    ("the nice dog", "o cao amigo"),
    ("the black cat", "o gato preto"),
    ("the cat", "o gato"),
]


def error_rate(links, gold):
    found = links.to_sets()
    hits = sum(len(a & b) for a, b in zip(found, gold, strict=True))
    return 1 - 2 * hits / (sum(map(len, found)) + sum(map(len, gold)))


@pytest.mark.parametrize("agreement", [None, "product", "mutual"])
@pytest.mark.parametrize("schedule", ["1:5", "1:5,2:5", "1:5,diagonal:5", "1:3,hmm:5"])
def test_planted_links_are_found(schedule, agreement):
    pairs, gold = planted(600)
    aligner = Aligner(schedule, agreement=agreement, spelling=0).fit(pairs)
    assert error_rate(aligner.align(pairs), gold) < 0.12
    assert error_rate(aligner.align(pairs, method="intersection"), gold) < 0.12
    assert len(aligner.bits_per_word_) == sum(stage.iterations for stage in parse_schedule(schedule))


@pytest.mark.parametrize("pseudo", [0.5, 0.01, 0.001])
def test_bayes_finds_planted_links_whatever_the_dirichlet(pseudo):
    pairs, gold = planted(600)
    aligner = Aligner("1:5", agreement=None, spelling=0, bayes=True, pseudo_count=pseudo).fit(pairs)
    assert error_rate(aligner.align(pairs), gold) < 0.12


def test_four_sentences_of_the_slides():
    aligner = Aligner("1:10", agreement=None, spelling=0).fit(BOOK)
    best = {}
    for source, target, p, *_ in aligner.translation_table_:
        best.setdefault(source, (target, p))
    assert {word: translation for word, (translation, _) in best.items()} == {
        "the": "o", "black": "preto", "dog": "cao", "nice": "amigo", "cat": "gato",
    }  # fmt: skip


def test_model_1_with_null_is_that_of_the_textbook():
    pairs = [("the house", "la maison"), ("the flower", "la fleur"), ("the blue flower", "la fleur bleue")]
    texts = [(["", *e.split()], f.split()) for e, f in pairs]
    t = {(f, e): 0.25 for source, target in texts for e in source for f in target}  # of four French words
    for _ in range(5):
        counts = dict.fromkeys(t, 0.0)
        for source, target in texts:
            for f in target:
                total = sum(t[f, e] for e in source)
                for e in source:
                    counts[f, e] += t[f, e] / total
        sums = {e: sum(c for (_, of), c in counts.items() if of == e) for _, e in counts}
        t = {(f, e): c / sums[e] for (f, e), c in counts.items()}
    aligner = Aligner("1:5", agreement=None, null=None, ensemble=(), spelling=0).fit(pairs)
    found = {(f, e): p for e, f, p, *_ in aligner.translation_table_}
    assert found.keys() == {pair for pair in t if pair[1]}
    assert max(abs(found[pair] - t[pair]) for pair in found) < 1e-6


def test_threads_batches_and_the_index_change_nothing_that_matters():
    pairs, _ = planted(400)
    plain = Aligner().fit(pairs)
    np.testing.assert_array_equal(Aligner(n_jobs=3).fit(pairs).parameters_.lexicon, plain.parameters_.lexicon)
    np.testing.assert_array_equal(
        Aligner(keep_index=False).fit(pairs).parameters_.lexicon, plain.parameters_.lexicon
    )
    split = Aligner(batch_pairs=70).fit(pairs)
    np.testing.assert_allclose(split.parameters_.lexicon, plain.parameters_.lexicon, atol=1e-5)


@pytest.mark.dask
def test_a_cluster_gives_the_same():
    distributed = pytest.importorskip("distributed")
    from isogloss.engine.dask import DaskEngine

    pairs, _ = planted(200)
    local = Aligner(batch_pairs=50).fit(pairs)
    with distributed.Client(
        processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as client:
        remote = Aligner(batch_pairs=50, engine=DaskEngine(client)).fit(pairs)
    np.testing.assert_allclose(remote.parameters_.lexicon, local.parameters_.lexicon, atol=1e-7)


def test_a_saved_aligner_aligns_new_text_the_same(tmp_path):
    pairs, _ = planted(200)
    aligner = Aligner().fit(pairs)
    save(aligner, tmp_path / "model")
    again = load(tmp_path / "model")
    new = [("s1 s2 unheard", "t2 unheard t1"), ("s3", "t3"), ("", "t1")]
    assert again.align(new) == aligner.align(new)
    found = aligner.align(new)
    assert found.to_sets() == [{(0, 2), (1, 0), (2, 1)}, {(0, 0)}, set()]
    assert found.probability.min() > 0.5


def test_unseen_long_sentences_are_aligned():
    pairs, _ = planted(300)
    aligner = Aligner().fit(pairs)
    words = [k % 30 for k in range(200)]
    found = aligner.align([([f"s{k}" for k in words], [f"t{k}" for k in words])]).to_sets()[0]
    assert len(found & {(k, k) for k in range(200)}) > 190


def test_stopping_and_going_on_is_going_through():
    pairs, _ = planted(200)
    whole = Aligner().fit(pairs)
    kept = []
    Aligner().fit(pairs, on_iteration=lambda progress, line: kept.append(progress) or len(kept) == 6)
    assert (kept[-1].stage, kept[-1].iteration) == (1, 1)
    resumed = Aligner().fit(pairs, resume=kept[-1])
    np.testing.assert_array_equal(resumed.parameters_.lexicon, whole.parameters_.lexicon)
    np.testing.assert_array_equal(resumed.parameters_.jumps_forward, whole.parameters_.jumps_forward)


def test_progress_can_be_saved(tmp_path):
    pairs, _ = planted(50)
    kept = []
    Aligner().fit(pairs, on_iteration=lambda progress, line: kept.append(progress))
    save(kept[4], tmp_path / "progress")
    resumed = Aligner().fit(pairs, resume=load(tmp_path / "progress"))
    np.testing.assert_array_equal(resumed.parameters_.lexicon, Aligner().fit(pairs).parameters_.lexicon)


def test_added_text_teaches_new_words_and_keeps_the_old():
    pairs, _ = planted(300)
    aligner = Aligner(spelling=0).fit(pairs)
    before = aligner.counts_.sum()
    aligner.partial_fit([(f"s{k} novel", f"fresh t{k}") for k in range(20)])
    assert aligner.align([("novel s3", "t3 fresh"), ("s4 s5", "t5 t4")]).to_sets() == [
        {(0, 1), (1, 0)},
        {(0, 1), (1, 0)},
    ]
    assert aligner.counts_.sum() > before + 30


def test_a_known_dictionary_decides_what_the_text_leaves_open():
    pairs = [("a b", "x y"), ("a b", "y x")]
    known = [("a", "y", 5.0), ("b", "x", 5.0), ("zebra", "x", 9.0)]
    aligner = Aligner("1:3", spelling=0, priors=Priors.from_rows(lexicon=known)).fit(pairs)
    assert aligner.align(pairs).to_sets() == [{(0, 1), (1, 0)}, {(0, 0), (1, 1)}]


def test_spelling_aligns_names_seen_once():
    pairs = [("Berlin greets Montevideo", "Montevideo grüßt Berlin")]
    assert Aligner().fit(pairs).align(pairs).to_sets()[0] >= {(0, 2), (2, 0)}


def test_posteriors_are_those_of_a_sentence_pair():
    pairs, _ = planted(100)
    aligner = Aligner().fit(pairs)
    posterior = aligner.posterior("s1 s2", "t2 t1 t3")
    assert posterior.forward.shape == posterior.backward.shape == (2, 3)
    assert posterior.forward.sum(axis=0).max() <= 1 + 1e-6
    assert posterior.backward.sum(axis=1).max() <= 1 + 1e-6
    np.testing.assert_allclose(posterior.agreed * 2, posterior.forward + posterior.backward, atol=1e-6)
    posterior = aligner.set_params(mean="geometric").posterior("s1 s2", "t2 t1 t3")
    np.testing.assert_allclose(posterior.agreed**2, posterior.forward * posterior.backward, atol=1e-6)


def test_word_forms_decide_what_is_the_same_word():
    assert len(Bitext.from_pairs([("Cat cat CATS", "x")]).source.vocabulary) == 2
    assert len(Bitext.from_pairs([("Cat cat", "x")], forms=WordForms(lower=False)).source.vocabulary) == 2
    assert len(Bitext.from_pairs([("Cat cats", "x")], forms=WordForms(prefix=3)).source.vocabulary) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schedule": "1:3,7:2"}, "'7:2' is not a stage"),
        ({"schedule": "hmm"}, "MODEL:ITERATIONS"),
        ({"agreement": "yes"}, "'agreement'.* '(mutual|product)'.* or None. Got 'yes'"),
        ({"null": 0}, "'null'.* Got 0"),
        ({"null": None}, "for Model 1 alone"),
        ({"uniform": 1.5}, "'uniform'.* Got 1.5"),
        ({"spelling": -1}, "'spelling'.* Got -1"),
        ({"classes": 0}, "'classes'.* Got 0"),
        ({"threshold": 2}, "'threshold'.* Got 2"),
        ({"bayes": True}, "needs a positive pseudo-count"),
        ({"prefix": 0}, "'prefix'.* Got 0"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Aligner(**settings).fit(BOOK)


@pytest.mark.parametrize("pairs", [[], [("", "x"), ("a", "")]])
def test_no_text_is_refused(pairs):
    with pytest.raises(ValueError, match="nothing to learn"):
        Aligner().fit(pairs)


def test_what_is_not_a_pair_is_refused():
    with pytest.raises(ValueError, match="not a sentence pair"):
        Aligner().fit(["a b"])


def test_empty_text_has_no_links():
    aligner = Aligner().fit(BOOK)
    assert aligner.align([]) == Links([0], [], [], [])
    assert aligner.align([("", "")]).to_sets() == [set()]
