"""A store as the stream would leave it, made of the sample news by what people said belongs together."""

from collections import Counter, defaultdict
from itertools import combinations

from isogloss.alignment import Aligner
from isogloss.events import Article
from isogloss.events.ingest import sample_corpus, sample_news
from isogloss.lexicon import BilingualDictionary
from isogloss.service.models import Models, WordTranslations
from isogloss.similarity import LSISimilarity
from isogloss.store import ClusterRow, EventRow, LinkRow, Update, from_micros, to_micros
from isogloss.text import Tokeniser
from tests.service.data import store_texts

HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202e'
HOSTILE_LINKS = (
    "javascript:alert(3)",
    " JaVaScRiPt:alert(4)",
    "data:text/html,<script>alert(5)</script>",
    "//evil.example/6",
    'https://evil.example/7" onmouseover="alert(7)',
    "vbscript:alert(8)",
    "https://[evil",
)
PLACES = {
    "Ireland": ("geo:2964574", "IE", 53.33, -6.25),
    "Barcelona": ("geo:3128760", "ES", 41.39, 2.16),
    "Bergen": ("geo:3161732", "NO", 60.39, 5.32),
    "Paris": ("geo:2988507", "FR", 48.85, 2.35),
    "Berlin": ("geo:2950159", "DE", 52.52, 13.41),
    "Lisbon": ("geo:2267057", "PT", 38.72, -9.13),
    "Geneva": ("geo:2660646", "CH", 46.20, 6.15),
    "Brussels": ("geo:2800866", "BE", 50.85, 4.35),
    "Tokyo": ("geo:1850147", "JP", 35.69, 139.69),
    "Nairobi": ("geo:184745", "KE", -1.28, 36.82),
    "Chile": ("geo:3871336", "CL", -33.46, -70.65),
    "Madrid": ("geo:3117735", "ES", 40.42, -3.70),
    "London": ("geo:2643743", "GB", 51.51, -0.13),
    "Vienna": ("geo:2761369", "AT", 48.21, 16.37),
    "Ottawa": ("geo:6094817", "CA", 45.42, -75.70),
}
WHY = {
    "linkCount": 1.4,
    "avgSimScore": 1.1,
    "entityCosSim": 0.9,
    "sharedNumbers": 0.45,
    "hasSameLocation": 0.3,
    "keywordCosSim": 0.2,
    "timeDiff": -0.25,
    "sharedDates": 0.1,
}


def fill(store):
    """Fill a store with the sample news, without its reprints; the number of events."""
    news = sample_news()
    articles = [article for article in news.articles if article.id not in news.reprints]
    numbers = [receipt.seq for receipt in store.add(articles)]
    stories = defaultdict(list)
    for article, number in zip(articles, numbers, strict=True):
        stories[news.events[article.id]].append((number, article))
    rows = [_story(name, members, at) for at, (name, members) in enumerate(stories.items())]
    store.apply(
        Update(
            before=0,
            after=len(numbers),
            clusters=[cluster for clusters, _, _ in rows for cluster in clusters],
            links=[link for _, links, _ in rows for link in links],
            events=[event for _, _, event in rows],
            aliases=[("old-name", next(iter(stories)))],
        )
    )
    store_texts(store)
    return len(stories)


def _story(name, members, at):
    by_language = defaultdict(list)
    for number, article in members:
        by_language[article.lang].append((number, article))
    clusters = [
        ClusterRow(100 * at + i + 1, lang, name, *_span(own), [n for n, _ in own], {"title": own[0][1].title})
        for i, (lang, own) in enumerate(by_language.items())
    ]
    links = [_link(a, b) for a, b in combinations(clusters, 2)]
    event = EventRow(
        name, *_span(members), len(members), list(by_language), _terms(members), _data(members, by_language)
    )
    return clusters, links, event


def _link(a, b):
    lean = 1 - 0.1 * ((a.id + b.id) % 5)
    why = {feature: lean * value for feature, value in WHY.items()}
    pairs = [[x, y, 0.9 * lean - 0.1 * i] for i, (x, y) in enumerate(zip(a.members, b.members, strict=False))]
    values = {feature: abs(value) for feature, value in why.items()} | {"latentCosSim": float("nan")}
    return LinkRow(a.id, b.id, 0.95 * lean, {"features": values, "contributions": why, "pairs": pairs})


def _span(members):
    times = [to_micros(article.time) for _, article in members]
    return min(times), max(times)


def _found(members):
    texts = [article.text for _, article in members]
    counts = {name: sum(name in text for text in texts) for name in PLACES}
    return {name: count for name, count in counts.items() if count}


def _concepts(members):
    words = Counter(
        word for _, article in members for word in Tokeniser("en")(article.title) if len(word) > 6
    )
    return [word for word, _ in sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))[:6]]


def _terms(members):
    places = [("place", PLACES[name][0]) for name in _found(members)]
    return [*places, *(("concept", f"word:{word}") for word in _concepts(members))]


def _data(members, by_language):
    days = Counter(f"{article.time:%Y-%m-%d}" for _, article in members)
    return {
        "title": {lang: own[0][1].title for lang, own in by_language.items()},
        "summary": {lang: own[0][1].body.partition(". ")[0] + "." for lang, own in by_language.items()},
        "languages": {lang: len(own) for lang, own in by_language.items()},
        "timeline": [list(pair) for pair in sorted(days.items())],
        "places": [
            {
                "id": PLACES[name][0],
                "name": name,
                "country": PLACES[name][1],
                "latitude": PLACES[name][2],
                "longitude": PLACES[name][3],
                "count": count,
            }
            for name, count in _found(members).items()
        ],
        "concepts": [
            {"id": f"word:{word}", "label": word, "weight": 1 / (i + 1)}
            for i, word in enumerate(_concepts(members))
        ],
        "confidence": 0.87,
    }


def fill_hostile(store, start):
    """Add an event whose every text and link is an attack; its id."""
    moment = from_micros(1_741_000_000_000_000)
    articles = [
        Article(f"h{i}", "en" if i % 2 else "ar", f"{HOSTILE}{i}", HOSTILE * 3, moment, f"{HOSTILE}{i}", url)
        for i, url in enumerate(HOSTILE_LINKS)
    ]
    seqs = [receipt.seq for receipt in store.add(articles, refused=[(HOSTILE, HOSTILE, {"a": HOSTILE})])]
    when, name = to_micros(moment), 'h"><img src=x onerror=alert(9)>'
    clusters = [
        ClusterRow(9001, "en", name, when, when, seqs[1::2], {"title": HOSTILE}),
        ClusterRow(9002, f"ar{HOSTILE}", name, when, when, seqs[::2], {"title": HOSTILE}),
    ]
    why = {HOSTILE: 1.0, "timeDiff": -2.0}
    link = LinkRow(
        9001, 9002, 0.9, {"features": why, "contributions": why, "pairs": [[seqs[1], seqs[0], 0.5]]}
    )
    place = {
        "id": HOSTILE,
        "name": HOSTILE,
        "country": HOSTILE,
        "latitude": 1.0,
        "longitude": 2.0,
        "count": 1,
    }
    data = {
        "title": {"en": HOSTILE, HOSTILE: HOSTILE},
        "summary": {"en": HOSTILE},
        "languages": {"en": 3, HOSTILE: 4},
        "timeline": [["2025-03-03", len(seqs)]],
        "places": [place],
        "concepts": [{"id": HOSTILE, "label": HOSTILE, "weight": 1.0}],
        "confidence": 0.5,
    }
    terms = [("place", HOSTILE), ("concept", HOSTILE)]
    event = EventRow(name, when, when, len(seqs), ["en", HOSTILE], terms, data)
    store.apply(Update(start, start + len(seqs), clusters=clusters, links=[link], events=[event]))
    store_texts(store)
    return name


def models():
    """Small models of the sample corpus, enough for every page to have something to show."""
    similarity = LSISimilarity(30, random_state=0).fit(sample_corpus())
    french = Aligner().fit(
        [
            ("the old house", "la vieille maison"),
            ("the blue house", "la maison bleue"),
            ("the blue flower", "la fleur bleue"),
            ("the old flower", "la vieille fleur"),
            ("the blue sea", "la mer bleue"),
            ("the sea", "la mer"),
            ("the house by the sea", "la maison au bord de la mer"),
        ]
    )
    german = Aligner().fit(
        [
            ("the old house", "das alte haus"),
            ("the blue house", "das blaue haus"),
            ("a blue flower", "eine blaue blume"),
            ("an old flower", "eine alte blume"),
            ("the flower is blue", "die blume ist blau"),
        ]
    )
    report = {
        "mean reciprocal rank": 0.8125,
        "learning curve": [0.31, 0.52, 0.64, 0.7, 0.73],
        "retrieval": [{"pair": "en-de", "mrr": 0.83, "top 1": 0.75}, {"pair": "en-ru", "mrr": 0.79}],
        "certificate": {"globally optimal": True, "relative gap": 1.2e-7},
    }
    dictionary = BilingualDictionary(
        "en", "de", [("house", "haus"), ("house", "gebäude"), ("flower", "blume")]
    )
    return Models(
        similarity=similarity,
        name="sample",
        report=report,
        aligners={("en", "de"): german, ("en", "fr"): french},
        lexicon=WordTranslations([dictionary]),
    )
