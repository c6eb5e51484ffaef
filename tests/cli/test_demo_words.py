"""What the demo serves beside its events: aligners, dictionaries and an evaluation."""

import numpy as np
import pytest

pytest.importorskip("fastapi")

from isogloss import io
from isogloss.alignment import Aligner
from isogloss.cli.demo._words import dictionary_of, evaluation, learn_words
from isogloss.events.ingest import sample_corpus, sample_pairs
from isogloss.lexicon import BilingualDictionary, read_induced
from isogloss.service.web.pages._texts import EXAMPLE_TEXTS
from isogloss.service.web.presentation._reports import report_sections
from isogloss.similarity import LSISimilarity
from isogloss.text import Tokeniser

EXAMPLE_LINKS = {
    "de": [("injured", "verletzt"), ("fire", "Feuer"), ("museum", "Museum"), ("Thursday", "Donnerstag")],
    "es": [("injured", "heridas"), ("fire", "incendio"), ("museum", "museo"), ("Thursday", "jueves")],
    "fr": [("injured", "blessées"), ("fire", "incendie"), ("museum", "musée"), ("Thursday", "jeudi")],
    "ru": [("injured", "пострадали"), ("fire", "пожаре"), ("museum", "музее"), ("Thursday", "четверг")],
}


@pytest.mark.parametrize("lang", EXAMPLE_LINKS)
def test_the_words_of_the_example_of_the_page_are_linked(lang):
    pairs = sample_pairs("en", lang)
    words = [Tokeniser(code, lower=False)(EXAMPLE_TEXTS[code]) for code in ("en", lang)]
    assert [[word.lower() for word in own] for own in words] not in [[list(s), list(t)] for s, t in pairs]
    (links,) = Aligner().fit(pairs).align([words])
    linked = {(words[0][i], words[1][j]) for i, j in links.tolist()}
    assert set(EXAMPLE_LINKS[lang]) <= linked


def test_words_are_learned_for_every_language_beside_english(tmp_path):
    aligners, dictionaries = learn_words(tmp_path, ("en", "de"))
    assert (aligners, dictionaries) == (["en-de.isogloss"], ["en-de.tsv"])
    assert io.load(tmp_path / "en-de.isogloss", expected=Aligner).source_words_
    found = read_induced(tmp_path / "en-de.tsv")
    wanted = {("strike", "streik"), ("museum", "museum"), ("volcano", "vulkan"), ("peace", "frieden")}
    assert wanted <= set(found.pairs)


@pytest.mark.parametrize(("lang", "peace"), [("de", "frieden"), ("es", "paz"), ("fr", "paix"), ("ru", "мир")])
def test_a_dictionary_has_the_best_translations_first(lang, peace):
    pairs = sample_pairs("en", lang)
    found = dictionary_of(Aligner().fit(pairs), pairs, lang)
    by_word = {}
    for (word, _), score, rank, margin in zip(
        found.pairs, found.scores, found.ranks, found.margins, strict=True
    ):
        by_word.setdefault(word, []).append((score, rank, margin))
    for entries in by_word.values():
        scores, ranks, margins = map(np.array, zip(*entries, strict=True))
        assert len(entries) <= 5
        assert (scores >= 0.25).all()
        assert ranks.tolist() == list(range(1, len(entries) + 1))
        assert np.allclose(margins, scores - np.append(scores[1:], 0.0))
        assert (margins >= 0).all()
    translations = BilingualDictionary("en", lang, found.pairs).translations
    assert translations["peace"][0] == peace
    assert {"fire", "injured", "strike"} <= translations.keys()


def test_a_translation_needs_more_than_one_sentence():
    pairs = [(["rare", "storm"], ["seltener", "sturm"]), (["storm"], ["sturm"]), (["gale"], ["böe"])]
    pairs += [(["big", "storm"], ["großer", "sturm"])]
    found = dictionary_of(Aligner().fit(pairs), pairs, "de")
    assert {("storm", "sturm"), ("gale", "böe")} == set(found.pairs)
    by_pair = dict(zip(found.pairs, found.scores.tolist(), strict=True))
    assert by_pair["storm", "sturm"] > by_pair["gale", "böe"] == pytest.approx(0.5, abs=0.01)


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
