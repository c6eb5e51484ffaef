"""What the demo serves beside its events: aligners, dictionaries and an evaluation."""

import numpy as np
import pytest

pytest.importorskip("fastapi")

from isogloss import io
from isogloss.alignment import Aligner
from isogloss.cli.demo._words import dictionary_of, evaluation, learn_words
from isogloss.events.ingest import sample_corpus, sample_pairs
from isogloss.lexicon import read_induced
from isogloss.service.web._reports import report_sections
from isogloss.similarity import LSISimilarity


def test_words_are_learned_for_every_language_beside_english(tmp_path):
    aligners, dictionaries = learn_words(tmp_path, ("en", "de"))
    assert (aligners, dictionaries) == (["en-de.isogloss"], ["en-de.tsv"])
    words = ["fire", "in", "the", "museum"], ["feuer", "im", "museum"]
    agreed = io.load(tmp_path / "en-de.isogloss", expected=Aligner).posterior(*words).agreed
    assert agreed[0].argmax() == 0
    assert agreed[3].argmax() == 2
    found = read_induced(tmp_path / "en-de.tsv")
    assert {("strike", "streik"), ("museum", "museum"), ("volcano", "vulkan")} <= set(found.pairs)


def test_a_dictionary_has_the_best_translations_first():
    found = dictionary_of(Aligner().fit(sample_pairs("en", "fr")), "fr")
    by_word = {}
    for (word, _), score, rank, margin in zip(
        found.pairs, found.scores, found.ranks, found.margins, strict=True
    ):
        by_word.setdefault(word, []).append((score, rank, margin))
    for entries in by_word.values():
        scores, ranks, margins = map(np.array, zip(*entries, strict=True))
        assert len(entries) <= 5
        assert (scores >= 0.2).all()
        assert ranks.tolist() == list(range(1, len(entries) + 1))
        assert np.allclose(margins, scores - np.append(scores[1:], 0.0))
        assert (margins >= 0).all()


def test_the_evaluation_is_of_topics_that_were_not_learned_from():
    model = LSISimilarity(30, random_state=0).fit(sample_corpus())
    told = evaluation(model)
    assert [point["topics"] for point in told["learning curve"]] == [66, 115, 165]
    assert told["mean reciprocal rank"] == told["learning curve"][-1]["mean reciprocal rank"]
    assert 0.2 < told["mate on rank 1"] < told["mean reciprocal rank"] < 0.95
    proof = told["certificate"]
    assert proof["sum of correlations"] <= proof["no more than"] + 1e-9
    assert not proof["globally optimal"] or proof["relative gap"] < 1e-6
    assert {"learning curve", "certificate"} <= {part.name for part in report_sections(told)}
