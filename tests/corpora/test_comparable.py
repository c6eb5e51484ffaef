"""Comparable corpora: in memory, built, mapped, selected."""

import dataclasses
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from isogloss.corpora import (
    ComparableCorpus,
    Document,
    InMemoryCorpus,
    JsonLines,
    StringTable,
    build_corpus,
    save_corpus,
)
from isogloss.corpora._counting import in_order
from isogloss.corpora._summary import rank_ratio
from isogloss.exceptions import CorpusError

TEXTS = {
    "en": ["the old house", "a cat and a cat", None, "rain", "house 7"],
    "de": ["das alte haus", None, "regen regen", "der regen", "haus 7"],
    "sl": [None, "mačka", "dež", None, "hiša 7"],
}
IDS = ["house", "cat", "shower", "rain", "seven"]


@dataclasses.dataclass(frozen=True)
class Words:
    """A tokeniser with settings."""

    lower: bool = True

    def __call__(self, text):
        return (text.lower() if self.lower else text).split()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, so that files have short names; nothing waits for the disk."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    return tmp_path


@pytest.fixture
def corpus():
    return InMemoryCorpus(TEXTS, Words(), ids=IDS, titles={"en": ["H", None, None, "R", "S"]})


def documents(order=None):
    """The texts as documents, in some order of the rows."""
    return {
        language: [
            Document(IDS[row], texts[row], language, IDS[row].upper())
            for row in (order or range(len(IDS)))
            if texts[row] is not None
        ]
        for language, texts in TEXTS.items()
    }


def as_tables(corpus):
    """A corpus by names, whatever the order of its rows."""
    out = {}
    for language in corpus.languages:
        names = [corpus.ids[row] for row in corpus.rows(language)]
        counts, words = corpus.matrix(language).toarray(), list(corpus.vocabulary(language))
        assert counts.shape == (len(names), len(words))
        for name, line, title in zip(names, counts, corpus.titles(language), strict=True):
            found = {word: int(count) for word, count in zip(words, line, strict=True) if count}
            out[language, name] = (found, title)
    return out


def test_counts_in_memory(corpus):
    assert corpus.presence.tolist() == [[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 0], [1, 1, 1]]
    assert corpus.matrix("en").dtype == np.float32
    assert as_tables(corpus)["en", "cat"] == ({"a": 2, "and": 1, "cat": 2}, "")
    assert as_tables(corpus)["en", "rain"] == ({"rain": 1}, "R")
    assert corpus.rows(["en", "sl"]).tolist() == [1, 4]
    assert corpus.tokeniser("de") == {"lower": True}
    assert corpus.pair_sizes().tolist() == [[4, 3, 2], [3, 4, 2], [2, 2, 3]]
    with pytest.raises(ValueError, match="no language 'fr'; the corpus has en, de, sl"):
        corpus.matrix("fr")


def test_the_built_corpus_is_the_one_in_memory(folder, corpus):
    built = build_corpus(documents(), "c", Words(), min_words=1)
    ours, theirs = as_tables(built), as_tables(corpus)
    assert {key: counts for key, (counts, _) in ours.items()} == {
        key: counts for key, (counts, _) in theirs.items()
    }
    assert {title for _, title in ours.values()} == {name.upper() for name in IDS}
    assert list(built.ids) == ["house", "cat", "rain", "seven", "shower"]
    assert built.tokeniser("sl") == {"lower": True}
    assert isinstance(built.matrix("en").data, np.memmap | np.ndarray)
    assert os.listdir(folder) == ["c"]
    built.check()


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(len(IDS))), shard=st.integers(1, 6))
def test_order_and_shards_do_not_matter(tmp_path_factory, order, shard):
    place = tmp_path_factory.mktemp("any") / "c"
    built = build_corpus(documents(order), place, Words(), min_words=1, shard_size=shard)
    counted = InMemoryCorpus(
        TEXTS, Words(), ids=IDS, titles={code: [x.upper() for x in IDS] for code in TEXTS}
    )
    assert as_tables(built) == as_tables(counted)
    built.check()


def test_words_in_few_documents_and_rows_in_few_languages_go(corpus):
    built = build_corpus(documents(), "c", Words(), min_words=1, min_df=2, min_languages=3)
    assert list(built.ids) == ["seven"]
    assert list(built.vocabulary("en")) == []
    built = build_corpus(documents(), "d", Words(), min_words=1, min_df=2)
    assert list(built.vocabulary("de")) == ["haus", "regen"]
    assert built.matrix("de").toarray().sum() == 5


def test_stubs_and_duplicates_are_counted():
    given_twice = [Document("a", "one two"), Document("a", "three four"), Document("b", "stub")]
    built = build_corpus({"en": given_twice, "de": [Document("a", "x y")]}, "c", str.split, min_words=2)
    assert as_tables(built)["en", "a"][0] == {"one": 1, "two": 1}
    said = built.header["languages"]["en"]
    assert said["read"] == 3
    assert said["left_out"] == {"stubs": 1, "duplicates": 1}
    with pytest.raises(CorpusError, match=r"no document in 'en' is left of 3 .*3 stubs.*lower min_words"):
        build_corpus({"en": given_twice, "de": [Document("a", "x y")]}, "d", str.split, min_words=3)
    assert not os.path.exists("d")


def test_a_document_needs_as_many_different_words_as_asked_for():
    twenty = " ".join(f"w{k}" for k in range(20))
    built = build_corpus(
        {"en": [Document("a", twenty), Document("b", twenty.replace("w0", "w1"))]}, "c", str.split
    )
    assert list(built.ids) == ["a"]


def test_rows_by_alignment():
    rows = {("en", "House"): "Q1", ("de", "Haus"): "Q1", ("de", "Villa"): "Q1"}
    texts = {
        "en": [Document("House", "a house"), Document("Cat", "a cat")],
        "de": [Document("Haus", "ein haus"), Document("Villa", "eine villa")],
    }
    built = build_corpus(texts, "c", str.split, align=lambda *key: rows.get(key), min_words=1)
    assert as_tables(built).keys() == {("en", "Q1"), ("de", "Q1")}
    assert built.header["languages"]["en"]["left_out"] == {"without links": 1}
    assert built.header["languages"]["de"]["left_out"] == {"duplicates": 1}


class PowerError(Exception):
    """Stands for a loss of power."""


class Power:
    """A tokeniser that fails after some texts, and counts what it was asked."""

    def __init__(self, texts):
        self.left = texts

    def __call__(self, text):
        if self.left == 0:
            raise PowerError
        self.left -= 1
        return text.split()


@pytest.mark.parametrize("texts", range(11))
def test_an_interrupted_build_is_resumed(texts):
    options = {"min_words": 1, "shard_size": 2}
    with pytest.raises(PowerError):
        build_corpus(documents(), "c", Power(texts), **options)
    assert not os.path.exists("c")
    rest = Power(100)
    built = build_corpus(documents(), "c", rest, **options)
    whole = build_corpus(documents(), "d", Power(100), **options)
    assert as_tables(built) == as_tables(whole)
    assert built.header == whole.header
    assert 100 - rest.left <= 11 - texts + 2
    assert sorted(os.listdir()) == ["c", "d"]


def test_an_interrupted_build_is_not_resumed_with_other_options(folder):
    (folder / "en.jsonl").write_text('{"id": "a", "text": "x"}\n')
    (folder / "de.jsonl").write_text('{"id": "a", "text": "y"}\n')
    readers = {code: JsonLines(f"{code}.jsonl", lang=code) for code in ("en", "de")}
    with pytest.raises(PowerError):
        build_corpus(readers, "c", Power(1), min_words=1)
    with pytest.raises(CorpusError, match=r"c\.partial: .* differs from this one in min_words; .*restart"):
        build_corpus(readers, "c", Power(9), min_words=0)
    (folder / "en.jsonl").write_text('{"id": "a", "text": "xx"}\n')
    with pytest.raises(CorpusError, match=r"differs from this one in en;"):
        build_corpus(readers, "c", Power(9), min_words=1)
    assert as_tables(build_corpus(readers, "c", Power(9), min_words=1, restart=True))["en", "a"][0] == {
        "xx": 1
    }


def test_a_build_that_failed_before_it_counted_anything_is_not_in_the_way(folder):
    with pytest.raises(CorpusError, match="no document in 'en' is left"):
        build_corpus({"en": []}, "c", Words(), min_words=3)
    assert len(build_corpus(documents(), "c", Words(), min_words=1))


def test_a_damaged_shard_is_named(folder):
    with pytest.raises(PowerError):
        build_corpus(documents(), "c", Power(4), min_words=1, shard_size=2)
    shard = folder / "c.partial" / "en" / "000001.npz"
    shard.write_bytes(shard.read_bytes()[:-100])
    with pytest.raises(CorpusError, match=r"000001\.npz: is damaged"):
        build_corpus(documents(), "c", Power(9), min_words=1, shard_size=2)


def test_processes_give_the_same():
    many = {"en": [Document(str(row), f"w{row % 7} w{row % 11} x") for row in range(500)]}
    one = build_corpus(many, "a", Words(), min_words=1)
    two = build_corpus(many, "b", Words(), min_words=1, n_jobs=2)
    assert as_tables(one) == as_tables(two)


def test_nothing_is_written_over(corpus):
    save_corpus(corpus, "c")
    with pytest.raises(CorpusError, match="c: already exists"):
        save_corpus(corpus, "c")
    with pytest.raises(CorpusError, match="c: already exists"):
        build_corpus(documents(), "c", Words())
    with pytest.raises(ValueError, match=r"'\.\./x' is not a code"):
        build_corpus({"../x": []}, "d", Words())


def test_saved_and_opened(corpus):
    save_corpus(corpus, "c")
    opened = ComparableCorpus("c")
    assert as_tables(opened) == as_tables(corpus)
    assert (opened.presence == corpus.presence).all()
    assert repr(opened) == "ComparableCorpus(5 rows; en 4, de 4, sl 3)"
    assert not opened.matrix("en").data.flags.writeable
    opened.check()


@pytest.mark.parametrize(
    "name",
    ["presence.npy", "ids.text.npy", "de/indptr.npy", "de/indices.npy", "de/data.npy", "sl/words.text.npy"],
)
def test_files_that_are_cut_short_are_named(folder, corpus, name):
    save_corpus(corpus, "c")
    path = folder / "c" / name
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(CorpusError, match=name.replace(".", r"\.")):
        ComparableCorpus("c").check()


def test_damage_inside_is_found(folder, corpus):
    save_corpus(corpus, "c")
    indices = np.load("c/de/indices.npy")
    for spoiled in (indices + 100, indices - 1, np.zeros_like(indices)):
        np.save("c/de/indices.npy", spoiled)
        with pytest.raises(CorpusError, match="de: the counts are damaged"):
            ComparableCorpus("c").check()
    np.save("c/de/indices.npy", indices.astype(np.int64))
    with pytest.raises(CorpusError, match=r"expected .* int32"):
        ComparableCorpus("c").matrix("de")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("{", "is damaged"),
        ("[]", "is not the header"),
        (
            '{"format": "isogloss comparable corpus", "version": 9}',
            "version 9; this isogloss reads version 1",
        ),
        ('{"format": "isogloss comparable corpus", "version": 1}', "is damaged"),
    ],
)
def test_bad_headers(folder, corpus, header, said):
    save_corpus(corpus, "c")
    (folder / "c" / "corpus.json").write_text(header)
    with pytest.raises(CorpusError, match=said):
        ComparableCorpus("c")
    with pytest.raises(CorpusError, match="absent: is not a corpus"):
        ComparableCorpus("absent")


def test_selections(corpus):
    save_corpus(corpus, "c")
    for whole in (corpus, ComparableCorpus("c")):
        part = whole.select([4, 0, 2], ["sl", "en"])
        assert part.ids == ["seven", "house", "shower"]
        assert part.presence.tolist() == [[1, 1], [0, 1], [1, 0]]
        everything = as_tables(whole)
        assert as_tables(part) == {
            (language, name): everything[language, name]
            for language, name in [("sl", "seven"), ("sl", "shower"), ("en", "seven"), ("en", "house")]
        }
        assert as_tables(part.select([True, False, False], ["en"])).keys() == {("en", "seven")}
        with pytest.raises(ValueError, match="no language 'de'; the corpus has sl, en"):
            part.matrix("de")
        with pytest.raises(ValueError, match="1 rows are chosen again"):
            whole.select([0, 0])
        with pytest.raises(TypeError, match="expected numbers or a mask"):
            whole.select([0.5])
    save_corpus(corpus.select([1, 0]), "d")
    assert as_tables(ComparableCorpus("d")) == as_tables(corpus.select([0, 1]))


def test_split_by_share_number_and_pairs(corpus):
    for test, size in [(0.4, 2), (3, 3)]:
        train, held = corpus.split(test, random_state=1)
        assert len(held) == size
        assert sorted([*train.ids, *held.ids]) == sorted(IDS)
        again = corpus.split(test, random_state=1)[1]
        assert again.ids == held.ids
    assert len({tuple(corpus.split(0.4, random_state=seed)[1].ids) for seed in range(9)}) > 1
    train, held = corpus.split(pairs=[("en", "sl")])
    assert held.ids == ["cat", "seven"]
    assert train.pair_sizes()[0, 2] == 0
    for wrong in (0, 1.0, -2, 5):
        with pytest.raises(ValueError, match=r"expected"):
            corpus.split(wrong)


def test_views(corpus):
    views = corpus.views()
    assert views.names == ("en", "de", "sl")
    assert list(views.ids) == IDS
    assert (views.present == corpus.presence).all()
    assert np.shares_memory(views["de"].data, corpus.matrix("de").data)
    doubled = corpus.views(lambda counts, language: counts * (2 if language == "sl" else 1), ["sl", "en"])
    assert doubled["sl"].sum() == 2 * views["sl"].sum()
    assert doubled["en"].sum() == views["en"].sum()
    assert doubled.present.tolist() == corpus.presence[:, [2, 0]].tolist()


def test_sizes_and_ranks():
    rng = np.random.default_rng(0)
    own = [" ".join(f"w{k}" for k in rng.integers(0, 500, 30)) for _ in range(40)]
    made = [f"leto {k % 4} mesto" for k in range(40)]
    corpus = InMemoryCorpus(
        {"en": own, "ht": made, "pms": [None] * 40, "sl": [*own[:30], *[None] * 10]}, str.split
    )
    summary = corpus.info(hub="en")
    assert summary.ranks["ht"].hub == 1
    assert summary.ranks["ht"].language == pytest.approx(4 / 6)
    assert (summary.ranks["sl"].rows, summary.ranks["sl"].language) == (30, 1)
    assert "pms" not in summary.ranks
    said = summary.as_dict()
    assert said["pairs"] == {"en-ht": 40, "en-pms": 0, "en-sl": 30, "ht-pms": 0, "ht-sl": 30, "pms-sl": 0}
    assert said["languages"]["ht"] == {"documents": 40, "words": 6, "counts": 120}
    assert corpus.info().hub == "en"
    assert corpus.info(max_rows=0).ranks == {}
    assert corpus.info(max_rows=10).ranks["ht"].rows == 10
    with pytest.raises(ValueError, match="no language 'fr'"):
        corpus.info(hub="fr")


@given(rank=st.integers(1, 6), rows=st.integers(1, 20), columns=st.integers(1, 20), seed=st.integers(0, 99))
def test_ranks_are_those_of_linear_algebra(rank, rows, columns, seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, (rows, rank)) @ rng.integers(0, 3, (rank, columns))
    used = counts[:, counts.any(axis=0)]
    limit = min(used.shape)
    expected = np.linalg.matrix_rank(used) / limit if limit else 0.0
    assert rank_ratio(csr_matrix(counts)) == pytest.approx(expected)


def test_shared_words_go(corpus):
    strict = corpus.without_shared_words()
    tables = as_tables(strict)
    assert tables["en", "seven"][0] == {"house": 1}
    assert tables["de", "seven"][0] == {"haus": 1}
    assert tables["sl", "shower"] == as_tables(corpus)["sl", "shower"]


@pytest.mark.parametrize(
    ("texts", "options", "said"),
    [
        ({}, {}, "no texts given"),
        ({"en": ["a"], "de": []}, {}, "unequal numbers of rows: {'en': 1, 'de': 0}"),
        ({"en": ["a", "b"]}, {"ids": ["x", "x"]}, "2 ids, 1 of them different, for 2 rows"),
        (
            {"en": ["a"]},
            {"tokenise": {"de": str.split}},
            "no tokeniser for 'en'; there are tokenisers for de",
        ),
    ],
)
def test_bad_texts(texts, options, said):
    with pytest.raises(ValueError, match=said):
        InMemoryCorpus(texts, **{"tokenise": str.split, **options})


@given(st.lists(st.text()))
def test_strings_come_back(strings):
    table = StringTable.of(strings)
    assert list(table) == strings
    assert [table[row] for row in range(len(table))] == strings
    assert list(table[::-1]) == strings[::-1]


def test_strings_with_halves_of_pairs_and_many():
    assert list(StringTable.of(["\ud800", "a"])) == ["\ud800", "a"]
    many = [str(k) for k in range(70_000)]
    assert list(StringTable.of(many)) == many
    with pytest.raises(IndexError):
        StringTable.of(["a"])[1]


@given(st.lists(st.lists(st.sampled_from("abcdefg"))))
def test_counting_agrees_with_counting(documents):
    counts, words = in_order(documents)
    assert words == sorted({word for document in documents for word in document})
    expected = [[document.count(word) for word in words] for document in documents]
    assert counts.toarray().tolist() == expected
