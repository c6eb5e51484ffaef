"""``isogloss evaluate search``: whether search finds the right events, and no others."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._options import Json
from isogloss.cli._output import echo, echo_json
from isogloss.cli._progress import progress_bar
from isogloss.cli.store._options import Config, StorePlace, load_settings, open_store
from isogloss.exceptions import CorpusError

if TYPE_CHECKING:
    from isogloss.service.search import LabelledQuery, SearchScores
    from isogloss.service.settings import Settings

COMPONENTS = 60
"""Components of the model of the sample, as in the demo."""

MAX_SHOWN = 20
"""Queries that are listed because they find too much or too little."""


def search(
    queries: Annotated[
        Path | None,
        typer.Option(
            help="JSON lines with q and articles, the ids of relevant articles; by default those of the "
            "sample news."
        ),
    ] = None,
    config: Config = None,
    store: StorePlace = None,
    as_json: Json = False,
) -> None:
    """Score search with labelled queries: precision among the first five events, precision, recall.

    Without --queries, the built-in queries are run on the sample news, in a temporary store; this takes half
    a minute. With --queries, they are run on your store.
    """
    if queries is None and (config is not None or store is not None):
        raise typer.BadParameter("the built-in queries are on the sample news; give --queries for a store")
    labelled = _read(queries)
    if queries is not None:
        scores = _evaluate(load_settings(config, store), labelled)
    else:
        with tempfile.TemporaryDirectory(prefix="isogloss-search-") as temporary:
            scores = _evaluate(_sample_settings(Path(temporary)), labelled)
    if as_json:
        echo_json({"means": scores.means(), "queries": [asdict(each) for each in scores.queries]})
    else:
        _show(scores)


def _read(path: Path | None) -> list[LabelledQuery]:
    """Read queries; the built-in ones name events of the sample news instead of articles."""
    from isogloss.events.ingest import sample_news, sample_queries
    from isogloss.service.search import read_queries

    if path is not None:
        try:
            return read_queries(path.read_text(encoding="utf-8").splitlines(), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise CorpusError(f"{path}: cannot be read ({error}); expected JSON lines in UTF-8") from error
    events: dict[str, set[str]] = {}
    for article, event in sample_news().events.items():
        events.setdefault(event, set()).add(article)
    return read_queries(
        sample_queries(), "queries.jsonl", {event: frozenset(own) for event, own in events.items()}
    )


def _sample_settings(folder: Path) -> Settings:
    """Fit the model of the demo and make events of the sample news; return the settings of the store."""
    from isogloss import io
    from isogloss.cli.store._make_events import make_events
    from isogloss.events.ingest import sample_corpus, sample_news
    from isogloss.service.settings import ModelSettings, Settings, StoreSettings
    from isogloss.similarity import HubSimilarity
    from isogloss.store import Store

    with Console(stderr=True).status("learning a common space for five languages"):
        model = HubSimilarity(COMPONENTS, random_state=0).fit(sample_corpus())
        io.save(model, folder / "similarity.isogloss")
    settings = Settings(
        store=StoreSettings(place=str(folder / "news.db")),
        models=ModelSettings(similarity=str(folder / "similarity.isogloss")),
    )
    with Store(settings.store.place) as store, progress_bar() as progress:
        store.add(sample_news().articles)
        make_events(store, settings, progress)
    return settings


def _evaluate(settings: Settings, labelled: list[LabelledQuery]) -> SearchScores:
    from isogloss.service.models import Models
    from isogloss.service.search import EventSearch, create_neighbour_index, evaluate_search

    with open_store(settings) as store:
        models = Models.load(settings.models, store)
        neighbours = create_neighbour_index(store, models, settings)
        while neighbours.catch_up():
            pass
        return evaluate_search(EventSearch(store, models, neighbours), labelled)


def _show(scores: SearchScores) -> None:
    table = Table("queries", "", "P@5", "precision", "recall")
    for part, means in scores.means().items():
        shares = (f"{means[name]:.3f}" for name in ("p_at_5", "precision", "recall"))
        table.add_row(escape(part), str(means["queries"]), *shares)
    console = Console()
    console.print(table)
    missed = [each for each in scores.queries if each.precision < 1 or each.recall < 1]
    for each in missed[:MAX_SHOWN]:
        echo(f"{each.q}: found {each.found}, precision {each.precision:.2f}, recall {each.recall:.2f}")
    if len(missed) > MAX_SHOWN:
        echo(f"and {len(missed) - MAX_SHOWN} more; --json lists all")
