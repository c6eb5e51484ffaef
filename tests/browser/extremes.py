"""Events that few stores have: 500 articles, thirty languages, titles that never end; one article only."""

from datetime import timedelta

from isogloss.events import Article
from isogloss.store import ClusterRow, EventRow, LinkRow, Update, from_micros, to_micros
from tests.service.data import store_texts

CODES = "en ar he fa ur de fr es it pt nl sv da no fi pl cs sk sl hr sr bg ro hu el ru uk tr zh ja ko hi"
LANGUAGES = CODES.split()
LARGE, SINGLE = "large", "single"
ARTICLES = 500
TITLES = {
    "ar": "هزة أرضية قوية تضرب الساحل الشمالي وتترك آلاف المنازل بلا كهرباء ليلة كاملة",
    "he": "רעידת אדמה חזקה פוקדת את החוף הצפוני",
    "zh": "北部沿海发生强烈地震、数千户家庭停电",
    "ja": "北部沿岸で強い地震、数千世帯が停電",
    "ru": "Сильное землетрясение на северном побережье",
}
LONG = (
    "The committee on the Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft "
    * 4
)
_START = from_micros(1_741_000_000_000_000)


def fill(store):
    """Add the events to a store; the numbers of its articles begin where those that it has end."""
    begin = store.position()
    articles = [_article(i) for i in range(ARTICLES)]
    articles.append(Article("alone", "ar", TITLES["ar"], "", _START, "", ""))
    numbers = [receipt.seq for receipt in store.add(articles)]
    clusters = [
        ClusterRow(50_000 + i, article.lang, LARGE, when, when, [number], {"title": article.title})
        for i, (article, number) in enumerate(zip(articles[:-1], numbers, strict=False))
        for when in [to_micros(article.time)]
    ]
    why = {"linkCount": 1.0, "timeDiff": -0.5}
    links = [
        LinkRow(50_000, 50_000 + i, 0.999, {"features": why, "contributions": why, "pairs": []})
        for i in range(1, 60)
    ]
    when = to_micros(_START)
    alone = ClusterRow(60_000, "ar", SINGLE, when, when, numbers[-1:], {"title": TITLES["ar"]})
    told = {"title": {"ar": TITLES["ar"]}, "languages": {"ar": 1}, "timeline": [["2025-03-03", 1]]}
    store.apply(
        Update(
            begin,
            begin + len(numbers),
            clusters=[*clusters, alone],
            links=links,
            events=[_large(articles[:-1]), EventRow(SINGLE, when, when, 1, ["ar"], (), told)],
        )
    )
    store_texts(store)


def _article(i):
    lang = LANGUAGES[i % len(LANGUAGES)]
    title = TITLES.get(lang, f"Earthquake on the northern coast, report {i}")
    return Article(
        f"x{i}",
        lang,
        title,
        "Thousands of homes were without power. " * 30,
        _START + timedelta(hours=i),
        "Wire",
        "",
    )


def _large(articles):
    times = [to_micros(article.time) for article in articles]
    days = {}
    for article in articles:
        days[f"{article.time:%Y-%m-%d}"] = days.get(f"{article.time:%Y-%m-%d}", 0) + 1
    counts = {lang: sum(article.lang == lang for article in articles) for lang in LANGUAGES}
    told = {
        "title": {"en": LONG} | TITLES,
        "summary": {"en": LONG * 2},
        "languages": counts,
        "timeline": sorted(days.items()),
        "concepts": [
            {"id": f"c{i}", "label": f"a concept with a long name {i}", "weight": 1.0} for i in range(40)
        ],
        "confidence": 0.5,
    }
    return EventRow(LARGE, min(times), max(times), len(articles), LANGUAGES, (), told)
