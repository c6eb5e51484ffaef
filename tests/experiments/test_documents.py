"""The experiments on documents keep test rows out, and write their reports at toy size."""

import gzip
import json

import numpy as np
import pytest

from experiments import (
    documents_data,
    documents_defaults,
    documents_figure,
    documents_linked,
    documents_news,
    documents_retrieval,
    documents_search,
    documents_tables,
    documents_topics,
    documents_verdicts,
)
from tests.similarity.data import comparable_texts

LANGUAGES = ("en", "de", "es", "it", "cs", "el")
ALL = dict.fromkeys([*LANGUAGES, *documents_tables.LANGUAGES])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Pages and news in the forms of the shared data."""
    folder = tmp_path_factory.mktemp("data")
    pages, news = folder / "docs" / "lohelp", folder / "parallel" / "ntrex"
    pages.mkdir(parents=True)
    news.mkdir(parents=True)
    texts = comparable_texts(n=200, length=30, languages=tuple(ALL), missing=0.1)
    for code, column in texts.items():
        records = [
            {"id": f"p{row}", "title": f"Page {row}", "text": text}
            for row, text in enumerate(column)
            if text is not None
        ]
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (pages / f"{code}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    sentences = comparable_texts(n=40, languages=("en", "de"), seed=1)
    for code in ("en", "de"):
        named = [f"{text} Name{row:03d}" for row, text in enumerate(sentences[code])]
        (news / f"{documents_news.NTREX[code]}.txt.gz").write_bytes(gzip.compress("\n".join(named).encode()))
    pairs = comparable_texts(n=600, languages=("en", "de"), seed=2)
    lines = "".join(f"test\t{en}\t{de}\n" for en, de in zip(pairs["en"], pairs["de"], strict=True))
    (folder / "parallel" / "tatoeba").mkdir()
    (folder / "parallel" / "tatoeba" / "en-de.tsv.gz").write_bytes(gzip.compress(lines.encode()))
    documents = "\n".join(f"d{row // 2}" for row in range(40))
    (news / "DOCUMENT_IDS.txt.gz").write_bytes(gzip.compress(documents.encode()))
    return folder


def test_parts_do_not_overlap_and_the_part_for_choosing_is_always_the_same():
    one, other = documents_data.parts(500, 0), documents_data.parts(500, 1)
    assert sorted(np.concatenate(one).tolist()) == list(range(500))
    assert one.valid.tolist() == other.valid.tolist()
    assert one.test.tolist() != other.test.tolist()
    assert not set(one.test) & set(one.train) | set(one.test) & set(one.valid)


def test_separated_languages_have_no_common_row():
    texts = {code: ["text"] * 60 for code in LANGUAGES}
    groups = documents_retrieval.GROUPS
    apart = documents_data.keep_apart(texts, groups, 0)
    for row in range(60):
        present = {code for code in LANGUAGES if apart[code][row] is not None}
        assert {"en", "it"} <= present
        assert not (present & set(groups[0]) and present & set(groups[1]))
    thin = documents_data.thinned(texts, ["de", "cs"], 0)
    assert thin["de"] == thin["cs"]
    assert 15 < sum(text is not None for text in thin["de"]) < 45


def test_halves_make_the_whole():
    first, second = documents_data.halves({"en": ["a b c d e", None]}, np.array([0, 1]))
    assert first["en"] == ["a b", None]
    assert second["en"] == ["c d e", None]


@pytest.mark.slow
def test_retrieval_writes_its_report(data, tmp_path):
    documents_retrieval.main([str(tmp_path), "--quick", "--data", str(data)])
    report = tmp_path / "documents_retrieval"
    assert (report / "amrr.png").stat().st_size > 10_000
    figures = json.loads((report / "report.json").read_text())
    assert figures["amrr"]["strict | hub CCA | 20"][0] > 0.2
    assert "holds" in (report / "report.md").read_text()


@pytest.mark.slow
def test_searches_are_set_beside_their_evaluation(data, tmp_path):
    documents_search.main([str(tmp_path), "--quick", "--data", str(data)])
    report = tmp_path / "documents_search"
    figures = json.loads((report / "report.json").read_text())
    assert figures["searches"]["strict words, strict, searched"][0] > 0.2
    assert set(figures["channels"]) == {
        f"{words}, {setting}, {channel}"
        for words in ("strict words", "all words")
        for setting in ("strict", "halves", "apart")
        for channel in ("latent", "names", "100 pages", "all pages")
    }
    assert "CSLS, all others" in (report / "report.md").read_text()


def test_news_writes_its_report(data, tmp_path):
    arguments = [str(tmp_path), "--quick", "--data", str(data), "--languages", "en,de"]
    documents_news.main(arguments)
    figures = json.loads((tmp_path / "documents_news" / "report.json").read_text())
    assert figures["documents"]["amrr"]["names"] > 0.5


def test_tables_of_separated_languages_are_written(data, tmp_path):
    documents_tables.main([str(tmp_path), "--quick", "--data", str(data)])
    report = tmp_path / "documents_tables"
    assert (report / "apart.png").stat().st_size > 10_000
    figures = json.loads((report / "report.json").read_text())
    assert figures["apart"]["hub CCA | 20"][0]["pairs"]["hu-sv"]["mrr"] > 0.2
    text = (report / "report.md").read_text()
    assert "- holds: the four pairs across share no page to learn from" in text
    assert "Table 8.5" in text
    assert "Table 8.7" in text


def test_topics_are_judged_beside_other_models(data, tmp_path):
    documents_topics.main([str(tmp_path), "--quick", "--data", str(data)])
    report = tmp_path / "documents_topics"
    assert (report / "topics.png").stat().st_size > 5_000
    figures = json.loads((report / "report.json").read_text())
    assert figures.keys() == documents_topics.METHODS.keys()
    assert figures["topics, Hellinger"][0]["amrr"] > 0.2
    assert figures["hub CCA"][0]["coherence"] > 0
    assert "Topic models with half of the languages missing" in (report / "report.md").read_text()


def test_a_space_tuned_by_links_is_judged_beside_the_plain_one(data, tmp_path):
    documents_linked.main([str(tmp_path), "--quick", "--data", str(data)])
    report = tmp_path / "documents_linked"
    figures = json.loads((report / "report.json").read_text())
    plain = figures["plain, 30 pages"]
    tuned = [one for name, one in figures.items() if name.startswith("tuned, 30 pages")]
    assert len(tuned) == 2
    assert all(one["mrr"] > 0.5 * plain["mrr"] > 0 for one in tuned)
    assert "A space tuned by links" in (report / "report.md").read_text()


def test_half_of_the_versions_are_taken_away():
    texts = {"en": ["a"] * 400, "de": ["b"] * 200 + [None] * 200}
    kept = documents_topics.half_missing(texts, 0)
    here = np.array([[text is not None for text in column] for column in kept.values()])
    assert here.any(axis=0).all()
    assert not here[1, 200:].any()
    assert 180 < here[:, :200].sum() < 300


def test_the_figure_of_dimensions_is_written(data, tmp_path):
    documents_figure.main([str(tmp_path), "--quick", "--data", str(data)])
    report = tmp_path / "documents_figure"
    assert (report / "figure_8_3.png").stat().st_size > 10_000
    figures = json.loads((report / "report.json").read_text())
    assert figures["strict | hub CCA | 10"][0] > 0.2
    assert "k-means lags" in (report / "report.md").read_text()


@pytest.fixture(scope="module")
def short_texts(tmp_path_factory):
    """Paragraphs of help pages, and pairs of sentences, in the forms of the shared data."""
    folder = tmp_path_factory.mktemp("short")
    (folder / "docs" / "lohelp").mkdir(parents=True)
    pages, pairs = (folder / "parallel" / name for name in ("lohelp", "tatoeba"))
    pages.mkdir(parents=True)
    pairs.mkdir()
    codes = tuple(dict.fromkeys([*documents_defaults.PARAGRAPHS, *documents_defaults.TATOEBA]))
    texts = comparable_texts(n=240, topics=8, languages=codes)
    ids = "\n".join(f"page{row // 7}#par{row}" for row in range(240))
    (pages / "ids.txt.gz").write_bytes(gzip.compress(ids.encode()))
    for code in documents_defaults.PARAGRAPHS:
        lines = ["" if row % 50 == 49 else text for row, text in enumerate(texts[code])]
        (pages / f"{code}.txt.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    for code in documents_defaults.TATOEBA:
        lines = [f"train\t{texts['en'][row]}\t{texts[code][row]}" for row in range(240) if row % 5]
        (pairs / f"en-{code}.tsv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    return folder


def test_the_defaults_are_compared_on_short_texts(short_texts, tmp_path):
    corpora = ["--corpora", "paragraphs,sentences"]
    documents_defaults.main([str(tmp_path), "--quick", "--data", str(short_texts), *corpora])
    report = tmp_path / "documents_defaults"
    assert (report / "defaults.png").stat().st_size > 10_000
    figures = json.loads((report / "report.json").read_text())
    assert figures["paragraphs"]["the default"] > 0.2
    assert "the default above plain" in (report / "report.md").read_text()


def test_groups_of_lines_stay_in_their_page_and_lack_what_lacks():
    groups = documents_defaults.successive(["a", "a", "a", "b", "b"], 2)
    assert groups == [[0, 1], [3, 4]]
    columns = {"en": ["x", "y", "z", "u", "v"], "de": ["X", "", "Z", "", ""]}
    assert documents_defaults.grouped(columns, groups, whole=True)["de"] == [None, None]
    assert documents_defaults.grouped(columns, groups, whole=False)["de"] == ["X", None]


def test_missing_data_are_reported(tmp_path):
    with pytest.raises(SystemExit, match="set ISOGLOSS_DATA"):
        documents_data.data_folder(tmp_path)


def two_seeds(hub, names, both):
    """Figures of one pair of languages in one setting, for two seeds."""
    found = {"hub CCA": hub, "names": names, "hub CCA and names": both}
    return {("strict", name, 5): [{("en", "de"): v} for v in values] for name, values in found.items()}


def test_gains_are_those_of_each_seed():
    figures = two_seeds([0.6, 0.5], [0.5, 0.2], [0.7, 0.6])
    pair = ("hub CCA", "names")
    np.testing.assert_allclose(documents_verdicts.gains(figures, "strict", pair, 5), [0.2, 1.5])


def test_a_combination_is_judged_by_the_seed_where_it_is_worst():
    good_on_average = two_seeds([0.5, 0.5], [0.1, 0.6], [0.9, 0.59])
    assert documents_verdicts.margin(good_on_average, "strict", 5) == pytest.approx(-0.01)


def test_a_language_added_later_is_judged_by_every_seed():
    assert "does not hold" in documents_verdicts.adding_claim("el", [0.9, 0.8], [0.9, 0.9])
    assert "does not hold" not in documents_verdicts.adding_claim("el", [0.9, 0.899], [0.9, 0.9])
