"""A space tuned by links: it stays where nothing is asked, moves where it is, and its slope is right."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from isogloss.similarity import LinkedSimilarity, TextModel, TextPair
from isogloss.similarity.models import _linked


class Numbers(TextModel):
    """Texts that are vectors, written as numbers: the first half tells what is linked, the rest is noise."""

    def __init__(self, noise=1.0):
        self.noise = noise

    @property
    def languages(self):
        return ("en", "de")

    def project(self, texts, lang):
        X = np.array([[float(number) for number in text.split()] for text in texts], dtype=np.float32)
        X[:, X.shape[1] // 2 :] *= self.noise
        return X / np.linalg.norm(X, axis=1, keepdims=True)


def written(rows):
    return [" ".join(f"{number:.4f}" for number in row) for row in rows]


def linked_pairs(rng, n, k=8, wrong=2):
    """n linked pairs that agree in half of the coordinates, and others for each."""
    signal = rng.normal(size=(n, k // 2))
    left, right = (written(np.hstack([signal, 2 * rng.normal(size=(n, k // 2))])) for _ in range(2))
    pairs = [(a, "en", b, "de") for a, b in zip(left, right, strict=True)]
    labels = [1] * n
    for shift in range(1, wrong + 1):
        pairs += [(a, "en", b, "de") for a, b in zip(left, np.roll(right, shift), strict=True)]
        labels += [0] * n
    return pairs, np.array(labels)


@pytest.fixture
def trained(rng):
    return LinkedSimilarity(Numbers(), rank=2, random_state=0).fit(*linked_pairs(rng, 80))


def test_coordinates_that_links_agree_in_count_more(rng, trained):
    sizes = np.abs(np.diag(trained.tuning_))
    assert sizes[:4].min() > sizes[4:].max()
    pairs, labels = linked_pairs(rng, 200)
    plain = LinkedSimilarity(Numbers(), rank=0, C=1e-9, random_state=0).fit(*linked_pairs(rng, 80))
    losses = [
        -np.log(model.predict_proba(pairs)[np.arange(len(labels)), labels]).mean()
        for model in (trained, plain)
    ]
    assert losses[0] < 0.9 * losses[1]
    assert (trained.predict(pairs) == labels).mean() > (plain.predict(pairs) == labels).mean()
    assert trained.score(pairs, labels.astype(bool)) == (trained.predict(pairs) == labels).mean()


def test_with_next_to_no_freedom_the_space_is_that_of_the_model(rng):
    pairs, labels = linked_pairs(rng, 40)
    model = LinkedSimilarity(Numbers(), rank=3, C=1e-9, random_state=0).fit(pairs, labels)
    np.testing.assert_allclose(model.tuning_, np.eye(8), atol=1e-5)
    texts = [pair[0] for pair in pairs[:5]]
    np.testing.assert_allclose(model.project(texts, "en"), Numbers().project(texts, "en"), atol=1e-5)


def test_links_are_as_probable_as_cosines_of_projections_say(rng, trained):
    pairs, _ = linked_pairs(rng, 10)
    left, right = (trained.project([p[n] for p in pairs], p) for n, p in ((0, "en"), (2, "de")))
    np.testing.assert_allclose(np.linalg.norm(left, axis=1), 1, rtol=1e-5)
    odds = trained.coef_ * (left * right).sum(axis=1) + trained.intercept_
    np.testing.assert_allclose(trained.decision_function(pairs), odds, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(trained.predict_proba(pairs).sum(axis=1), 1)


@pytest.mark.parametrize("rank", [0, 2])
def test_the_slope_is_that_of_the_loss(rng, rank):
    A, B = rng.normal(size=(7, 5)), rng.normal(size=(6, 5))
    linked = rng.random((7, 6)) < 0.2
    linked[3] = True  # nothing to tell it from
    groups = [_linked._Group(A, B, linked), _linked._Group(B, A[:3], rng.random((6, 3)) < 0.3)]
    at = np.concatenate([[3.0], 0.3 * rng.normal(size=5 + 10 * rank)])

    def loss(vector):
        return _linked._loss(_linked._unpack(vector, 5, rank), groups)

    assert check_grad(lambda v: loss(v)[0], lambda v: loss(v)[1], at) < 1e-4


def test_the_loss_is_that_of_its_definition(rng):
    scores, linked = rng.normal(size=(4, 5)), np.eye(4, 5, dtype=bool)
    linked[0, 3] = True
    expected = sum(
        np.log1p(sum(np.exp(scores[d, f] - scores[d, e]) for f in range(5) if not linked[d, f]))
        for d, e in zip(*np.nonzero(linked), strict=True)
    )
    assert _linked._contrast(scores, linked)[0] == pytest.approx(expected)


def test_texts_that_are_linked_are_left_out_together(rng):
    pairs, labels = linked_pairs(rng, 12)
    pairs += [(pairs[0][0], "en", pairs[1][2], "de")]  # links the first two pairs
    labels = np.append(labels, 1).astype(bool)
    for learned, left_out in _linked._folds([TextPair(*pair) for pair in pairs], labels):
        for texts in ({0, 2}, {1}):
            assert not {pairs[r][0] for r in learned} & {pairs[r][0] for r in left_out}, texts
        assert (0 in learned) == (1 in learned) == (len(pairs) - 1 in learned)


@pytest.mark.parametrize(
    ("pairs", "labels", "error", "message"),
    [
        ([("a", "en", "b")], [1], TypeError, "expected a text, its language, the other text"),
        (["a text"], [1], TypeError, "as a pair"),
        ([("1 2", "en", "2 1", "de")] * 2, [1], ValueError, "one label for each pair"),
        ([("1 2", "en", "2 1", "de")] * 2, [1, 1], ValueError, "both 0 and 1"),
        ([("1 2", "en", "2 1", "de"), ("1 1", "en", "2 1", "de")], [1, 0], ValueError, "too few to leave"),
    ],
)
def test_what_says_nothing_is_refused(pairs, labels, error, message):
    with pytest.raises(error, match=message):
        LinkedSimilarity(Numbers()).fit(pairs, labels)


def test_before_fit_nothing_is_known():
    model = LinkedSimilarity(Numbers())
    for call in (lambda: model.project(["1 2"], "en"), lambda: model.predict([("1 2", "en", "2 1", "de")])):
        with pytest.raises(NotFittedError):
            call()
    assert clone(model).get_params()["rank"] == model.rank
    assert model.languages == ("en", "de")
