"""Dictionaries from vectors and from sentence pairs, in one."""

import numpy as np
import pytest

from isogloss.exceptions import DictionaryError
from isogloss.lexicon import AlignedLexicon, InducedDictionary, combine, read_aligned_lexicon

HEADER = "source\ttarget\tp(target|source)\tp(source|target)\tcount\n"


def induced(*rows):
    """Rows of source, target, score and rank."""
    s, t, scores, ranks = zip(*rows, strict=True)
    return InducedDictionary(
        "en", "fr", tuple(zip(s, t, strict=True)), np.array(scores), np.array(ranks), np.ones(len(s))
    )


def best(found):
    return {s: t for (s, t), rank in zip(found.pairs, found.ranks, strict=True) if rank == 1}


VECTORS = induced(
    ("cat", "chien", 0.5, 1), ("cat", "chat", 0.45, 2), ("sun", "lune", 0.5, 1), ("sky", "ciel", 0.3, 1)
)


def test_many_links_outweigh_the_vectors_and_few_do_not():
    lexicon = AlignedLexicon.from_rows([("cat", "chat", 20.0), ("sun", "soleil", 0.5), ("sea", "mer", 1.0)])
    found = combine(VECTORS, lexicon)
    assert best(found) == {"cat": "chat", "sun": "lune", "sky": "ciel", "sea": "mer"}


def test_shares_of_a_word_are_probabilities_in_order():
    lexicon = AlignedLexicon.from_rows([("cat", "chat", 2.0), ("cat", "matou", 1.0)])
    found = combine(VECTORS, lexicon, k=3)
    of_cat = found.scores[[s == "cat" for s, _ in found.pairs]]
    assert of_cat.sum() == pytest.approx(1)
    assert (np.diff(of_cat) <= 0).all()
    assert found.margins[0] == pytest.approx(of_cat[0] - of_cat[1])
    assert found.ranks[:3].tolist() == [1, 2, 3]


def test_repeated_rows_are_added():
    rows = [("cat", "chat", 1.0), ("cat", "chien", 1.5), ("cat", "chat", 1.0)]
    assert AlignedLexicon.from_rows(rows).counts == {"cat": {"chat": 2.0, "chien": 1.5}}


def test_a_lexicon_of_other_languages_is_refused():
    with pytest.raises(DictionaryError, match="none of the 1 source words"):
        combine(VECTORS, AlignedLexicon.from_rows([("chat", "cat", 3.0)]))


def test_tables_are_read_and_others_refused(tmp_path):
    path = tmp_path / "en-fr.tsv"
    path.write_text(f"{HEADER}cat\tchat\t.9\t.8\t12.5\n")
    read = read_aligned_lexicon(path)
    assert (read.source, read.target, read.counts) == ("en", "fr", {"cat": {"chat": 12.5}})
    path.write_text(f"{HEADER}cat\tchat\n")
    with pytest.raises(DictionaryError, match=r"en-fr\.tsv:2: 'cat\\tchat' is not a line"):
        read_aligned_lexicon(path)
    path.write_text("cat\tchat\n")
    with pytest.raises(DictionaryError, match=r"en-fr\.tsv:1: expected the columns source, target"):
        read_aligned_lexicon(path)
