"""Going on after an interruption."""

import numpy as np
import pytest

from isogloss.alignment import Aligner, Bitext, Checkpoints, FertilityOptions, Priors
from isogloss.exceptions import CorpusError

PAIRS = [("the house", "la maison"), ("the blue house", "la maison bleue"), ("blue", "bleue")]


@pytest.fixture
def text():
    return Bitext.from_pairs(PAIRS)


def test_any_iteration_can_be_gone_on_from(tmp_path, text):
    aligner = Aligner("1:2,hmm:2").fit(text)
    for last in range(1, 5):
        checkpoints = Checkpoints(tmp_path / f"c{last}", Aligner("1:2,hmm:2"), text, seconds=0)
        seen = []

        def stop(progress, line, checkpoints=checkpoints, seen=seen, last=last):
            checkpoints.keep(progress)
            seen.append(progress)
            return len(seen) == last

        Aligner("1:2,hmm:2").fit(text, on_iteration=stop)
        again = Checkpoints(tmp_path / f"c{last}", Aligner("1:2,hmm:2"), text).load()
        assert (again.stage, again.iteration) == (seen[-1].stage, seen[-1].iteration)
        resumed = Aligner("1:2,hmm:2").fit(text, resume=again)
        np.testing.assert_array_equal(resumed.parameters_.lexicon, aligner.parameters_.lexicon)


def test_quick_iterations_are_written_together(tmp_path, text):
    checkpoints = Checkpoints(tmp_path / "c", Aligner(), text, seconds=3600)
    Aligner().fit(text, on_iteration=lambda progress, line: checkpoints.keep(progress))
    assert checkpoints.load() is None
    checkpoints.flush()
    assert checkpoints.load() is not None
    checkpoints.remove()
    checkpoints.flush()
    assert list(tmp_path.iterdir()) == []
    checkpoints.remove()


@pytest.mark.parametrize(
    ("aligner", "pairs"),
    [
        (Aligner("1:3"), PAIRS),
        (Aligner(null=0.2), PAIRS),
        (Aligner(), PAIRS[:2]),
        (Aligner(), [*PAIRS[:2], ("house", "bleue")]),
        (Aligner(), [PAIRS[1], PAIRS[0], PAIRS[2]]),
        (Aligner(priors=Priors.from_rows([("blue", "bleue", 2.0)])), PAIRS),
        (Aligner(fertility=FertilityOptions(n_classes=2)), PAIRS),
    ],
)
def test_other_text_or_settings_are_refused(tmp_path, text, aligner, pairs):
    checkpoints = Checkpoints(tmp_path / "c", Aligner(), text, seconds=0)
    Aligner().fit(text, on_iteration=lambda progress, line: checkpoints.keep(progress))
    assert Checkpoints(tmp_path / "c", Aligner(n_jobs=2, threshold=0.3), text).load() is not None
    with pytest.raises(CorpusError, match="other text or settings"):
        Checkpoints(tmp_path / "c", aligner, Bitext.from_pairs(pairs)).load()
