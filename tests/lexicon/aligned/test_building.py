"""Entries from links: translations and their figures, forms, names, phrases, examples."""

import numpy as np
import pytest
from scipy.stats.contingency import chi2_contingency

from isogloss.lexicon.aligned import DictionaryRules, build_dictionary
from isogloss.lexicon.aligned._association import RANKINGS
from tests.lexicon.aligned.text import COLA, TAIL, aligned, tale


@pytest.fixture(scope="module")
def dictionary():
    return build_dictionary(aligned(tale()))


def entry(entries, word):
    return next(one for one in entries if one.headword == word)


def test_figures_are_shares_of_occurrences(dictionary):
    sees = entry(dictionary.source, "sees")
    assert [one.text for one in sees.translations] == ["mira"]
    assert sees.translations[0].count == sees.frequency == len(sees.tokens)
    for side in (dictionary.source, dictionary.target):
        for one in side:
            assert [t.probability for t in one.translations] == [
                t.count / one.frequency for t in one.translations
            ]
            assert sum(t.count for t in one.translations) <= one.frequency
            assert sum(count for _, count in one.forms) == one.frequency


def test_entries_are_ordered_by_frequency_and_point_to_each_other(dictionary):
    counts = [one.frequency for one in dictionary.source]
    assert counts == sorted(counts, reverse=True)
    for one in dictionary.source:
        for translation in one.translations:
            if translation.entry is not None:
                assert dictionary.target[translation.entry].headword == translation.text


def test_forms_with_a_stem_and_translations_in_common_are_grouped(dictionary):
    assert {form for form, _ in entry(dictionary.source, "dog").forms} == {"dog", "dogs"}
    assert {form for form, _ in entry(dictionary.target, "perro").forms} == {"perro", "perros"}


def test_words_that_are_spelled_alike_and_mean_other_things_are_not_grouped():
    rows = [
        ("light", "luz", "0-0"),
        ("lightly", "poco", "0-0"),
        ("lights", "luces", "0-0"),
        ("lights", "luz", "0-0"),
    ]
    found = build_dictionary(aligned(rows * 3))
    assert entry(found.source, "lightly").forms == (("lightly", 3),)
    assert {form for form, _ in entry(found.source, "lights").forms} == {"light", "lights"}
    apart = build_dictionary(aligned(rows * 3), DictionaryRules(group_forms=False))
    assert entry(apart.source, "lights").forms == (("lights", 6),)


def test_names_that_begin_alike_in_both_languages_are_not_grouped():
    rows = [(f"then {name} came", f"tehdy {jmeno} prisel", "0-0 1-1 2-2") for name, jmeno in _NAMES]
    filler = [(" ".join(TAIL), " ".join(COLA), " ".join(f"{k}-{k}" for k in range(len(TAIL))))] * 30
    found = build_dictionary(aligned(rows * 4 + filler))
    assert {name for name, _ in _NAMES} <= {one.headword for one in found.source}
    assert len(entry(found.target, "Abiezer").forms) == 2


_NAMES = [("Abihu", "Abihu"), ("Abihud", "Abihud"), ("Abiezer", "Abiezer"), ("Abiezer", "Abiezera")]


def test_names_are_written_with_capitals_where_no_sentence_begins(dictionary):
    names = {one.headword for one in dictionary.source if one.name}
    assert names == {"Anna", "Boris", "Clara"}
    assert entry(dictionary.source, "The").name is False


def test_a_language_that_writes_nouns_with_capitals_has_names_by_the_other_language():
    rows = [
        ("the house and Anna sing", "das Haus und Anna singen", "0-0 1-1 2-2 3-3 4-4"),
        ("a dog or bird with Otto", "ein Hund oder Vogel mit Otto", "0-0 1-1 2-2 3-3 4-4 5-5"),
    ]
    found = build_dictionary(aligned(rows * 20))
    assert {one.headword for one in found.target if one.name} == {"Anna", "Otto"}


def test_a_phrase_that_is_one_word_elsewhere_is_listed_under_its_words():
    rows = [("many give thanks here", "muchos agradecen aqui", "0-0 1-1 2-1 3-2")] * 4
    rows += [("people give bread", "personas dan pan", "0-0 1-1 2-2")] * 20
    rows += [("her thanks came", "sus gracias vinieron", "0-0 1-1 2-2")] * 20
    other = [" ".join(f"{letter}{k}" for letter in "abcdefghij") for k in range(300)]
    found = build_dictionary(aligned(rows + [(one, one.upper(), "") for one in other]))
    for word in ("give", "thanks"):
        phrases = {one.text: (one.translation, one.count) for one in entry(found.source, word).phrases}
        assert phrases["give thanks"] == ("agradecen", 4)
    assert entry(found.target, "agradecen").translations[0].text == "give thanks"


def test_examples_show_the_word_and_its_translation(dictionary):
    text = dictionary.text
    for one in dictionary.source:
        for translation in one.translations:
            for example in translation.examples:
                source = " ".join(text.source.texts[example.sentence][a:b] for a, b in example.source)
                assert source.lower() in {form.lower() for form, _ in one.forms}
            sentences = [example.sentence for example in translation.examples]
            assert len(sentences) == len(set(sentences)) > 0


def test_rare_chance_translations_come_after_those_that_are_significant():
    rows = [("x a", "y b", "0-0 1-1")] * 3 + [("x", "the", "0-0")] * 3 + [("c", "the", "0-0")] * 500
    found = build_dictionary(aligned(rows))
    assert [one.text for one in entry(found.source, "x").translations] == ["y", "the"]


def test_the_likelihood_ratio_is_that_of_scipy(rng):
    table = rng.integers(1, 60, size=(2, 2))
    both, source, target, total = table[0, 0], table[0].sum(), table[:, 0].sum(), table.sum()
    expected = chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic
    found = RANKINGS["likelihood"](np.array([both]), np.array([source]), np.array([target]), total)
    assert abs(found[0]) == pytest.approx(expected)


def test_the_same_text_makes_the_same_dictionary(dictionary):
    again = build_dictionary(aligned(tale()))
    for one, other in zip(dictionary.source + dictionary.target, again.source + again.target, strict=True):
        assert (one.headword, one.translations, one.phrases) == (
            other.headword,
            other.translations,
            other.phrases,
        )


def test_a_text_without_links_makes_entries_without_translations():
    found = build_dictionary(aligned([("a b", "c d", "")] * 3))
    assert [one.translations for one in found.source] == [(), ()]
    assert build_dictionary(aligned([])).source == ()
