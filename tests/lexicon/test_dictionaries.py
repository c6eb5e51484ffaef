"""Dictionaries: files, splits, coverage, seeds, and the table they are joined to."""

import gzip
import os

import numpy as np
import pytest

from isogloss.exceptions import DictionaryError
from isogloss.lexicon import (
    BilingualDictionary,
    WordVectors,
    concept_table,
    concept_views,
    find_seed,
    identical_words,
    numerals,
    read_dictionary,
    similar_words,
    write_dictionary,
)

EN_IT = BilingualDictionary(
    "en", "it", [("cat", "gatto"), ("cat", "gatta"), ("dog", "cane"), ("sun", "sole")]
)


def words(language, *some):
    return WordVectors(some, np.eye(len(some)), language)


VECTORS = {
    "en": words("en", "cat", "dog", "sun"),
    "it": words("it", "sole", "gatto", "cane", "gatta"),
    "fr": words("fr", "chat", "chien"),
}
EN_FR = BilingualDictionary("en", "fr", [("cat", "chat"), ("dog", "chien")])
IT_FR = BilingualDictionary("it", "fr", [("gatto", "chat"), ("gatta", "chat")])


@pytest.mark.parametrize(
    "text", ["cat gatto\ndog cane\n", "cat\tgatto\ndog\tcane", "\ufeffcat gatto\r\ndog  cane\r\n\r\n"]
)
def test_muse_files(tmp_path, text):
    (tmp_path / "en-it.0-5000.txt").write_bytes(text.encode())
    read = read_dictionary(tmp_path / "en-it.0-5000.txt")
    assert (read.source, read.target) == ("en", "it")
    assert read.pairs == (("cat", "gatto"), ("dog", "cane"))


def test_tables_with_names_and_splits(tmp_path):
    table = "rank\tsrc\ttgt\tsplit\n0\tcat\tgatto\ttrain\n1\thot dog\thot dog\ttest\n"
    (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(table.encode()))
    assert read_dictionary(tmp_path / "x.tsv.gz", "en", "it").pairs == (
        ("cat", "gatto"),
        ("hot dog", "hot dog"),
    )
    assert read_dictionary(tmp_path / "x.tsv.gz", split="test").pairs == (("hot dog", "hot dog"),)
    with pytest.raises(DictionaryError, match="holds no pairs"):
        read_dictionary(tmp_path / "x.tsv.gz", split="dev")


def test_columns_of_files_without_names(tmp_path):
    (tmp_path / "d.tsv").write_text("train5k\tcat\tgatto\t0.5\n")
    assert read_dictionary(tmp_path / "d.tsv", columns=(1, 2)).pairs == (("cat", "gatto"),)
    with pytest.raises(DictionaryError, match=r"d\.tsv: a line has 4 columns"):
        read_dictionary(tmp_path / "d.tsv", columns=(1, 7))
    with pytest.raises(DictionaryError, match="no column 'split'"):
        read_dictionary(tmp_path / "d.tsv", split="train")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"d\.txt: holds no pairs"),
        (b"cat gatto\ndog\n", r"d\.txt:2: 'dog' is not a pair"),
        (b"cat gatto\n\xff\xff x\n", r"d\.txt:2: is not UTF-8"),
        (b"cat\t\n", r"d\.txt:1: 'cat' is not a pair"),
    ],
)
def test_broken_files_are_named_with_the_line(tmp_path, content, message):
    (tmp_path / "d.txt").write_bytes(content)
    with pytest.raises(DictionaryError, match=message):
        read_dictionary(tmp_path / "d.txt")


def test_what_is_written_comes_back(tmp_path):
    write_dictionary(EN_IT, tmp_path / "en-it.tsv")
    assert read_dictionary(tmp_path / "en-it.tsv") == EN_IT
    assert os.listdir(tmp_path) == ["en-it.tsv"]


def test_splits_have_no_common_source_word():
    many = BilingualDictionary("a", "b", [(f"s{i % 50}", f"t{i}") for i in range(120)])
    train, held = many.split(0.2, random_state=3)
    assert len(held.translations) == 10
    assert not train.translations.keys() & held.translations.keys()
    assert sorted(train.pairs + held.pairs) == sorted(many.pairs)
    assert many.split(0.2, random_state=3)[1] == held
    with pytest.raises(ValueError, match="share=2"):
        many.split(2)


def test_coverage_counts():
    coverage = EN_IT.coverage(words("en", "cat", "sun"), words("it", "gatto", "cane"))
    assert (coverage.pairs, coverage.pairs_covered) == (4, 1)
    assert (coverage.source_words, coverage.source_covered) == (3, 2)
    assert (coverage.target_words, coverage.target_covered) == (4, 2)
    assert coverage.source_share == pytest.approx(2 / 3)


def test_a_dictionary_without_use_says_so_with_counts():
    with pytest.raises(DictionaryError, match=r"en-it is empty"):
        BilingualDictionary("en", "it", []).rows(VECTORS["en"], VECTORS["it"])
    other = words("xx", "foo", "bar")
    with pytest.raises(DictionaryError, match=r"0 of 4 pairs .*source words: 0 of 3, target words: 4 of 4"):
        EN_IT.rows(other, VECTORS["it"])
    with pytest.raises(DictionaryError, match=r"4 would, with the languages the other way round"):
        EN_IT.rows(VECTORS["it"], VECTORS["en"])
    shouted = BilingualDictionary("en", "it", [(s.upper(), t) for s, t in EN_IT.pairs])
    with pytest.raises(DictionaryError, match=r"4 would, in lower case"):
        shouted.rows(VECTORS["en"], VECTORS["it"])


def test_seeds_without_a_dictionary():
    en, de = words("en", "taxi", "a", "1984", "3.5", "house"), words("de", "1984", "taxi", "a", "haus", "3.5")
    assert identical_words(en, de).pairs == (("taxi", "taxi"), ("1984", "1984"), ("3.5", "3.5"))
    assert numerals(en, de).pairs == (("1984", "1984"), ("3.5", "3.5"))
    with pytest.raises(DictionaryError, match=r"en \(5 words\) and el \(1 words\) have no numerals"):
        numerals(en, words("el", "σπίτι"))


def test_pairs_are_rows_of_two_words_once():
    table = concept_table(VECTORS, [EN_IT, EN_IT.inverse(), EN_FR, IT_FR])
    assert table.tolist() == [
        [0, 1, -1], [0, 3, -1], [1, 2, -1], [2, 0, -1], [0, -1, 0], [1, -1, 1], [-1, 1, 0], [-1, 3, 0],
    ]  # fmt: skip


def test_complete_rows_are_an_inner_join():
    table = concept_table(VECTORS, [EN_IT, EN_FR, IT_FR], rows="complete")
    assert table.tolist() == [[0, 1, 0], [1, 2, 1]]
    alone = BilingualDictionary("en", "fr", [("sun", "chat")])
    with pytest.raises(DictionaryError, match="use rows='pairs'"):
        concept_table(VECTORS, [BilingualDictionary("en", "it", [("cat", "gatto")]), alone], rows="complete")


@pytest.mark.parametrize("rows", ["pairs", "complete"])
def test_no_row_holds_both_words_of_an_excluded_pair(rows):
    """Not even when they come together by way of a third language."""
    held = BilingualDictionary("fr", "it", [("chat", "gatto")])
    table = concept_table(VECTORS, [EN_IT, EN_FR, IT_FR], rows=rows, exclude=[held])
    assert not ((table[:, 1] == 1) & (table[:, 2] == 0)).any()
    assert len(table) == (7 if rows == "pairs" else 1)


def test_single_words_are_rows_of_their_own():
    table = concept_table(VECTORS, [EN_IT, EN_FR], monolingual=3)
    alone = table[(table >= 0).sum(axis=1) == 1]
    assert (alone >= 0).sum(axis=0).tolist() == [3, 3, 2]
    views = concept_views({name: one.matrix for name, one in VECTORS.items()}, table)
    assert views.present.tolist() == (table >= 0).tolist()
    np.testing.assert_array_equal(views["it"][0], VECTORS["it"]["gatto"])


def test_languages_that_no_dictionary_connects_are_named():
    with pytest.raises(DictionaryError, match=r"connects en/it with fr \(pairs with vectors: en-it: 4\)"):
        concept_table(VECTORS, [EN_IT])
    with pytest.raises(DictionaryError, match="none"):
        concept_table(VECTORS, [])
    with pytest.raises(ValueError, match="rows='all'"):
        concept_table(VECTORS, [EN_IT, EN_FR], rows="all")


def test_similar_spelling_joins_where_few_words_are_identical():
    names = [f"name{i:02}" for i in range(60)]
    other = words("ru", *names, "дом", "мадрид")
    found = find_seed(words("en", *names, "madrid", "house"), other)
    assert (found.identical, found.similar) == (60, 1)
    assert found.dictionary.pairs[-1] == ("madrid", "мадрид")
    assert str(found) == "60 pairs of identical words and 1 of similar spelling after transliteration"


def test_many_identical_words_need_no_others():
    names = [f"name{i:04}" for i in range(1000)]
    found = find_seed(words("en", *names, "madrid"), words("ru", *names, "мадрид"))
    assert (found.identical, found.similar) == (1000, 0)


def test_too_few_pairs_found_by_spelling_are_refused_with_counts():
    with pytest.raises(DictionaryError, match=r"en \(2 words\) and ru \(2 words\) have 1 pairs of identical"):
        find_seed(words("en", "taxi", "house"), words("ru", "taxi", "дом"))


def test_spelling_is_compared_after_transliteration():
    el = words("el", "σπίτι", "παρίσι", "παρίς", "ώρα")
    assert similar_words(words("en", "president", "paris", "ora"), el) == [("paris", "παρίς")]
