"""The ``isogloss`` command."""

from __future__ import annotations

import atexit
import gc
import logging
import sys
from typing import Annotated, ClassVar, NoReturn

import typer

import isogloss
from isogloss.cli._lazy import LazyCommand, LazyGroup
from isogloss.cli._output import echo
from isogloss.exceptions import IsoglossError
from isogloss.io import TerminalFormatter
from isogloss.threads import bound_process

__all__ = ["main"]

logger = logging.getLogger(__name__)

INTERRUPTED = 130


class _Commands(LazyGroup):
    """The commands of isogloss."""

    lazy_commands: ClassVar = {
        "demo": LazyCommand(
            "isogloss.cli.demo._commands", "demo_group", "Show what isogloss does, on built-in sample data."
        ),
        "events": LazyCommand(
            "isogloss.cli.news._events", "events_group", "Find events in multilingual news."
        ),
        "init": LazyCommand(
            "isogloss.cli.store._ingest", "init", "Create a settings file and an empty store."
        ),
        "ingest": LazyCommand(
            "isogloss.cli.store._ingest", "ingest", "Add articles to the store and find their events."
        ),
        "newsroom": LazyCommand(
            "isogloss.cli.feeds._newsroom",
            "newsroom",
            "Watch feeds, find events, and serve the pages, all in one.",
        ),
        "watch": LazyCommand("isogloss.cli.feeds._watch", "watch", "Visit feeds and store new articles."),
        "feeds": LazyCommand("isogloss.cli.feeds._feeds", "feeds_group", "Show and check feeds."),
        "serve": LazyCommand("isogloss.cli._serve", "serve", "Serve the API and the web pages."),
        "work": LazyCommand(
            "isogloss.cli._serve", "work", "Run the worker that turns stored articles into events."
        ),
        "token": LazyCommand("isogloss.cli._serve", "token_group", "Manage access tokens."),
        "backup": LazyCommand(
            "isogloss.cli.store._maintenance", "backup", "Back up the store, also while it is in use."
        ),
        "restore": LazyCommand(
            "isogloss.cli.store._maintenance", "restore", "Restore a backup. The target store must not exist."
        ),
        "prune": LazyCommand(
            "isogloss.cli.store._prune", "prune", "Show old stories, or delete them with --yes."
        ),
        "delete": LazyCommand(
            "isogloss.cli.store._delete", "delete", "Delete articles and all traces of them."
        ),
        "doctor": LazyCommand(
            "isogloss.cli.store._maintenance", "doctor", "Check the store and report problems."
        ),
        "concepts": LazyCommand(
            "isogloss.cli.news._concepts", "concepts_group", "Build and query concept dictionaries."
        ),
        "link": LazyCommand(
            "isogloss.cli.news._link",
            "link_group",
            "Train and score the linker of clusters across languages.",
        ),
        "model": LazyCommand("isogloss.cli._models", "model_group", "Inspect model files."),
        "views": LazyCommand(
            "isogloss.cli.views._commands",
            "views_group",
            "Fit multi-view models to tables: CCA, multi-set CCA, sparse CCA, factor analysis.",
        ),
        "align": LazyCommand(
            "isogloss.cli.align._commands", "align_group", "Align the words of sentence pairs."
        ),
        "corpus": LazyCommand(
            "isogloss.cli._corpus", "corpus_group", "Build comparable corpora from documents."
        ),
        "dictionary": LazyCommand(
            "isogloss.cli.dictionary._commands",
            "dictionary_group",
            "Make bilingual dictionaries from text or word vectors.",
        ),
        "evaluate": LazyCommand("isogloss.cli._evaluate", "evaluate_group", "Evaluate models."),
        "similar": LazyCommand(
            "isogloss.cli._similar", "similar_group", "Find similar documents across languages."
        ),
        "wikipedia": LazyCommand(
            "isogloss.cli._wikipedia",
            "wikipedia_group",
            "Build a corpus, a similarity model and a concept dictionary from Wikipedia.",
        ),
        "network": LazyCommand(
            "isogloss.cli.network._commands", "network_group", "Query, learn and draw Bayesian networks."
        ),
    }


app = typer.Typer(
    name="isogloss",
    cls=_Commands,
    help="One meaning space from many views, and the same story in every language.",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: rich would take longer to import than everything else
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        echo(f"isogloss {isogloss.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options that come before the command."""


def main() -> None:
    """Run the command line; errors end with a sentence and code 1, Ctrl-C with a word and code 130."""
    # Python looks for cycles a last time as it ends, which takes most of a second with the models loaded.
    atexit.register(gc.freeze)
    if logging.lastResort is not None:  # prints warnings of commands that set no logging up
        logging.lastResort.setFormatter(TerminalFormatter())
    try:
        bound_process()
        app()
    except (IsoglossError, ValueError, OSError, ImportError, ArithmeticError) as error:
        _fail(str(error))
    except MemoryError as error:
        _fail(f"out of memory ({error})" if str(error) else "out of memory")
    except SystemExit as end:
        if end.code == INTERRUPTED:  # as typer ends at Ctrl-C, without a word
            echo("stopped", err=True)
        raise


def _fail(message: str) -> NoReturn:
    from isogloss.service import logs_json

    if logs_json():
        logger.error("%s", message)
    else:
        typer.secho("error: ", fg="red", bold=True, err=True, nl=False)
        echo(message, err=True)
    sys.exit(1)
