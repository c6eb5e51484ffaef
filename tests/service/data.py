"""A small store with two events, and small models that read made-up languages."""

from datetime import UTC, datetime, timedelta
from functools import cache

from isogloss.alignment import Aligner
from isogloss.events import Article
from isogloss.events.annotate import SEARCH_TERMS_VERSION, article_search_terms
from isogloss.lexicon import BilingualDictionary
from isogloss.service.models import Models, SimilarityModel, WordTranslations
from isogloss.service.settings import LimitSettings, ServerSettings, Settings
from isogloss.similarity import HubSimilarity
from isogloss.store import ClusterRow, EventRow, LinkRow, Update, to_micros
from isogloss.store.queries import ArticleText
from tests.similarity.data import comparable_corpus
from tests.waiting import LIMIT_S

START = datetime(2025, 3, 5, 8, tzinfo=UTC)
BASE = "http://127.0.0.1"


def article(number, lang, title, body="", hours=0):
    time = START + timedelta(hours=hours)
    return Article(str(number), lang, title, body, time, "The Gull", f"https://gull.example/{number}")


ARTICLES = [
    article(1, "en", "Storm Ottilie hits the coast", "en2w1 en2w3 en5w0"),
    article(2, "en", "Roofs fly as storm Ottilie lands", "en2w1 en2w2 en5w1", 2),
    article(3, "de", "Sturm Ottilie erreicht die Küste", "de2w1 de2w3 de5w0", 3),
    article(4, "fr", "Élections à Brest", "fr7w1 fr7w2", 30),
]


def fill(store):
    """Three clusters, one link, two events; and an id that the first event had before."""
    store.add(ARTICLES, now=START + timedelta(days=2))
    at = [to_micros(each.time) for each in ARTICLES]
    clusters = [
        ClusterRow(1, "en", "e1", at[0], at[1], [1, 2], {"title": ARTICLES[0].title}),
        ClusterRow(2, "de", "e1", at[2], at[2], [3], {"title": ARTICLES[2].title}),
        ClusterRow(3, "fr", "e2", at[3], at[3], [4], {"title": ARTICLES[3].title}),
    ]
    link = LinkRow(
        1,
        2,
        0.93,
        {"features": {"names": 0.8, "dates": None}, "contributions": {"names": 2.1}, "pairs": [[1, 3, 0.7]]},
    )
    storm = EventRow(
        "e1",
        at[0],
        at[2],
        3,
        ["en", "de"],
        [("place", "geo:1"), ("concept", "name:ottilie")],
        {
            "title": {"en": ARTICLES[0].title, "de": ARTICLES[2].title},
            "languages": {"en": 2, "de": 1},
            "timeline": [["2025-03-05", 3]],
            "places": [{"id": 1, "name": "Galway", "country": "IE", "count": 2}],
            "concepts": [{"id": "name:ottilie", "label": "Ottilie", "weight": 0.9}],
            "confidence": 0.93,
        },
    )
    vote = EventRow("e2", at[3], at[3], 1, ["fr"], [], {"title": {"fr": ARTICLES[3].title}})
    aliases = [("e0", "e1")]
    store.apply(Update(0, 3, clusters[:2], [link], [storm], aliases=aliases))
    store.apply(Update(3, 4, clusters[2:], [], [vote]))


def store_points(store):
    """Store the points and search terms of all articles, as the worker does."""
    store_texts(store)
    similarity = SimilarityModel(models().similarity)
    points = similarity.project(store.articles(store.article_numbers_from(0)))
    at = store.position()
    store.apply(Update(at, at, points=points, point_model=similarity.fingerprint))


def store_texts(store):
    """Store the search terms of all articles, as the worker does."""
    texts = []
    for number, each in store.articles(store.article_numbers_from(0)).items():
        terms = article_search_terms(each.title, each.body, each.lang)
        texts.append(ArticleText(number, terms.title, terms.body, terms.keys))
    at = store.position()
    store.apply(Update(at, at, texts=texts, text_version=SEARCH_TERMS_VERSION))


@cache
def models():
    corpus = comparable_corpus(n=120, languages=("en", "de", "fr"))
    pairs = [("the house", "das haus"), ("the flower", "die blume"), ("blue flower", "blaue blume")]
    return Models(
        similarity=HubSimilarity(8, random_state=0).fit(corpus),
        name="small",
        report={"mrr": 0.9},
        aligners={("en", "de"): Aligner(spelling=0).fit(pairs)},
        lexicon=WordTranslations([BilingualDictionary("en", "de", [("cat", "Katze"), ("cat", "Kater")])]),
    )


def settings(*, server=None, **limits):
    """Settings with allowances and times that no test uses up, unless it says so."""
    wide = {"reads_per_second": 1e6, "writes_per_second": 1e6, "body_seconds": LIMIT_S} | limits
    return Settings(
        limits=LimitSettings(**wide),
        server=ServerSettings(**{"port": 0, "stop_seconds": LIMIT_S} | (server or {})),
    )
