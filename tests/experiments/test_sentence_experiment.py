"""Texts that are damaged on purpose have the right gold beads, and the report is written at toy size."""

import gzip
import json

import pytest

from experiments import alignment_sentences, alignment_sentences_data
from experiments.alignment_sentences_data import DAMAGES, damage

PAIRS = [(f"Sentence {k}, which is number {k}.", f"Satz {k}, der Nummer {k} ist.") for k in range(200)]


@pytest.mark.parametrize("kind", DAMAGES)
def test_gold_beads_are_translations(kind):
    text = damage(PAIRS, kind, seed=3)
    for source, target in text.gold:
        numbers = [
            {word.strip(",.") for j in part for word in side[j].split() if word.strip(",.").isdecimal()}
            for part, side in ((source, text.source), (target, text.target))
        ]
        assert numbers[0] == numbers[1]
    assert len(text.source) == len(text.source_paragraphs)
    assert len(text.target) == len(text.target_paragraphs)


def test_each_damage_does_what_it_says():
    found = {kind: damage(PAIRS, kind, seed=4) for kind in DAMAGES}
    sizes = {kind: {(len(s), len(t)) for s, t in text.gold} for kind, text in found.items()}
    assert (
        sizes["clean"]
        == sizes["deleted"]
        == sizes["noisy"]
        == sizes["chapter"]
        == sizes["shuffled"]
        == {(1, 1)}
    )
    assert {(1, 2), (2, 1)} <= sizes["merged"] & sizes["split"] & sizes["all"]
    assert len(found["clean"].gold) == len(found["shuffled"].gold) == 200
    assert len(found["chapter"].gold) == 180
    assert [target for source, target in sorted(found["shuffled"].gold)] != sorted(
        target for _, target in found["shuffled"].gold
    )
    assert 150 < len(found["deleted"].gold) < 200


def test_the_report_is_written(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "parallel" / "tatoeba"
    folder.mkdir(parents=True)
    lines = "".join(f"train\t{source}\t{target}\n" for source, target in PAIRS)
    (folder / "en-de.tsv.gz").write_bytes(gzip.compress(lines.encode()))
    arguments = ["--data", str(tmp_path / "data"), "--sentences", "40", "--texts", "tatoeba en-de", "--peers"]
    report = alignment_sentences.main([str(tmp_path / "out"), *arguments, "--damages", "clean", "deleted"])
    figures = json.loads((report.parent / "report.json").read_text())
    assert figures["clean"]["isogloss"]["f1"] > 95
    assert set(figures) == {"clean", "deleted", "tatoeba en-de"}
    assert "| isogloss, lengths |" in report.read_text()
    assert set(alignment_sentences_data.DEVELOPED).isdisjoint(alignment_sentences_data.REPORTED)
