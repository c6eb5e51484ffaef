"""A small store with an event, its follow-up, one of several weeks, and another one."""

from collections import Counter
from datetime import timedelta

from isogloss.events import Article
from isogloss.store import ClusterRow, EventRow, LinkRow, Update, to_micros
from tests.service import data


def article(name, lang, title, *, day, source, body=""):
    return Article(
        name, lang, title, body, data.START + timedelta(days=day), source, f"https://{source}.example/{name}"
    )


TOLD = {
    "e1": [
        article("a", "en", "Fire at solvent warehouse in Antwerp: 2 dead", day=0, source="gull"),
        article("b", "de", "Großbrand in Antwerpen: drei Tote", day=0.1, source="bote"),
        article("c", "fr", "Incendie à Anvers : deux morts", day=0.2, source="phare"),
    ],
    "e2": [
        article("d", "en", "Police raid owner of Antwerp warehouse", day=6, source="gull"),
        article("e", "de", "Razzia nach Brand in Antwerpen", day=6.1, source="bote"),
    ],
    "e3": [article("f", "ru", "Шахматы: партия в Тбилиси", day=1, source="vesti")],
}
TERMS = {"e1": ["geo:1", "word:fire"], "e2": ["geo:1", "word:fire"], "e3": ["geo:2"]}


QUAKE = (
    ("en", "Earthquake in Vienna: houses collapse, many dead"),
    ("de", "Erdbeben in Wien: viele Tote, Häuser eingestürzt"),
    ("fr", "Séisme à Vienne : des morts et des blessés"),
)
TRIAL = (
    ("en", "Court in Graz hears appeal of builder in corruption investigation"),
    ("de", "Gericht in Graz: Korruption, Ermittlungen gegen Baufirma"),
    ("fr", "Graz : procès pour corruption, enquête et appel"),
)
LONG = {
    "e1": [
        article(f"{day}{lang}", lang, title, day=day, source=f"{lang}-news")
        for titles, days in ((QUAKE, range(5)), (TRIAL, range(14, 18)))
        for day in days
        for lang, title in titles
    ]
}
"""An event with a second chapter after nine days."""


def fill(store, told=TOLD, *, base=0):
    """Events with a cluster for each article, and a link between the first two events.

    The ids of clusters are the numbers of their articles, more than a base.
    """
    before = store.position()
    receipts = iter(store.add([one for articles in told.values() for one in articles]))
    clusters, events = [], []
    for name, articles in told.items():
        times = [to_micros(one.time) for one in articles]
        for one in articles:
            number = next(receipts).seq
            cluster = base + number
            at = to_micros(one.time)
            clusters.append(ClusterRow(cluster, one.lang, name, at, at, [number], {"title": one.title}))
        details = {
            "title": {one.lang: one.title for one in articles},
            "languages": Counter(one.lang for one in articles),
            "timeline": sorted(Counter(f"{one.time:%Y-%m-%d}" for one in articles).items()),
            "concepts": [{"id": term, "label": term.partition(":")[2]} for term in TERMS.get(name, ())],
        }
        terms = [("concept", term) for term in TERMS.get(name, ())]
        langs = [one.lang for one in articles]
        events.append(EventRow(name, min(times), max(times), len(articles), langs, terms, details))
    link = LinkRow(1, 4, 0.64, {"features": {}, "contributions": {}, "pairs": []})
    store.apply(
        Update(
            before,
            before + len(clusters),
            clusters=clusters,
            links=[link] if len(told) > 1 else [],
            events=events,
        )
    )
    return store
