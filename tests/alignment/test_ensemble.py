"""Several models of one text, and the mean of their posteriors."""

import itertools

import numpy as np
import pytest

from isogloss.alignment import Aligner, Bitext, Priors, WordForms
from isogloss.io import load, save
from tests.alignment.data import planted

PAIRS = [
    ("the walking man", "der gehende mann"),
    ("the walked mile", "die gegangene meile"),
    ("walks the man", "geht der mann"),
    ("the mile walker", "der meilengeher"),
    ("men walk", "manner gehen"),
] * 3


def mean_of(aligners, pair):
    found = [aligner.posterior(*pair) for aligner in aligners]
    return [sum(getattr(one, side) for one in found) / len(found) for side in ("forward", "backward")]


def test_posteriors_are_the_mean_of_models_trained_apart():
    ensemble = Aligner().fit(PAIRS)
    apart = [
        Aligner(ensemble=(), **settings).fit(PAIRS)
        for settings in ({}, {"prefix": 4}, {"prefix": 3}, {"stems": True})
    ]
    for pair in PAIRS[:5]:
        found = ensemble.posterior(*pair)
        for side, wanted in zip(found[:2], mean_of(apart, pair), strict=True):
            np.testing.assert_allclose(side, wanted, atol=1e-6)
    assert ensemble.translation_table_ == apart[0].translation_table_
    assert ensemble.score(PAIRS) == apart[0].score(PAIRS)


def test_links_are_cells_whose_mean_exceeds_the_threshold():
    aligner = Aligner().fit(PAIRS)
    for threshold in (0.2, 0.5, 0.8):
        links = aligner.set_params(threshold=threshold).align(PAIRS)
        for row, pair in zip(links.to_sets(), PAIRS, strict=True):
            assert row == set(map(tuple, np.argwhere(aligner.posterior(*pair).agreed > threshold).tolist()))


def test_best_links_are_the_likeliest_origins():
    pairs, _ = planted(60)
    pairs = [*pairs, ([], ["t1"]), ([], [])]
    aligner = Aligner(spelling=0).fit(pairs)
    forward, backward = (aligner.align(pairs, method=method).to_sets() for method in ("forward", "backward"))
    for pair, rows, columns in zip(pairs, forward, backward, strict=True):
        posterior = aligner.posterior(*pair)
        for found, sides, swap in ((rows, posterior.forward.T, True), (columns, posterior.backward, False)):
            wanted = set()
            for word, origins in enumerate(sides.tolist()):
                best = max(range(len(origins)), key=origins.__getitem__, default=None)
                if best is not None and origins[best] > 1 - sum(origins):
                    wanted.add((best, word) if swap else (word, best))
            assert found == wanted


def test_an_ensemble_is_saved_with_its_models(tmp_path):
    aligner = Aligner().fit(PAIRS)
    save(aligner, tmp_path / "model")
    again = load(tmp_path / "model")
    new = [("walkers walk", "geher gehen"), ("the unheard mile", "die meile")]
    assert again.align(new) == aligner.align(new)
    assert [(member.prefix, member.stems) for member in again.ensemble_] == [
        (4, False),
        (3, False),
        (None, True),
    ]
    assert again.ensemble_[2].stems_ == aligner.ensemble_[2].stems_
    assert again.threshold_ == aligner.threshold_


def test_models_of_earlier_versions_have_one_model_and_the_geometric_mean(tmp_path):
    aligner = Aligner(ensemble=()).fit(PAIRS)
    wanted = aligner.align(PAIRS)
    del aligner.ensemble_
    added = ("ensemble", "mean", "stems")
    params = {name: value for name, value in aligner.get_params().items() if name not in added}
    params["threshold"] = aligner.threshold_
    old = Aligner(**Aligner._grouped(params))
    vars(old).update({name: value for name, value in vars(aligner).items() if name.endswith("_")})
    assert old.get_params()["ensemble"] == ()
    assert old.align(PAIRS) == wanted
    old.partial_fit(PAIRS[:2])
    assert old.set_params(threshold=0.4).get_params()["ensemble"] == ()


@pytest.mark.parametrize(
    ("settings", "prefixes"),
    [
        ({}, [4, 3, None]),
        ({"prefix": 4}, [3]),
        ({"prefix": 2}, []),
        ({"stems": True}, [4, 3]),
        ({"ensemble": ["stems", 4, 4, "stems"]}, [None, 4]),
    ],
)
def test_models_that_add_nothing_are_left_out(settings, prefixes):
    aligner = Aligner(**settings).fit(PAIRS)
    assert [member.prefix for member in aligner.ensemble_] == prefixes
    assert aligner.n_models == 1 + len(prefixes)


def test_added_text_reaches_every_model():
    pairs, _ = planted(200)
    aligner = Aligner(spelling=0).fit(pairs)
    before = [model.counts_.sum() for model in (aligner, *aligner.ensemble_)]
    aligner.partial_fit([(f"s{k} novel", f"fresh t{k}") for k in range(20)])
    assert aligner.align([("novel s3", "t3 fresh")]).to_sets() == [{(0, 1), (1, 0)}]
    for model, counts in zip((aligner, *aligner.ensemble_), before, strict=True):
        assert model.counts_.sum() > counts + 30


@pytest.mark.parametrize("schedule", ["1:2,hmm:2", "1:1,hmm:1,4:2"])
def test_any_iteration_of_any_model_can_be_gone_on_from(tmp_path, schedule):
    kept = []
    whole = Aligner(schedule).fit(PAIRS, on_iteration=lambda progress, line: kept.append(progress))
    assert [progress.member for progress in kept] == [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4
    for progress in kept:
        save(progress, tmp_path / "progress")
        seen = []
        resumed = Aligner(schedule).fit(
            PAIRS, resume=load(tmp_path / "progress"), on_iteration=lambda *now, seen=seen: seen.append(now)
        )
        assert resumed.align(PAIRS) == whole.align(PAIRS)
        for one, other in zip((resumed, *resumed.ensemble_), (whole, *whole.ensemble_), strict=True):
            np.testing.assert_array_equal(one.counts_, other.counts_)
        assert len(seen) == sum(1 for other in kept if (other.member, other.stage, other.iteration)
                                >= (progress.member, progress.stage, progress.iteration))  # fmt: skip


@pytest.mark.parametrize(("stop", "members"), [(2, 0), (7, 0), (13, 0), (15, 1), (28, 2)])
def test_a_stopped_fit_keeps_the_models_that_were_finished(stop, members):
    count = itertools.count(1)
    aligner = Aligner().fit(PAIRS, on_iteration=lambda *_: next(count) == stop)
    assert len(aligner.ensemble_) == members
    assert next(count) == stop + 1
    assert aligner.align(PAIRS).n_links


def test_other_forms_are_numbered_as_if_they_had_been_read(tmp_path):
    pairs, _ = planted(80)
    forms = WordForms(prefix=2)
    wanted = Bitext.from_pairs(pairs, forms=forms)
    (tmp_path / "scratch").mkdir()
    for text in (Bitext.from_pairs(pairs), Bitext.from_pairs(pairs, folder=tmp_path / "scratch")):
        found = text.in_forms(forms)
        assert found.words == wanted.words
        np.testing.assert_array_equal(found.source.words, wanted.source.words)
        np.testing.assert_array_equal(found.target.words, wanted.target.words)
    assert isinstance(found.source.words, np.memmap)
    part, apart = text[10:20].in_forms(forms), Bitext.from_pairs(pairs[10:20], forms=forms)
    assert part.words == apart.words


def test_presets_and_wrong_ones():
    assert Aligner.preset("quick", threshold=0.4).get_params()["ensemble"] == ()
    with pytest.raises(ValueError, match="'slow'; expected one of quick, default, thorough"):
        Aligner.preset("slow")


@pytest.mark.parametrize("ensemble", [(0,), (4, "3"), (True,), (2.5,), ("stem",)])
def test_wrong_members_are_refused(ensemble):
    with pytest.raises(ValueError, match="'stems' or numbers of letters from 1 on"):
        Aligner(ensemble=ensemble).fit(PAIRS)


def test_stems_and_a_prefix_are_refused():
    with pytest.raises(ValueError, match="stems=True with prefix=4; expected one of them"):
        Aligner(stems=True, prefix=4).fit(PAIRS)


def inflected(seed):
    """Sentence pairs of a language with many endings, in most of which a form occurs once."""
    rng = np.random.default_rng(seed)
    consonants, vowels = list("bdfgklmnprst"), list("aeiou")
    syllables = [c + v for c in consonants for v in vowels]
    roots = ["".join(rng.choice(syllables, 3)) + str(rng.choice(consonants)) for _ in range(60)]
    endings = ["a", "em", "ou", "imi", "ach", "um", "ovi", "y"]
    pairs = []
    for _ in range(150):
        words = rng.choice(60, 5, replace=False)
        target = [roots[w] + endings[rng.integers(len(endings))] for w in rng.permutation(words)]
        pairs.append(([f"word{w}" for w in words], target, [roots[w] for w in words]))
    return pairs


def recall_of(settings, pairs):
    links = Aligner(spelling=0, **settings).fit([pair[:2] for pair in pairs]).align([p[:2] for p in pairs])
    right = sum(
        target[j].startswith(wanted[i])
        for (_, target, wanted), row in zip(pairs, links.to_sets(), strict=True)
        for i, j in row
    )
    return right / sum(len(pair[0]) for pair in pairs)


def test_learned_stems_find_the_translations_of_rare_forms():
    pairs = inflected(3)
    words, stems = (recall_of({"stems": stems, "ensemble": ()}, pairs) for stems in (False, True))
    assert stems > 0.95
    assert stems > words + 0.05


def test_a_bitext_is_brought_to_stems_like_text():
    one, other = (Aligner(stems=True, ensemble=()).fit(text) for text in (PAIRS, Bitext.from_pairs(PAIRS)))
    assert one.source_words_ == other.source_words_
    assert "walking" not in one.source_words_
    assert one.align(PAIRS) == other.align(PAIRS)


def test_what_is_known_beforehand_is_brought_to_the_forms_of_each_side():
    lexicon, fertility = [("walker", "gehender", 9.0)], [("backward", "gehender", 1, 2.0)]
    jumps = [("forward", "word", "walker", 1, 2.0), ("backward", "word", "gehender", 1, 2.0)]
    found = Priors.from_rows(lexicon, jumps, fertility).in_forms((WordForms(prefix=2), WordForms(prefix=3)))
    assert found == Priors.from_rows(
        [("wa", "geh", 9.0)],
        [("forward", "word", "wa", 1, 2.0), ("backward", "word", "geh", 1, 2.0)],
        [("backward", "geh", 1, 2.0)],
    )


@pytest.mark.parametrize("settings", [{}, {"ensemble": ()}, {"ensemble": (3,), "mean": "geometric"}])
def test_the_threshold_is_chosen_from_the_posteriors(settings):
    pairs, _ = planted(300)
    aligner = Aligner(spelling=0, **settings).fit(pairs)
    joint = np.concatenate([aligner.posterior(*pair).agreed.ravel() for pair in pairs])
    thresholds = np.linspace(0.25, 0.7, 91)
    expected = [2 * joint[joint > t].sum() / ((joint > t).sum() + joint.sum()) for t in thresholds]
    assert aligner.threshold_ == pytest.approx(max(expected) / 2 + 0.075, abs=6e-3)
    given = Aligner(spelling=0, threshold=aligner.threshold_, **settings).fit(pairs)
    assert given.align(pairs) == aligner.align(pairs)
    assert given.threshold_ == aligner.threshold_


def test_unsure_posteriors_lower_the_threshold():
    rng = np.random.default_rng(0)
    pairs, _ = planted(200)
    noise = [(rng.permutation(source).tolist(), rng.permutation(target).tolist()) for source, target in pairs]
    swapped = [(source, noise[(k + 7) % len(noise)][1]) for k, (source, _) in enumerate(noise)]
    sure, unsure = (Aligner(spelling=0).fit(text).threshold_ for text in (pairs, swapped))
    assert unsure < sure


def test_the_sample_for_the_threshold_is_from_all_parts_of_a_long_text():
    pairs, _ = planted(500)
    readers = [Aligner(ensemble=(), spelling=0).fit(pairs * n) for n in (1, 6)]
    assert readers[1].threshold_ == pytest.approx(readers[0].threshold_, abs=0.05)
