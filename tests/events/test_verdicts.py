"""Verdicts change a linker: few a little, many much, and never the sign of a weight."""

from datetime import UTC, datetime

import numpy as np
import pytest

from isogloss import io
from isogloss.events.link import FEATURES, Linker
from isogloss.events.training import judged_pairs, train_on_verdicts

NOW = datetime(2031, 3, 6, tzinfo=UTC)


def _verdicts(n, same, seed=0, **features):
    """Verdicts on links between 2n clusters, which have the same features but for some noise."""
    random = np.random.default_rng(seed)
    return [
        {
            "same": same,
            "clusters": (2 * number + 1000 * seed, 2 * number + 1 + 1000 * seed),
            "features": {name: random.uniform(0.2, 0.4) for name in FEATURES}
            | {"encoderCosSim": None, "timeDiff": 5.0}
            | features,
        }
        for number in range(n)
    ]


def _chance(linker, verdict):
    row = [
        np.nan if verdict["features"][name] is None else verdict["features"][name] for name in linker.features
    ]
    return float(linker.predict_proba([row])[0, 1])


def test_few_verdicts_change_little_and_many_change_much():
    prior = Linker.default()
    wrong = bool(_chance(prior, _verdicts(1, True)[0]) < 0.5)
    changes = []
    for n in (1, 10, 200):
        verdicts = _verdicts(n, wrong)
        linker = train_on_verdicts(judged_pairs(verdicts), now=NOW)
        before, after = _chance(prior, verdicts[0]), _chance(linker, verdicts[0])
        changes.append((after - before) * (1 if wrong else -1))
    assert 0 < changes[0] < 0.1
    assert changes[0] < changes[1] < changes[2]
    assert changes[2] > 0.3


def test_signs_stay_bounded_and_the_encoder_weights_are_kept_without_evidence():
    verdicts = _verdicts(100, False, textCosSim=0.9, entityCosSim=0.9) + _verdicts(
        100, True, seed=1, textCosSim=0.0, entityCosSim=0.0
    )
    linker = train_on_verdicts(judged_pairs(verdicts), now=NOW)
    for name, weight in zip(linker.features, linker.weights_.T, strict=True):
        if name.endswith("Sim"):
            assert weight.min() >= 0, name
    assert linker.weights_[1, list(linker.features).index("timeDiff")] <= 0
    np.testing.assert_array_equal(linker.weights_[0], Linker.default().weights_[0])
    assert linker.training_["after"]["log_loss"] < linker.training_["before"]["log_loss"]


def test_verdicts_that_cannot_be_used_are_counted():
    good, later = _verdicts(2, True), _verdicts(1, False)
    gone = [{"same": True, "clusters": (None, 3), "features": None}]
    merged = [{"same": True, "clusters": (3, 3), "features": None}]
    unlinked = [{"same": True, "clusters": (3, 4), "features": None}]
    pairs = judged_pairs([*good, *gone, *merged, *unlinked, *later])
    assert pairs.labels.tolist() == [0, 1]
    assert pairs.skipped == {
        "articles that are no longer stored": 1,
        "articles that are now in one cluster": 1,
        "clusters that are no longer linked": 1,
        "clusters with a later verdict": 1,
    }
    with pytest.raises(ValueError, match="no verdict on a link that still exists"):
        train_on_verdicts(judged_pairs(gone), now=NOW)


def test_connected_verdicts_are_not_scored():
    verdicts = [one | {"clusters": (0, number + 1)} for number, one in enumerate(_verdicts(4, True))]
    assert train_on_verdicts(judged_pairs(verdicts), now=NOW).training_["after"] is None


def test_what_a_linker_was_trained_on_is_in_its_file(tmp_path):
    linker = train_on_verdicts(judged_pairs(_verdicts(30, False)), now=NOW)
    io.save(linker, tmp_path / "linker.isogloss")
    again = io.load(tmp_path / "linker.isogloss", expected=Linker)
    assert again.training_ == linker.training_
    assert again.training_["verdicts"] == 30
    assert again.training_["date"] == "2031-03-06"
    first = next(iter(again.weight_changes().values()))
    assert first["before"] != first["after"]
    unchanged = Linker.default().weight_changes()
    assert all(row["before"] == row["after"] for row in unchanged.values())


def test_a_prior_with_other_features_is_refused():
    with pytest.raises(ValueError, match="prior has features"):
        Linker(("likeness",)).fit([[0.1]], [1], prior=Linker.default())
