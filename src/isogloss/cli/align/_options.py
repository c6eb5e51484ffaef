"""Options of ``isogloss align`` that say what is learned: models, priors, how the lexicon is estimated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from isogloss.cli._options import parse_settings

if TYPE_CHECKING:
    from isogloss.alignment import Aligner, Corrections, Priors
    from isogloss.corpora import WordPairs

PresetName: TypeAlias = Literal["quick", "default", "thorough"]
AgreementName: TypeAlias = Literal["none", "product", "mutual"]
SETTINGS = (
    "null", "spelling", "pseudo_count", "bayes", "interpolate", "prune", "prefix", "stems", "ensemble",
    "mean", "classes", "uniform", "jump_pseudo", "batch_pairs", "keep_index",
)  # fmt: skip
"""Parameters of :class:`~isogloss.alignment.Aligner` that have no option of their own."""

Preset: TypeAlias = Annotated[
    PresetName,
    typer.Option(
        help="How much work to do: quick takes a quarter of the time of the default, thorough 3 to 11 times.",
    ),
]
Schedule: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Models (1, 2, diagonal, hmm, then 3, 4, 5) and iterations, for example 1:5,hmm:5,3:3,4:3; by "
        "default those of the preset."
    ),
]
Agreement: TypeAlias = Annotated[
    AgreementName | None,
    typer.Option(
        help="How to train the two directions to agree; by default as in the preset.",
    ),
]
SetOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help=f"Set a parameter: {', '.join(SETTINGS)}. Repeatable."),
]
LexiconFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Known translations: source, target, count; or a table written by 'lexicon'.", metavar="FILE"
    ),
]
JumpsFile: TypeAlias = Annotated[
    Path | None, typer.Option(help="Known jumps: a table written by 'jumps'.", metavar="FILE")
]
FertilityFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Known fertilities: a table written by 'fertility'; for models 3 to 5.", metavar="FILE"
    ),
]
PriorWeight: TypeAlias = Annotated[
    float, typer.Option(help="Multiply the counts of these files by this factor.", min=0.0)
]
KeepCase: TypeAlias = Annotated[bool, typer.Option("--keep-case", help="Distinguish upper and lower case.")]
Disk: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Keep the text in this folder during training, instead of in memory.", metavar="FOLDER"
    ),
]


def settings_of(
    preset: str,
    schedule: str | None,
    agreement: str | None,
    settings: Sequence[str],
    *,
    threshold: float | None = None,
) -> dict[str, Any]:
    """Settings of a preset, overridden by those given on their own."""
    from isogloss.alignment import PRESETS

    options = {"schedule": schedule, "threshold": threshold}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if agreement is not None:
        given["agreement"] = None if agreement == "none" else agreement
    return {**PRESETS[preset], **given, **parse_settings(settings, SETTINGS)}


def priors_of(
    lexicon: Path | None, jumps: Path | None, fertility: Path | None, weight: float
) -> Priors | None:
    """Return the prior counts of the files, or None without files."""
    from isogloss.alignment import read_priors

    if lexicon is jumps is fertility is None:
        return None
    return read_priors(lexicon=lexicon, jumps=jumps, fertility=fertility).scaled(weight)


def corrections_of(path: Path | None, text: WordPairs) -> Corrections | None:
    """Return the corrections of a file, which must be of this text, or None without a file."""
    from isogloss.alignment import read_corrections

    if path is None:
        return None
    corrections = read_corrections(path)
    corrections.check(text)
    return corrections


def with_corrections(priors: Priors | None, corrections: Corrections | None) -> Priors | None:
    """Prior counts with the corrected links among them."""
    from isogloss.alignment import Priors

    if corrections is None or not corrections.translations:
        return priors
    known = Priors() if priors is None else priors
    lexicon = Priors.from_rows([*known.translations, *corrections.translations]).lexicon
    return Priors(lexicon, known.jumps, known.fertility)


def checked(aligner: Aligner) -> Aligner:
    """The aligner, if its settings can be."""
    from isogloss.alignment import check_settings

    try:
        check_settings(aligner)
    except ValueError as reason:
        raise typer.BadParameter(str(reason)) from reason
    return aligner
