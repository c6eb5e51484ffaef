"""Clusters of each language: labelled titles of July 2021, and press items with and without their texts.

    python -m experiments.event_clusters [folder] [--data FOLDER] [--quick]

The scores are BCubed, of each language alone; the macro F1 is their mean. The settings are the defaults of
the library. They were chosen on the first six tenths of the titles in time and on the press items; the other
four tenths are reported. Languages with fewer than 20 titles there (Chinese, with two) are left out of the
mean. Beside ours stand the ids that Event Registry gave these titles, an article without one being
alone, and a plain baseline, TF-IDF of sequences of four letters with online centroids at a cosine of 0.25.

The press items have one text in each language, so each is cut in two that are to be found together again: the
first half under the title, the second half under its first twelve words. Their dates are squeezed into ten
days, or there would be nothing to confuse them with. Titles alone are to be beaten by full texts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from experiments._report import Table, claim, options_parser, own_folder, reading, timed, write_report
from experiments.event_data import Titles, events_folder, olympic_titles
from isogloss.events import Article
from isogloss.events.cluster import ClusterState, transition
from isogloss.events.training import ClusteringScores, LanguageScores, monolingual

PRESS_LANGUAGES = ("de", "el", "en", "es", "fr", "it", "nl")
MIN_ARTICLES, DEVELOPED, TARGET, MIN_CHARS = 20, 0.6, 0.72, 80
START = datetime(2021, 1, 1, tzinfo=UTC)
BASELINE = 0.25


def clusters_of(articles: Sequence[Article]) -> list[int]:
    """The cluster that each article ends in, however it came there."""
    state = ClusterState()
    home: dict[str, int] = {}
    into: dict[int, int] = {}
    for article in articles:
        decision = transition(state, article)
        home[article.id] = decision.cluster
        home.update({move.article: move.target for move in decision.moved})
        into.update(decision.merged)
    return [_last(home[article.id], into) for article in articles]


def _last(cluster: int, into: dict[int, int]) -> int:
    while cluster in into:
        cluster = into[cluster]
    return cluster


def event_registry(folder: Path) -> dict[str, str]:
    """The event that Event Registry put each title into."""
    with gzip.open(folder / "og2021-titles.part1.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return {record["id"]: record["er_event"] or f"alone {record['id']}" for record in records}


def plain_baseline(articles: Sequence[Article]) -> list[str]:
    """TF-IDF of sequences of four letters, and the nearest centroid if it is near enough."""
    found = []
    frequencies: defaultdict[str, Counter[str]] = defaultdict(Counter)
    centroids: defaultdict[str, list[Counter[str]]] = defaultdict(list)
    seen: Counter[str] = Counter()
    for article in articles:
        seen[article.lang] += 1
        vector = _grams(article.title, frequencies[article.lang], seen[article.lang])
        known = centroids[article.lang]
        cosines = [_cosine(vector, centroid) for centroid in known]
        best = max(range(len(known)), key=cosines.__getitem__, default=-1)
        if best < 0 or cosines[best] < BASELINE:
            best = len(known)
            known.append(Counter())
        known[best].update(vector)
        found.append(f"{article.lang} {best}")
    return found


def _grams(title: str, frequencies: Counter[str], n: int) -> Counter[str]:
    words = (f" {word} " for word in title.lower().split())
    counts = Counter(word[i : i + 4] for word in words for i in range(max(1, len(word) - 3)))
    frequencies.update(counts.keys())
    weights = {g: (1 + math.log(c)) * math.log((n + 1) / frequencies[g]) for g, c in counts.items()}
    norm = math.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
    return Counter({gram: weight / norm for gram, weight in weights.items()})


def _cosine(vector: Counter[str], centroid: Counter[str]) -> float:
    norm = math.sqrt(sum(weight**2 for weight in centroid.values()))
    return sum(weight * centroid[gram] for gram, weight in vector.items()) / (norm or 1.0)


def press_halves(folder: Path, languages: Sequence[str]) -> Titles:
    """Each text of the press items as two articles, in the order of their dates, all within ten days."""
    with gzip.open(folder / "fsfe-news.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = sorted((json.loads(line) for line in lines), key=lambda one: (one["date"], one["id"]))
    found = [
        (article, record["id"])
        for place, record in enumerate(records)
        for lang in sorted(set(languages) & set(record["texts"]))
        for article in _halves(record, lang, START + timedelta(days=10 * place / len(records)))
    ]
    found.sort(key=lambda pair: (pair[0].time, pair[0].id))
    return Titles([article for article, _ in found], [story for _, story in found])


def _halves(record: dict[str, Any], lang: str, time: datetime) -> list[Article]:
    text = record["texts"][lang]
    words = text["body"].split()
    middle = len(words) // 2
    if len(words) < MIN_CHARS:
        return []
    name, first, second = f"{record['id']} {lang}", words[:middle], words[middle:]
    later = time + timedelta(hours=6)
    return [
        Article(f"{name} 1", lang, text["title"], " ".join(first), time),
        Article(f"{name} 2", lang, " ".join(second[:12]), " ".join(second[12:]), later),
    ]


def macro(scores: LanguageScores) -> float:
    """The mean F1 of the languages with enough titles."""
    kept = [scores.languages[lang].f1 for lang, n in scores.articles.items() if n >= MIN_ARTICLES]
    return sum(kept) / len(kept)


def score(titles: Titles, found: Sequence[int | str], start: int, end: int) -> LanguageScores:
    """Scores of a part of the titles; clusters come from all of them."""
    part = slice(start, end)
    langs = [article.lang for article in titles.articles[part]]
    return monolingual(titles.stories[part], list(found)[part], langs)


def cluster_titles(titles: Titles, registry: dict[str, str]) -> dict[str, Sequence[int | str]]:
    """The clusters that the titles are put into by each."""
    return {
        "Event Registry": [registry[article.id] for article in titles.articles],
        "plain baseline": timed("baseline", lambda: plain_baseline(titles.articles)),
        "ours": timed("clustering", lambda: clusters_of(titles.articles)),
    }


def cluster_press(press: Titles) -> dict[str, ClusteringScores]:
    """Scores of the halves of press items, from titles alone and from full texts."""
    bare = [replace(article, body="") for article in press.articles]
    langs = [article.lang for article in press.articles]
    return {
        name: monolingual(press.stories, clusters_of(articles), langs).macro
        for name, articles in (("titles", bare), ("full texts", press.articles))
    }


def run(options: argparse.Namespace) -> Path:
    """The whole experiment."""
    folder = events_folder(options.data)
    titles = olympic_titles(folder)
    n = 800 if options.quick else len(titles.articles)
    titles, cut = Titles(titles.articles[:n], titles.stories[:n]), round(DEVELOPED * n)
    found = cluster_titles(titles, event_registry(folder))
    spans = {"developed on": (0, cut), "reported": (cut, n), "all": (0, n)}
    means = {
        name: [macro(score(titles, labels, *span)) for span in spans.values()]
        for name, labels in found.items()
    }
    ours = score(titles, found["ours"], cut, n)
    press = cluster_press(press_halves(folder, PRESS_LANGUAGES[:1] if options.quick else PRESS_LANGUAGES))
    sizes = {lang: [str(ours.articles[lang])] for lang in ours.languages}
    head = ["precision", "recall", "F1"]
    tables = [
        Table("Macro BCubed F1 of titles", ["clusters", *spans], _rows(means)),
        Table("Ours, reported part", ["language", "titles", *head], _rows(ours.languages, sizes)),
        Table("Halves of press items", ["from", *head], _rows(press)),
    ]
    summary = [
        claim(macro(ours) >= TARGET, f"macro F1 {macro(ours):.3f} is at least {TARGET}"),
        claim(press["full texts"].f1 > press["titles"].f1, "full texts are better than titles"),
    ]
    return _report(options.folder, tables, summary, {"macro": means, "press": press})


def _rows(
    values: Mapping[str, Sequence[float]], more: Mapping[str, list[str]] | None = None
) -> list[list[str]]:
    return [[name, *(more or {}).get(name, []), *(f"{x:.3f}" for x in row)] for name, row in values.items()]


def _report(folder: Path, tables: Sequence[Table], summary: Sequence[str], data: dict[str, Any]) -> Path:
    lines = ["# Clusters of each language", "", *summary, ""]
    for table in tables:
        table.show()
        lines += [f"## {table.title}", "", *table.markdown(), ""]
    return write_report(own_folder(folder, "event_clusters"), [*lines, *reading(__doc__, 4)], data)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options and run."""
    parser = options_parser(__doc__)
    parser.add_argument("--data", type=Path, help="folder with events; ISOGLOSS_DATA by default")
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
