"""The ``isogloss`` command."""

from __future__ import annotations

import atexit
import gc
import logging
import sys
from typing import Annotated, ClassVar, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

import isogloss
from isogloss.cli.lazy import LazyGroup, Place
from isogloss.exceptions import IsoglossError
from isogloss.threads import bound_process

__all__ = ["main"]

logger = logging.getLogger(__name__)

INTERRUPTED = 130


class _Commands(LazyGroup):
    """The commands of isogloss."""

    places: ClassVar = {
        "demo": Place(
            "isogloss.cli.demo", "demo_group", "See what isogloss does, on news and data that come with it."
        ),
        "events": Place(
            "isogloss.cli.events",
            "events_group",
            "What happened, in every language that reported it: isogloss events NEWS.",
        ),
        "init": Place(
            "isogloss.cli.storing",
            "init",
            "Make a file of settings, with every default and what it means, and an empty store.",
        ),
        "ingest": Place(
            "isogloss.cli.storing",
            "ingest",
            "Put articles into the store, each once; what is no article goes to the quarantine.",
        ),
        "watch": Place(
            "isogloss.cli.storing",
            "watch",
            "Visit feeds again and again, and put what is new into the store.",
        ),
        "serve": Place(
            "isogloss.cli.serving", "serve", "Serve the API and the pages until Ctrl-C or SIGTERM."
        ),
        "work": Place(
            "isogloss.cli.serving",
            "work",
            "Make events of articles, without serving anything, until Ctrl-C or SIGTERM.",
        ),
        "token": Place("isogloss.cli.serving", "token_group", "Tokens: who may read, write and administer."),
        "backup": Place(
            "isogloss.cli.storing",
            "backup",
            "Copy the store to a file, as of one moment, while it is in use.",
        ),
        "restore": Place(
            "isogloss.cli.storing",
            "restore",
            "Put a copy in the place of the store, which must not be there.",
        ),
        "prune": Place(
            "isogloss.cli.pruning",
            "prune",
            "Show the old stories that retention would delete; delete them with --yes.",
        ),
        "delete": Place(
            "isogloss.cli.deleting",
            "delete",
            "Delete articles with all their traces, and make events anew without them.",
        ),
        "doctor": Place(
            "isogloss.cli.storing",
            "doctor",
            "Look the store over: its files, its tables, how far events are behind, what was left out.",
        ),
        "concepts": Place(
            "isogloss.cli.concepts", "concepts_group", "Dictionaries of concepts: build, look at, try."
        ),
        "link": Place("isogloss.cli.link", "link_group", "Links between clusters of different languages."),
        "model": Place("isogloss.cli.models", "model_group", "Look at model files."),
        "align": Place(
            "isogloss.cli.align",
            "align_group",
            "Links between the words of sentence pairs: isogloss align SRC TGT -o LINKS.",
        ),
        "corpus": Place("isogloss.cli.corpus", "corpus_group", "Comparable corpora: build, look at, split."),
        "dictionary": Place(
            "isogloss.cli.dictionary", "dictionary_group", "Bilingual dictionaries from word vectors."
        ),
        "evaluate": Place("isogloss.cli.evaluate", "evaluate_group", "How good a fitted model is."),
        "similar": Place(
            "isogloss.cli.similar",
            "similar_group",
            'Documents of many languages in one space: isogloss similar "text" --lang en -m MODEL -c CORPUS.',
        ),
        "network": Place(
            "isogloss.cli.network",
            "network_group",
            "Bayesian networks: show, ask, learn, sample. FILE is BIF, XMLBIF, JSON or a model file.",
        ),
    }


app = typer.Typer(
    name="isogloss",
    cls=_Commands,
    help="One meaning space from many views, and the same story in every language.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"isogloss {isogloss.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options that come before the command."""


def main() -> None:
    """Run the command line; errors end with a sentence and code 1, Ctrl-C with a word and code 130."""
    # Python looks for cycles a last time as it ends, which takes most of a second with the models loaded.
    atexit.register(gc.freeze)
    try:
        bound_process()
        app()
    except (IsoglossError, ValueError, OSError, ImportError, ArithmeticError) as error:
        _fail(str(error))
    except MemoryError as error:
        _fail(f"this does not fit into memory ({error or 'no more to be had'})")
    except SystemExit as end:
        if end.code == INTERRUPTED:  # as typer ends at Ctrl-C, without a word
            Console(stderr=True).print("stopped")
        raise


def _fail(said: str) -> NoReturn:
    from isogloss.service.logs import logs_json

    if logs_json():
        logger.error("%s", said)
    else:
        Console(stderr=True).print(f"[bold red]error:[/] {escape(said)}", highlight=False)
    sys.exit(1)
