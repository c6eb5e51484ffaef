"""What the experiments on events share: where the data are, labelled pairs, labelled titles."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isogloss.events import Article, parse_article
from isogloss.exceptions import ArticleError

PUBLISHED_PAIRS = {"deu-eng": "en, de", "eng-spa": "en, es", "deu-spa": "es, de"}


class StoryPairs(NamedTuple):
    """Labelled pairs of clusters: names of features, their values, labels, and pairs of languages."""

    names: list[str]
    features: NDArray[np.float64]
    labels: NDArray[np.int64]
    pairs: list[str]


class Titles(NamedTuple):
    """Labelled titles in the order of time: articles, and the true story of each."""

    articles: list[Article]
    stories: list[str]


def events_folder(given: Path | None) -> Path:
    """The folder ``events``: of the given one, of ISOGLOSS_DATA, or of the data beside the checkout."""
    beside = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    folder = (given or Path(os.environ.get("ISOGLOSS_DATA", beside))) / "events"
    if not folder.is_dir():
        raise SystemExit(f"no folder {folder}; set ISOGLOSS_DATA or give --data")
    return folder


def story_pairs(folder: Path) -> StoryPairs:
    """The labelled pairs of the thesis between English, German and Spanish, without the constant column."""
    lines = (folder / "story-linking-features.tab").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    head, kept = rows[0], [row for row in rows[3:] if row[23] in PUBLISHED_PAIRS]
    names = [name for name in head[:22] if name != "DummyVar"]
    columns = [head.index(name) for name in names]
    features = [[np.nan if row[c] == "?" else float(row[c]) for c in columns] for row in kept]
    labels = np.array([int(row[22] == "yes") for row in kept])
    return StoryPairs(names, np.array(features), labels, [row[23] for row in kept])


def olympic_titles(folder: Path) -> Titles:
    """The labelled titles, in the order of time."""
    with gzip.open(folder / "og2021-titles.part1.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = sorted((json.loads(line) for line in lines), key=lambda one: (one["time"], one["id"]))
    articles = [parse_article({**record, "url": ""}, check_language=False) for record in records]
    return Titles(articles, [record["cluster"] for record in records])


def news_blurbs(folder: Path) -> Titles:
    """The blurbs of world news, in the order of time; equal texts of a language count once."""
    with gzip.open(folder / "itn-blurbs.part1.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = sorted((json.loads(line) for line in lines), key=lambda one: (one["time"], one["id"]))
    events: dict[tuple[str, str], set[str]] = {}
    for record in records:
        events.setdefault((record["lang"], record["text"]), set()).add(record["event"])
    first = {(record["lang"], record["text"]): record for record in reversed(records)}
    kept = sorted(first.values(), key=lambda one: (one["time"], one["id"]))
    kept = [record for record in kept if len(events[record["lang"], record["text"]]) == 1]
    named = [{**record, "title": record["text"], "body": ""} for record in kept]
    articles = [parse_article(record, check_language=False) for record in named]
    return Titles(articles, [record["event"] for record in kept])


def press_items(folder: Path, languages: tuple[str, ...] | None = None) -> Titles:
    """The dated press items as articles, one for each language, in the order of time; without dates, none."""
    with gzip.open(folder / "fsfe-news.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    found = []
    for record in records:
        for lang, text in sorted(record["texts"].items()):
            fields = {"id": f"{record['id']}/{lang}", "lang": lang, "time": record["date"], **text}
            if (languages is None or lang in languages) and (article := _article(fields)):
                found.append((article, record["id"]))
    found.sort(key=lambda pair: (pair[0].time, pair[0].id))
    return Titles([article for article, _ in found], [story for _, story in found])


def _article(fields: dict[str, str]) -> Article | None:
    """An article, or nothing where the date is none."""
    try:
        return parse_article(fields, check_language=False)
    except ArticleError:
        return None
