"""The experiments on dictionaries keep test words out, and write their reports at toy size."""

import gzip
import json

import numpy as np
import pytest

from experiments import dictionary_data, dictionary_methods, dictionary_table1
from experiments._report import data_folder
from isogloss.lexicon import concept_table, evaluate_space
from tests.lexicon.data import dictionary, languages

NAMES = ("en", "de", "fr", "it")
PAIRS = ("en-de", "en-fr", "en-it", "de-fr", "it-fr", "fr-it")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Vectors and dictionaries in the forms of the shared data."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "vectors" / "trained").mkdir(parents=True)
    (folder / "lexicon" / "muse").mkdir(parents=True)
    for name, one in languages(NAMES, n=300, dims=(8, 8, 8, 8), noise=0.6).items():
        matrix = one.matrix.astype(np.float16)
        np.savez(folder / "vectors" / "trained" / f"{name}.npz", words=np.array(one.words), vectors=matrix)
    for pair in PAIRS:
        a, b = pair.split("-")
        rows = [f"{i}\t{a}{i}\t{b}{i}\t{'train' if i < 200 else 'test'}" for i in range(250)]
        text = "\n".join(["rank\tsrc\ttgt\tsplit", *rows]) + "\n"
        (folder / "lexicon" / "muse" / f"{pair}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    return folder


def test_both_directions_are_asked_and_a_file_of_its_own_goes_first(data):
    test = dictionary_data.load_dictionaries(data, ("en", "fr", "it"), "test")
    ask = dictionary_data.test_split([], test).ask
    assert set(ask) == {("en", "fr"), ("fr", "en"), ("en", "it"), ("it", "en"), ("fr", "it"), ("it", "fr")}
    assert all((one.source, one.target) == pair for pair, one in ask.items())


def test_no_row_of_a_joint_model_holds_what_is_asked_for(data):
    vectors = dictionary_data.load_vectors(data, NAMES)
    split = dictionary_data.validation_split(dictionary_data.load_dictionaries(data, NAMES, "train"))
    for rows in ("pairs", "complete"):
        table = concept_table(vectors, split.train, rows=rows, exclude=split.held)
        for (a, b), held in split.ask.items():
            v, w = NAMES.index(a), NAMES.index(b)
            i, j = held.rows(vectors[a], vectors[b])
            assert not set(zip(i, j, strict=True)) & set(zip(table[:, v], table[:, w], strict=True))


def test_differences_are_paired(data):
    vectors = dictionary_data.load_vectors(data, ("en", "de"))
    gold = dictionary("en", "de", range(100))
    result = {("en", "de"): evaluate_space(vectors, gold)}
    assert dictionary_data.mean_difference(result, result) == (0.0, 0.0)
    other = {("en", "de"): evaluate_space(vectors, dictionary("en", "de", range(50)))}
    with pytest.raises(ValueError, match="different words"):
        dictionary_data.mean_difference(result, other)


@pytest.mark.parametrize("experiment", [dictionary_methods, dictionary_table1])
def test_reports_are_written(data, tmp_path, experiment):
    path = experiment.main([str(tmp_path), "--data", str(data), "--quick"])
    report = path.read_text()
    assert "not the paper's vectors" in report
    assert "holds" in report
    for line in report.splitlines():
        if line.startswith("!["):
            assert (path.parent / line.partition("(")[2].rstrip(")")).stat().st_size > 1_000
    assert json.loads((path.parent / "report.json").read_text())


def test_a_folder_without_data_is_reported(tmp_path):
    with pytest.raises(SystemExit, match="set ISOGLOSS_DATA"):
        data_folder(tmp_path, dictionary_data.VECTORS)
