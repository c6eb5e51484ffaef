"""The experiment on word alignment scores held-out sentences only, and writes its report at toy size."""

import gzip
import json

import numpy as np
import pytest

from experiments import alignment_choices, alignment_data, alignment_methods
from isogloss.alignment import Gold, Links

ENGLISH = ["the house", "the blue house", "the flower", "a blue flower", "a house", "a flower"]
FRENCH = ["la maison", "la maison bleue", "la fleur", "une fleur bleue", "une maison", "une fleur"]
LINKS = [{(0, 0), (1, 1)}, {(0, 0), (1, 2), (2, 1)}] * 2 + [{(0, 0), (1, 1)}] * 2
GOLD = Gold.join(Links.from_sets(LINKS), Links.from_sets([set()] * len(LINKS)))


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "alignment" / "hansards-en-fr"
    folder.mkdir(parents=True)
    for side, lines in (("en", ENGLISH), ("fr", FRENCH)):
        text = "\n".join(lines) + "\n"
        (folder / f"test.{side}").write_text(text)
        (folder / f"train.{side}.gz").write_bytes(gzip.compress(text.encode() * 3))
    (folder / "test.gold").write_text("0-0 1-1\n0-0 1-2 2-1\n0-0 1-1\n0-0 1-2 2-1\n0-0 1-1\n0-0 1-1\n")
    return tmp_path


def test_the_report_has_every_setting_with_its_cost(data, tmp_path, monkeypatch):
    monkeypatch.setattr(alignment_methods, "PEERS", {"absent": "no_such_module"})
    given = [str(tmp_path / "out"), "--data", str(data), "--quick", "--sets", "English-French"]
    report = alignment_methods.main(given)
    (figures,) = json.loads((report.parent / "report.json").read_text()).values()
    assert set(figures) == {"default", "quick"}
    assert figures["default"]["aer"] == 0
    assert all(one["cpu_seconds"] > 0 and one["megabytes"] > 10 for one in figures.values())
    assert "| default | 0.0 | 100.0 | 100.0 |" in report.read_text()


def test_sentences_used_for_choosing_are_not_scored_and_the_best_symmetrisation_counts():
    gold = Gold.join(Links.from_sets([{(0, 0)}] * 6), Links.from_sets([set()] * 6))
    text = alignment_data.GoldText([], [], gold, alignment_data._two_thirds(6))
    assert text.held.tolist() == [1, 2, 4, 5]
    found = {
        "union": Links.from_sets([set(), {(0, 0), (1, 1)}, *[{(0, 0)}] * 4]),
        "intersection": Links.from_sets([set(), *[{(0, 0)}] * 5]),
    }
    outcome = alignment_methods.measure(text, found, alignment_methods.Usage(1.0, 2.0))
    assert (outcome.aer, outcome.method, outcome.cpu_seconds) == (0.0, "intersection", 1.0)
    np.testing.assert_array_equal(alignment_data._two_thirds(4), [1, 2])


def test_a_command_that_fails_says_why(tmp_path):
    with pytest.raises(RuntimeError, match="absent"):
        alignment_methods.align_ours([], tmp_path / "absent")


def test_choices_are_scored_on_sentences_that_no_benchmark_scores(tmp_path, monkeypatch):
    text = alignment_data.GoldText(ENGLISH, FRENCH, GOLD, alignment_data._two_thirds(len(ENGLISH)))
    monkeypatch.setitem(alignment_choices.SETS, "English-Czech", lambda data, n: text)
    (tmp_path / "alignment").mkdir()
    given = [str(tmp_path / "out"), "--data", str(tmp_path), "--quick", "--texts", "English-Czech"]
    report = alignment_choices.main(given)
    assert alignment_choices.manual(tmp_path, "English-Czech").rows.tolist() == [0, 3]
    figures = json.loads((report.parent / "report.json").read_text())
    assert set(figures) == {"English-Czech, default", "English-Czech, words"}
    assert all(one["error"] == 0 and 0.25 <= one["threshold"] <= 0.6 for one in figures.values())


def test_links_of_a_dictionary_are_scored_by_the_words_they_touch():
    sure = [[(0, 0), (2, 1)], [(1, 1)]]
    found = Links.from_sets([{(0, 0), (2, 2), (1, 3)}, {(1, 1), (0, 1)}, {(5, 5)}])
    assert alignment_choices.sure_error(found, sure) == pytest.approx(1 - 2 * 2 / (4 + 3))
    assert alignment_choices.sure_error(Links.from_sets([set(), set()]), sure) == 1
