"""The channel of names, and its combination with a latent model."""

import numpy as np
import pytest

from isogloss import io
from isogloss.similarity import CombinedSimilarity, HubSimilarity, NameChannel, mate_ranks
from isogloss.similarity.combined import _most_likely
from tests.similarity.data import as_corpus, comparable_texts


def cosine(a, b, channel=None):
    vectors = (channel or NameChannel()).transform([a, b])
    return (vectors @ vectors.T).toarray()[0, 1]


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("Angela Merkel", "Ангела Меркель", "Иван Петров"),
        ("Αθήνα", "Athina", "Roma"),
        ("1,234,567", "1.234.567", "1,234,568"),
        ("31.12.1999", "1999-12-31", "30.12.1999"),
        ("12/31/1999", "31.12.1999", "11/30/1999"),
        ("२०२४", "2024", "2023"),
    ],
)
def test_the_same_name_number_or_date_in_other_letters(one, same, other):
    assert cosine(one, same) > cosine(one, other) + 0.3


def test_texts_without_letters_are_similar_to_nothing():
    assert cosine("...", "!!!") == 0
    assert NameChannel().transform([]).shape == (0, 1 << 18)
    with pytest.raises(TypeError, match="expected str"):
        NameChannel().transform([b"bytes"])


def test_fitting_makes_common_endings_count_less():
    texts = [f"{name} walking talking" for name in ("Ada", "Bertrand", "Charles", "Denis")]
    channel = NameChannel().fit(texts)
    assert cosine("Ada walking", "Denis talking", channel) < cosine("Ada walking", "Denis talking") - 0.2
    vectors = channel.project(texts, "en")
    assert abs((vectors - channel.transform(texts)).sum()) == 0


def named_texts(n, seed):
    """Documents of a domain with topics, each with a name of its own."""
    rng = np.random.default_rng(seed)
    texts = comparable_texts(n=n, seed=seed, languages=("en", "de"))
    names = ["".join(rng.choice(list("abcdefghijklmnop"), 9)) for _ in range(n)]
    return {code: [f"{t} {name}" for t, name in zip(texts[code], names, strict=True)] for code in texts}


@pytest.fixture(scope="module")
def latent():
    return HubSimilarity(10, random_state=0).fit(as_corpus(comparable_texts(languages=("en", "de"))))


def test_the_combination_is_no_worse_than_either_channel_and_tells_both(latent, tmp_path):
    combined = CombinedSimilarity(latent).fit(named_texts(60, 1))
    test = named_texts(80, 2)
    scores = combined.scores(test["en"], "en", test["de"], "de")
    found = [_mrr(table) for table in scores]
    assert found[2] >= max(found[:2])
    np.testing.assert_allclose(
        scores.latent, latent.project(test["en"], "en") @ latent.project(test["de"], "de").T
    )
    io.save(combined, tmp_path / "m")
    again = io.load(tmp_path / "m").scores(test["en"], "en", test["de"], "de")
    np.testing.assert_array_equal(again.combined, scores.combined)


def _mrr(table):
    return np.mean(1 / ((table > np.diag(table)[:, None]).sum(axis=1) + 1))


def test_a_channel_that_knows_nothing_gets_no_weight():
    rng = np.random.default_rng(0)
    good = np.eye(50) * 3 + rng.standard_normal((50, 50))
    weights = _most_likely([np.stack([good, rng.standard_normal((50, 50)) - np.eye(50)])])
    assert weights[0] > 0.5
    assert weights[1] == 0


def test_weights_are_where_the_likelihood_does_not_rise():
    rng = np.random.default_rng(1)
    case = np.stack([2 * np.eye(30) + rng.standard_normal((30, 30)) for _ in range(2)])
    best = _most_likely([case])

    def likelihood(w):
        s = np.tensordot(w, case, axes=1)
        return np.mean(np.diag(s) - np.log(np.exp(s).sum(axis=1))) - 1e-3 * w @ w

    for step in ([0.01, 0], [-0.01, 0], [0, 0.01], [0, -0.01]):
        assert likelihood(best + step) < likelihood(best)


def test_texts_without_pairs_are_refused(latent):
    with pytest.raises(ValueError, match="no two languages share two rows"):
        CombinedSimilarity(latent).fit({"en": ["a", None], "de": [None, "b"]})
    assert mate_ranks(np.eye(2), np.eye(2)).tolist() == [1, 1]
