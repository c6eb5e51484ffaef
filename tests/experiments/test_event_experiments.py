"""The experiments on events write their reports at toy size."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from experiments import (
    event_channels,
    event_data,
    event_end_to_end,
    event_linker,
    event_linking,
    event_pairs,
)
from isogloss import io
from isogloss.events import Article
from isogloss.events.link import LINKER_FEATURES, Linker, _profiles

NAMES = [
    "AvgStoryQ",
    "MinStoryQ",
    "CCAMatchCount",
    "CCAAvgCosSim",
    "EntityCosSim",
    "KeywordCosSim",
    "TimeDiff",
    "HasSameLocation",
    "a",
    "b",
    "c",
    "d",
    "e",
    "f",
    "g",
    "h",
    "i",
    "j",
    "k",
    "l",
    "m",
    "DummyVar",
    "ShouldMerge",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs, titles and press items in the forms of the shared data."""
    folder = tmp_path_factory.mktemp("data") / "events"
    folder.mkdir()
    rng = np.random.default_rng(0)
    lines = ["\t".join([*NAMES, "Language pair"]), "\t".join("c" * 24), ""]
    for row in range(120):
        label, pair = row % 2, ("eng-spa", "deu-eng", "deu-spa", "eng-eng")[row // 2 % 4]
        values = [
            f"{value + (5, 20)[row % 3 == 0] * (n == 0) + label:.3f}"
            for n, value in enumerate(rng.normal(0, 1, 22))
        ]
        values[7] = "?" if row % 5 == 0 else values[7]
        lines.append("\t".join([*values, ("no", "yes")[label], pair]))
    (folder / "story-linking-features.tab").write_text("\n".join(lines), encoding="utf-8")
    text = files("isogloss.events.ingest").joinpath("sample/news.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in text.splitlines()[:80]]
    titles = [
        {key: one[key] for key in ("id", "lang", "title", "time")} | {"cluster": one["event"]}
        for one in records
    ]
    _write(folder / "og2021-titles.part1.jsonl.gz", titles)
    blurbs = [
        {key: one[key] for key in ("id", "lang", "time", "event")} | {"text": one["title"], "links": []}
        for one in records
    ]
    doubtful = {**blurbs[0], "id": "again", "event": "another"}
    _write(folder / "itn-blurbs.part1.jsonl.gz", [*blurbs, {**blurbs[1], "id": "twice"}, doubtful])
    stories: dict[str, dict[str, object]] = {}
    for one in records:
        story = stories.setdefault(one["event"], {"id": one["event"], "date": one["time"][:10], "texts": {}})
        story["texts"][one["lang"]] = {"title": one["title"], "body": one["body"]}  # type: ignore[index]
    _write(folder / "fsfe-news.jsonl.gz", [*stories.values(), {"id": "x", "date": "2019-08-99", "texts": {}}])
    return folder.parent


def _write(path: Path, records: list[dict[str, object]]) -> None:
    path.write_bytes(gzip.compress("".join(json.dumps(one) + "\n" for one in records).encode()))


def test_a_row_of_a_table_has_the_published_figures_beside_it(data: Path) -> None:
    pairs = event_data.story_pairs(event_data.events_folder(data))
    links = event_linking.groups(pairs.names)["hub CCA"]
    found = event_linking.scores(pairs, links, np.ones(len(pairs.labels), dtype=bool), 1)
    assert found.pairs == 90
    assert 0 <= found.accuracy <= 100
    assert "78.3 / 78.2 / 78.9 / 78.4" in str(event_linking.as_table("8.10", {"hub CCA": found}).markdown())


@pytest.mark.slow
def test_tables_of_linking(data: Path, tmp_path: Path) -> None:
    report = event_linking.main([str(tmp_path), "--data", str(data), "--quick"])
    assert "Table 8.10" in report.read_text(encoding="utf-8")
    tables = json.loads((report.parent / "report.json").read_text(encoding="utf-8"))
    assert tables["8.10"]["all"]["pairs"] == 90
    assert set(tables["8.11"]) == {"en, de", "en, es", "es, de"}


def test_events_end_to_end(data: Path, tmp_path: Path) -> None:
    report = event_end_to_end.main([str(tmp_path), "--data", str(data), "--quick"])
    found = json.loads((report.parent / "report.json").read_text(encoding="utf-8"))
    everything = found["titles, all"]
    assert everything["oracle links"][1] >= everything["unlinked"][1]
    assert all(0 < value <= 1 for part in found.values() for row in part.values() for value in row)


def test_blurbs_count_once_and_only_with_one_event(data: Path) -> None:
    blurbs = event_data.news_blurbs(event_data.events_folder(data))
    assert len(blurbs.articles) == 79
    assert len({(article.lang, article.title) for article in blurbs.articles}) == 79


def test_a_linker_is_trained_and_scored_on_held_out_events(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "linker.isogloss"
    report = event_linker.main([str(tmp_path), "--data", str(data), "--quick", "--output", str(model)])
    found = json.loads((report.parent / "report.json").read_text(encoding="utf-8"))
    assert found["without the encoder"]["sample news, all"][2] > 0.7
    assert tuple(io.load(model, expected=Linker).features) == LINKER_FEATURES


def test_scores_of_some_articles_count_what_is_wrong_around_them() -> None:
    stories, events = ["a", "a", "b", "b"], [1, 1, 1, 2]
    precision, recall, _ = event_linker.bcubed_of([0, 1], stories, events)
    assert (precision, recall) == (pytest.approx(2 / 3), 1.0)


def test_an_annotator_leaves_out_what_is_switched_off() -> None:
    article = Article(
        "1", "en", "Anna Keller meets 300 nurses in Vienna", "", datetime(2031, 3, 5, tzinfo=UTC)
    )
    everything = event_channels.PartialAnnotator(frozenset()).annotate(article)
    assert {name.partition(":")[0] for name in everything.entities} >= {"geo", "name"}
    assert everything.numbers
    found = event_channels.PartialAnnotator(frozenset({"places", "names", "numbers"})).annotate(article)
    assert not {name for name in found.entities if name.startswith(("geo:", "name:"))}
    assert not found.places
    assert not found.numbers


def test_news_words_are_known_again_after_they_were_switched_off() -> None:
    with event_channels.news_words(known=False):
        assert not _profiles.news_concepts("earthquake", "en")
    assert _profiles.news_concepts("earthquake", "en")


def test_similar_articles_have_higher_similarities() -> None:
    quake = "Earthquake near Vienna kills 300  An earthquake of magnitude 7.1 hit Vienna on Monday."
    beben = "Erdbeben bei Wien: 300 Tote  Ein Erdbeben der Stärke 7,1 erschütterte am Montag Wien."
    opera = "Neue Oper in Graz  Das Orchester spielt am Samstag eine neue Oper."
    records = [
        {"lang1": "en", "text1": quake, "lang2": "de", "text2": text, "scores": {"overall": grade}}
        for text, grade in ((beben, 1.0), (opera, 4.0))
    ]
    articles = event_pairs.represented(records, encoder=None)
    found = event_pairs.channel_similarities(records, articles)
    column = event_pairs.CHANNELS.index("textCosSim")
    assert found[0, column] > found[1, column]
    assert np.isnan(found[:, event_pairs.CHANNELS.index("encoderCosSim")]).all()
