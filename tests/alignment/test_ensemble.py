"""Several models of one text, and the mean of their posteriors."""

import itertools

import numpy as np
import pytest

from isogloss.alignment import Aligner, Bitext, WordForms
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
    apart = [Aligner(prefix=letters, ensemble=()).fit(PAIRS) for letters in (None, 4, 3)]
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
    assert [member.prefix for member in again.ensemble_] == [4, 3]


def test_models_of_earlier_versions_have_one_model_and_the_geometric_mean(tmp_path):
    aligner = Aligner(ensemble=()).fit(PAIRS)
    wanted = aligner.align(PAIRS)
    del aligner.ensemble_
    params = {name: value for name, value in aligner.get_params().items() if name not in ("ensemble", "mean")}
    old = Aligner(**Aligner._grouped(params))
    vars(old).update({name: value for name, value in vars(aligner).items() if name.endswith("_")})
    assert old.get_params()["ensemble"] == ()
    assert old.align(PAIRS) == wanted
    old.partial_fit(PAIRS[:2])
    assert old.set_params(threshold=0.4).get_params()["ensemble"] == ()


@pytest.mark.parametrize(("settings", "prefixes"), [({}, [4, 3]), ({"prefix": 4}, [3]), ({"prefix": 2}, [])])
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
    assert [progress.member for progress in kept] == [0] * 4 + [1] * 4 + [2] * 4
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


@pytest.mark.parametrize(("stop", "members"), [(2, 0), (8, 0), (14, 0), (17, 1)])
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


@pytest.mark.parametrize("ensemble", [(0,), (4, "3"), (True,), (2.5,)])
def test_wrong_numbers_of_letters_are_refused(ensemble):
    with pytest.raises(ValueError, match="numbers of letters from 1 on"):
        Aligner(ensemble=ensemble).fit(PAIRS)
