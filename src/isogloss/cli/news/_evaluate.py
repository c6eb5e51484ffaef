"""``isogloss evaluate clusters`` and ``links``: how good they are on news whose events are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._options import Json
from isogloss.cli._output import echo_json
from isogloss.cli._progress import progress_bar

if TYPE_CHECKING:
    from isogloss.events.cluster import ClusterSettings
    from isogloss.events.training import LabelledNews, LabelledPairs

_LINK_SCORES = ("accuracy", "precision", "recall", "f1")

News = Annotated[
    Path | None,
    typer.Argument(metavar="[NEWS]", help="JSON lines with a field 'event'; the sample news by default."),
]


def clusters(
    news: News = None,
    threshold: Annotated[
        float, typer.Option(help="Minimum similarity of a title and its cluster.", min=0, max=1)
    ] = 0.25,
    body_threshold: Annotated[
        float, typer.Option(help="The same for an article with a body.", min=0, max=1)
    ] = 0.38,
    as_json: Json = False,
) -> None:
    """Score the clusters of each language against known events, before linking."""
    from isogloss.events.cluster import ClusterSettings
    from isogloss.events.training import load_labelled_news

    settings = ClusterSettings(threshold=threshold, body_threshold=body_threshold)
    found = _cluster_scores(load_labelled_news(news), settings)
    if as_json:
        echo_json(found)
        return
    for name, one in found.items():
        table = Table("language", "articles", "precision", "recall", "F1", title=name)
        for lang, row in one["languages"].items():
            table.add_row(lang, str(row["articles"]), *_shares(row))
        table.add_row("mean", "", *_shares(one["macro"]))
        Console().print(table)


def links(
    news: News = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", "-m", help="Score this model of 'link train' instead of cross-validating."),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Number of repetitions of cross-validation.", min=1)] = 1,
    folds: Annotated[int, typer.Option(help="Number of folds.", min=2)] = 10,
    as_json: Json = False,
) -> None:
    """Score links between clusters against known events, by cross-validation or for a trained linker.

    Cross-validation puts pairs of the same cluster into several folds, so its scores are too optimistic.
    Scoring a trained linker on unseen news is fair.
    """
    from isogloss.events.training import labelled_pairs, load_labelled_news

    with Console(stderr=True).status("clustering and linking"):
        labelled = load_labelled_news(news)
        pairs = labelled_pairs(labelled.articles, labelled.events)
        found = _validated(pairs, repeats, folds) if model is None else _scored(pairs, model)
    if as_json:
        echo_json(found)
        return
    table = Table(
        "", "per cent", title=f"{found['pairs']} pairs of clusters, {found['one_event']} of one event"
    )
    for name in _LINK_SCORES:
        spread = f" ± {found['deviations'][name]:.1f}" if "deviations" in found else ""
        table.add_row(name, f"{found[name]:.1f}{spread}")
    Console().print(table)


def _cluster_scores(labelled: LabelledNews, settings: ClusterSettings) -> dict[str, dict[str, Any]]:
    """Scores of each language and their mean, by each of two measures."""
    from isogloss.events.training import bcubed, find_clusters, monolingual, pairwise

    with progress_bar() as progress:
        clustered = find_clusters(progress.track(labelled.articles, description="clustering"), settings)
    gold = [labelled.events[article.id] for article in labelled.articles]
    found = [clustered[article.id] for article in labelled.articles]
    languages = [article.lang for article in labelled.articles]
    out = {}
    for name, measure in {"BCubed": bcubed, "pairs": pairwise}.items():
        scores = monolingual(gold, found, languages, measure)
        rows = {
            lang: {"articles": scores.articles[lang]} | one._asdict()
            for lang, one in scores.languages.items()
        }
        out[name] = {"macro": scores.macro._asdict(), "languages": rows}
    return out


def _validated(pairs: LabelledPairs, repeats: int, folds: int) -> dict[str, Any]:
    from isogloss.events.link import Linker
    from isogloss.events.training import cross_validate_links

    linker = Linker()
    columns = pairs.columns(linker.features)
    scores = cross_validate_links(linker, columns, pairs.labels, repeats=repeats, folds=folds)
    deviations = dict(zip(_LINK_SCORES, scores.deviations, strict=True))
    return _named(pairs, scores[:4]) | {"deviations": deviations, "repeats": repeats, "folds": folds}


def _scored(pairs: LabelledPairs, model: Path) -> dict[str, Any]:
    from isogloss import io
    from isogloss.events.link import Linker
    from isogloss.events.training import score_links

    linker = io.load(model, expected=Linker)
    return _named(pairs, score_links(pairs.labels, linker.predict(pairs.columns(linker.features))))


def _named(pairs: LabelledPairs, scores: tuple[float, ...]) -> dict[str, Any]:
    counts = {"pairs": len(pairs.labels), "one_event": int(pairs.labels.sum())}
    return dict(zip(_LINK_SCORES, scores, strict=True)) | counts


def _shares(row: dict[str, float]) -> list[str]:
    return [f"{row[name]:.3f}" for name in ("precision", "recall", "f1")]
