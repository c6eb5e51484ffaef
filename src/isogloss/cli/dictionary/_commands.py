"""The commands of ``isogloss dictionary``."""

from __future__ import annotations

import typer

from isogloss.cli._lazy import CommandGroup
from isogloss.cli._options import renaming
from isogloss.cli.dictionary import _vectors
from isogloss.cli.dictionary._from_text import from_text
from isogloss.cli.dictionary._sample import sample
from isogloss.cli.dictionary._training import vectors

dictionary_group = typer.Typer(
    cls=CommandGroup, help="Make bilingual dictionaries from text or word vectors.", no_args_is_help=True
)


@dictionary_group.callback()
def _group() -> None:
    """Commands about dictionaries."""


dictionary_group.command("from-text")(from_text)
dictionary_group.command("sample")(sample)
dictionary_group.command("build", cls=renaming({"--model": "--kind", "--save-model": "--save"}))(
    _vectors.build
)
dictionary_group.command("evaluate")(_vectors.evaluate_command)
dictionary_group.command("neighbours", cls=renaming({"--language": "--lang"}))(_vectors.neighbours)
dictionary_group.command("plot", cls=renaming({"--language": "--lang"}))(_vectors.plot)
dictionary_group.command("vectors")(vectors)
