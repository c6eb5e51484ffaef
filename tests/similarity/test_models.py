"""Documents of several languages meet in one space."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from isogloss import io
from isogloss.engine import LocalEngine, Rows
from isogloss.multiview import HubCCA
from isogloss.similarity import (
    CCASimilarity,
    ESASimilarity,
    HubSimilarity,
    KMeansSimilarity,
    LanguageSpace,
    LSISimilarity,
    OPCASimilarity,
    TopicSimilarity,
    evaluate,
)
from isogloss.similarity.fitting import HeldShards, fit_star, scarce_directions
from isogloss.similarity.fitting._consensus import find_consensus
from isogloss.similarity.models._lsi import pseudo_inverse
from isogloss.similarity.models._opca import covariances
from isogloss.views import Views
from tests.similarity.data import as_corpus, comparable_corpus, comparable_texts, without_common_rows

MODELS = [
    HubSimilarity(10, random_state=0),
    HubSimilarity(10, agreement="hub", random_state=0),
    LSISimilarity(12, random_state=0),
    LSISimilarity(12, inverse=True, random_state=0),
    KMeansSimilarity(12, random_state=0),
    OPCASimilarity(8, random_state=0),
    ESASimilarity(60, random_state=0),
    TopicSimilarity(12, random_state=0),
    TopicSimilarity(12, geometry="cosine", learning_method="batch", random_state=0),
]


def split(corpus):
    return corpus.split(60, random_state=1)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_documents_find_their_mates(model):
    train, test = split(comparable_corpus(missing=0.2))
    chance = np.log(60) / 60
    assert evaluate(clone(model).fit(train), test).amrr > 4 * chance


def with_few_words(language, words):
    """A corpus in which a language has few different words, and so few directions."""
    texts = comparable_texts()
    known = sorted({word for text in texts[language] for word in text.split()})
    fewer = {word: known[place % words] for place, word in enumerate(known)}
    texts[language] = [" ".join(fewer[word] for word in text.split()) for text in texts[language]]
    return as_corpus(texts)


def test_a_language_with_few_directions_bounds_the_components_of_the_thesis_variant(tmp_path):
    train, test = split(with_few_words("sl", 9))
    model = HubSimilarity(30, agreement="hub", ridge=0, power=0, n_directions=30, random_state=0)
    with pytest.warns(UserWarning, match=r"'sl' and the hub 'en' have \d directions .* n_components=30"):
        model.fit(train)
    found = len(model.strengths_)
    assert found < 10
    assert {model.project_corpus(test, code).shape[1] for code in model.languages} == {found}
    assert evaluate(model, test, languages=["en", "de", "fr"]).amrr > 4 * np.log(60) / 60
    with pytest.warns(UserWarning, match="directions in common"):
        part = clone(model).fit(train.select(languages=["en", "de", "sl"]))
    io.save(part, tmp_path / "part")
    grown = io.load(tmp_path / "part").add_language("fr", train)
    assert evaluate(grown, test, languages=["en", "fr"]).amrr > 4 * np.log(60) / 60
    with (
        pytest.warns(UserWarning, match="directions"),
        pytest.raises(ValueError, match="drop_first=29 leaves none of the"),
    ):
        clone(model).set_params(drop_first=29).fit(train)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_fitting_again_gives_the_same(model):
    train, test = split(comparable_corpus())
    first, second = (clone(model).fit(train).project_corpus(test, "fr") for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_text_and_counts_give_the_same_vectors(model):
    texts = comparable_texts()
    corpus = as_corpus(texts)
    model = clone(model).fit(corpus)
    np.testing.assert_allclose(
        model.project(texts["sl"], "sl"), model.project_corpus(corpus, "sl"), atol=1e-6
    )


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_model_file_projects_raw_text(model, tmp_path):
    texts = comparable_texts()
    fitted = clone(model).fit(as_corpus(texts))
    io.save(fitted, tmp_path / "model.isogloss")
    loaded = io.load(tmp_path / "model.isogloss", expected=type(model))
    np.testing.assert_array_equal(
        loaded.project(texts["de"][:5], "de"), fitted.project(texts["de"][:5], "de")
    )


def test_projections_have_length_one_and_unknown_words_length_zero():
    model = HubSimilarity(5, random_state=0).fit(comparable_corpus())
    lengths = np.linalg.norm(model.project(["en1w1 en1w2", "quite unknown", ""], "en"), axis=1)
    np.testing.assert_allclose(lengths, [1, 0, 0], atol=1e-6)
    assert model.project([], "en").shape == (0, 5)


def test_the_order_of_texts_and_their_company_do_not_matter():
    texts = comparable_texts()
    model = HubSimilarity(5, random_state=0).fit(as_corpus(texts))
    together = model.project(texts["en"], "en")
    np.testing.assert_allclose(model.project(texts["en"][7:8], "en"), together[7:8], atol=1e-6)


def test_the_proxy_matrix_is_the_inner_product_of_projections():
    texts = comparable_texts()
    model = HubSimilarity(5, normalise=False, random_state=0).fit(as_corpus(texts))
    proxy = model.similarity("de", "sl")
    X, Y = (model.spaces_[code].of_texts(texts[code][:20]) for code in ("de", "sl"))
    means = [model.offsets_[code] for code in ("de", "sl")]
    by_hand = (X @ proxy.left - means[0]) @ (Y @ proxy.right - means[1]).T
    np.testing.assert_allclose(
        model.project(texts["de"][:20], "de") @ model.project(texts["sl"][:20], "sl").T,
        by_hand,
        rtol=1e-3,
        atol=1e-3,
    )
    np.testing.assert_allclose(proxy @ Y.T.toarray(), proxy.toarray() @ Y.T.toarray(), rtol=1e-3, atol=1e-3)


def test_words_are_translated_through_the_common_space():
    proxy = HubSimilarity(11, random_state=0).fit(comparable_corpus(n=600)).similarity("de", "fr")
    words = [word for word, _ in proxy.translations("de3w1", 5)]
    assert sum(word.startswith("fr3w") for word in words) >= 4
    with pytest.raises(ValueError, match="no word 'haus'"):
        proxy.translations("haus")
    assert repr(proxy) == f"ProxyMatrix({proxy.shape[0]} words of 'de' x {proxy.shape[1]} of 'fr')"


def test_languages_without_a_common_document_meet_in_the_hub():
    texts = comparable_texts(n=400, seed=3)
    apart = as_corpus(without_common_rows(texts, "de", "sl"))
    assert apart.pair_sizes()[1, 3] == 0
    held_out = comparable_corpus(n=80, seed=4)
    model = HubSimilarity(11, hub="en", random_state=0)
    full = evaluate(clone(model).fit(as_corpus(texts)), held_out).pairs["de", "sl"].mrr
    zero = evaluate(clone(model).fit(apart), held_out).pairs["de", "sl"].mrr
    assert zero > 0.85 * full


@pytest.mark.parametrize("agreement", ["all", "hub"])
def test_an_added_language_is_as_good_as_a_refitted_one_and_leaves_the_others_alone(agreement):
    corpus, held_out = comparable_corpus(n=400), comparable_corpus(n=80, seed=4)
    model = HubSimilarity(11, hub="en", agreement=agreement, random_state=0)
    whole, grown = clone(model).fit(corpus), clone(model).fit(corpus.select(languages=["en", "de", "fr"]))
    before = grown.projectors_["de"].copy()
    grown.add_language("sl", corpus)
    np.testing.assert_array_equal(grown.projectors_["de"], before)
    assert evaluate(grown, held_out).amrr > 0.98 * evaluate(whole, held_out).amrr
    with pytest.raises(ValueError, match="has 'sl' already"):
        grown.add_language("sl", corpus)


def test_an_added_language_varies_along_components_as_the_hub_does():
    corpus = comparable_corpus(n=400)
    model = HubSimilarity(40, hub="en", normalise=False, random_state=0)
    model.fit(corpus.select(languages=["en", "de"])).add_language("sl", corpus)
    hub, new = (model.project_corpus(corpus, code).std(axis=0) for code in ("en", "sl"))
    assert np.ptp(hub) > 0.2 * hub.mean()
    np.testing.assert_allclose(new, hub, rtol=0.5)


def test_an_added_language_is_saved_too(tmp_path):
    corpus = comparable_corpus()
    grown = HubSimilarity(5, hub="en", random_state=0).fit(corpus.select(languages=["en", "de"]))
    io.save(grown, tmp_path / "m")
    loaded = io.load(tmp_path / "m").add_language("fr", corpus)
    np.testing.assert_allclose(
        loaded.project_corpus(corpus, "fr"),
        grown.add_language("fr", corpus).project_corpus(corpus, "fr"),
        atol=1e-6,
    )


@pytest.mark.parametrize("agreement", ["all", "hub"])
def test_a_language_with_fewer_documents_than_components_takes_part(agreement):
    texts = comparable_texts(n=300, seed=5)
    texts["sl"] = [text if row < 12 else None for row, text in enumerate(texts["sl"])]
    model = HubSimilarity(20, hub="en", agreement=agreement, random_state=0).fit(as_corpus(texts))
    assert model.shared_["sl"] == 12
    held_out = comparable_corpus(n=60, seed=6)
    assert evaluate(model, held_out).pairs["sl", "de"].mrr > 0.12


def test_directions_of_a_scarce_language_solve_the_regression():
    rng = np.random.default_rng(0)
    X = comparable_corpus(n=15, languages=("en", "de")).matrix("de").astype(float)
    Z = rng.standard_normal((15, 3))
    W, mean = scarce_directions(X, Z, ridge=0.7)
    dense = X.toarray() - mean
    expected = np.linalg.solve(dense.T @ dense + 0.7 * np.eye(X.shape[1]), dense.T @ (Z - Z.mean(axis=0)))
    expected /= (dense @ expected).std(axis=0)
    np.testing.assert_allclose(W, expected, atol=1e-8)


def test_one_language_at_a_time_gives_the_directions_of_hub_cca():
    corpus = comparable_corpus(n=300, missing=0.3)
    space = {code: LanguageSpace.learn(corpus, code) for code in corpus.languages}
    views = corpus.views(lambda counts, code: space[code].of_corpus(corpus))
    star = fit_star(HeldShards(views), "en", 6, n_directions=15, ridge=0.01, n_iter=8, random_state=0)
    whole = HubCCA(6, hub="en", n_directions=15, ridge=0.01, n_iter=16, random_state=0).fit(views)
    np.testing.assert_allclose(star.eigenvalues, whole.eigenvalues_, rtol=1e-6)
    for code, weights, mean in zip(views.names, whole.weights_, whole.means_, strict=True):
        np.testing.assert_allclose(star.directions[code], weights, atol=1e-4 * np.abs(weights).max())
        np.testing.assert_allclose(star.means[code], mean, rtol=1e-6)


def test_the_consensus_is_the_best_predicted_of_all_variables():
    rng = np.random.default_rng(0)
    present = rng.random((40, 3)) < 0.7
    present[:, 0] = True
    present = present[present.sum(axis=1) > 1]
    reduced = {code: rng.standard_normal((has.sum(), 6)) for code, has in zip("abc", present.T, strict=True)}
    reduced = {code: R - R.mean(axis=0) for code, R in reduced.items()}
    source = Rows(Views({code: R + 3 for code, R in reduced.items()}, present=present), batch_rows=17)
    found = find_consensus(LocalEngine(), source, 3, ridge=0.5)
    total, counts = np.zeros((len(present),) * 2), present.sum(axis=1)
    for (_, R), has in zip(reduced.items(), present.T, strict=True):
        total[np.ix_(has, has)] += R @ np.linalg.solve(R.T @ R + 0.5 * np.eye(6), R.T)
    values, vectors = np.linalg.eigh(total / np.sqrt(np.outer(counts, counts)))
    np.testing.assert_allclose(found.eigenvalues, values[:-4:-1])
    G = vectors[:, :-4:-1] / np.sqrt(counts)[:, None]
    R, has = reduced["b"], present[:, 1]
    expected = np.linalg.solve(R.T @ R + 0.5 * np.eye(6), R.T @ G[has])
    np.testing.assert_allclose(np.abs(found.coefficients[1]), np.abs(expected), atol=1e-10)


def test_the_consensus_leaves_out_rows_of_one_language():
    rng = np.random.default_rng(1)
    present = np.ones((50, 2), dtype=bool)
    present[40:, 1] = False
    data = [rng.standard_normal((50, 5)), rng.standard_normal((40, 5))]
    some = Rows(Views([data[0][:40], data[1]]))
    whole = Rows(Views(data, present=present))
    expected, found = (find_consensus(LocalEngine(), source, 3, ridge=1.0) for source in (some, whole))
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues)


def test_variables_beyond_what_documents_span_are_zero():
    rng = np.random.default_rng(0)
    source = Rows(Views([rng.standard_normal((50, 2)), rng.standard_normal((50, 3))]))
    found = find_consensus(LocalEngine(), source, 8, ridge=1.0)
    assert [part.shape for part in found.coefficients] == [(2, 8), (3, 8)]
    assert not found.eigenvalues[5:].any()


def test_the_power_weighs_components_and_dropping_leaves_the_first_out():
    corpus = comparable_corpus()
    plain = HubSimilarity(6, power=0.0, normalise=False, random_state=0).fit(corpus)
    weighted = HubSimilarity(6, power=2.0, drop_first=2, normalise=False, random_state=0).fit(corpus)
    np.testing.assert_allclose(
        weighted.projectors_["de"], (plain.projectors_["de"] * plain.strengths_)[:, 2:], rtol=1e-4
    )
    assert (np.diff(plain.strengths_) <= 1e-9).all()


def test_cca_of_two_languages_is_hub_cca_of_two():
    corpus = comparable_corpus().select(languages=["en", "de"])
    pair, hub = (model(5, random_state=0).fit(corpus) for model in (CCASimilarity, HubSimilarity))
    np.testing.assert_array_equal(pair.projectors_["de"], hub.projectors_["de"])
    with pytest.raises(ValueError, match="CCA compares two languages"):
        CCASimilarity(5).fit(comparable_corpus())


def test_bad_input_is_refused_with_what_to_do():
    corpus = comparable_corpus()
    model = HubSimilarity(5, random_state=0)
    with pytest.raises(NotFittedError):
        model.project(["text"], "en")
    model.fit(corpus)
    with pytest.raises(ValueError, match="does not know the language 'xx'; it has en, de"):
        model.project(["text"], "xx")
    with pytest.raises(TypeError, match="expected str"):
        model.project([None], "en")
    with pytest.raises(ValueError, match="hub='ru' is not a language"):
        HubSimilarity(5, hub="ru").fit(corpus)
    with pytest.raises(ValueError, match="no word of 'en' is left"):
        HubSimilarity(5, min_df=1000).fit(corpus)
    with pytest.raises(ValueError, match="expected two or more"):
        HubSimilarity(5).fit(corpus.select(languages=["en"]))
    lonely = comparable_texts()
    lonely["sl"] = ["sl1w1 sl1w2"] + [None] * (len(lonely["sl"]) - 1)
    with pytest.raises(ValueError, match="1 documents in 'sl'"):
        HubSimilarity(5).fit(as_corpus(lonely))


def test_the_pseudo_inverse_of_dependent_columns_leaves_some_out():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((30, 5))
    np.testing.assert_allclose(pseudo_inverse(B, "en"), np.linalg.pinv(B), atol=1e-12)
    dependent = np.column_stack([B, np.zeros(30), B[:, 0]])
    P = pseudo_inverse(dependent, "en")
    np.testing.assert_allclose(dependent @ P @ dependent, dependent, atol=1e-12)
    assert (P == 0).all(axis=1).sum() == 2


def test_roots_of_topic_proportions_have_length_one():
    model = TopicSimilarity(5, random_state=0).fit(comparable_corpus())
    points = model.project(["en1w1 en1w2", "quite unknown", ""], "en")
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), [1, 0, 0], atol=1e-6)
    theta = model.topic_model_.transform_view(model.spaces_["en"].of_texts(["en1w1 en1w2"]), "en")
    np.testing.assert_allclose(points[0] ** 2, theta[0], rtol=1e-5)
    assert (np.diff(model.strengths_) <= 0).all()
    for topics in model.projectors_.values():
        np.testing.assert_allclose(topics.sum(axis=0), 1.0, rtol=1e-5)


def test_explicit_semantic_analysis_is_cosines_with_documents():
    texts = comparable_texts()
    model = ESASimilarity(20, normalise=False, random_state=0).fit(as_corpus(texts))
    space = model.spaces_["de"]
    rows = [texts["de"][row] for row in model.rows_]
    query = space.of_texts(texts["de"][:3])
    np.testing.assert_allclose(
        model.project(texts["de"][:3], "de"), (query @ space.of_texts(rows).T).toarray(), atol=1e-6
    )


def test_oriented_components_solve_the_eigenproblem(rng):
    """In the basis of all words: the signal over the noise, which the components make uncorrelated."""
    present = rng.random((80, 3)) < 0.7
    latent = rng.normal(size=(80, 2))
    data = [
        sparse.csr_matrix(latent @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(80, 5))) for _ in range(3)
    ]
    views = Views(data, present=present)
    parts = list(np.split(np.eye(15), 3))
    signal, noise = covariances(views, parts)
    rows = np.flatnonzero(present.sum(axis=1) > 1)
    wide = np.zeros((80, 3, 15))
    for v, x in enumerate(data):
        wide[:, v, 5 * v : 5 * v + 5] = x.toarray()
    means = np.array([wide[r, present[r]].mean(axis=0) for r in rows])
    apart = [wide[r, present[r]] - m for r, m in zip(rows, means, strict=True)]
    spread = [x.T @ x / len(x) for x in apart]
    np.testing.assert_allclose(noise, np.mean(spread, axis=0), atol=1e-12)
    np.testing.assert_allclose(signal, np.cov(means.T, bias=True), atol=1e-12)


def test_agreement_needs_rows_with_two_languages(rng):
    views = Views([np.ones((2, 1)), np.ones((2, 1))], present=[[True, False], [False, True]])
    with pytest.raises(ValueError, match="no row of the corpus has two languages"):
        covariances(views, [np.eye(1), np.eye(1)])


@pytest.mark.parametrize(("kind", "message"), [(ESASimilarity, "rows of"), (OPCASimilarity, "ask for fewer")])
def test_more_components_than_rows_are_refused(kind, message):
    with pytest.raises(ValueError, match=message):
        kind(10_000).fit(comparable_corpus())
