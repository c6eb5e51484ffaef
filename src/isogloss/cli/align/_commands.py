"""``isogloss align``: links between the words of sentence pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, get_args

import typer

from isogloss.cli._console import Console
from isogloss.cli._lazy import DefaultGroup
from isogloss.cli._options import CommandWithSettings, Json, Save, renaming
from isogloss.cli._output import check_outputs, echo_json, is_stdout, report_output, written
from isogloss.cli.align import _look as align_look
from isogloss.cli.align._export import export
from isogloss.cli.align._input import (
    Columns,
    CorrectionsFile,
    Details,
    First,
    Form,
    Jobs,
    Languages,
    MaxTokens,
    Model,
    Output,
    Source,
    Strict,
    Target,
    Tokenised,
    describe_tokens,
    open_text,
    warn_of_problems,
)
from isogloss.cli.align._options import (
    Agreement,
    Disk,
    FertilityFile,
    JumpsFile,
    KeepCase,
    LexiconFile,
    Preset,
    PriorWeight,
    Schedule,
    SetOption,
    checked,
    corrections_of,
    priors_of,
    settings_of,
    with_corrections,
)
from isogloss.cli.align._progress import AlignProgress, checkpoint_path, train
from isogloss.cli.align._sentences import sentences
from isogloss.cli.align._view import view
from isogloss.exceptions import CorpusError

if TYPE_CHECKING:
    from isogloss.alignment import Aligner, Corrections, Links
    from isogloss.corpora import WordPairs

align_group = typer.Typer(
    cls=DefaultGroup,
    help="Align the words of sentence pairs.\n\n"
    "isogloss align SRC TGT -o LINKS is short for isogloss align run ...",
    no_args_is_help=True,
)

Combination: TypeAlias = Literal[
    "agreed", "forward", "backward",
    "intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and",
]  # fmt: skip
Method: TypeAlias = Annotated[
    Combination,
    typer.Option(
        metavar="METHOD", help=f"How to combine the two directions: {', '.join(get_args(Combination))}."
    ),
]
Threshold: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Minimum probability of 'agreed' links; lower it for more links. By default chosen from the "
        "text.",
        min=0.0,
        max=1.0,
    ),
]
Itg: TypeAlias = Annotated[
    bool, typer.Option("--itg", help="Remove links that no bracketing of the pair allows.")
]
Probabilities: TypeAlias = Annotated[
    bool, typer.Option("--probabilities", help="Write 0-0:0.93, each 'agreed' link with its probability.")
]


class RunCommand(CommandWithSettings):
    """``isogloss align run``, with the options of 0.1 that are settings or have other names now."""

    renamed: ClassVar[Mapping[str, str]] = {"--model": "--save"}
    former_options = ("null", "spelling", "pseudo_count", "interpolate", "prune", "prefix")
    former_flags = ("bayes",)


@align_group.command("run", cls=RunCommand)
def run(
    source: Source,
    target: Target = None,
    *,
    output: Output,
    save: Save = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume an interrupted run with the same output.")
    ] = False,
    preset: Preset = "default",
    schedule: Schedule = None,
    agreement: Agreement = None,
    method: Method = "agreed",
    threshold: Threshold = None,
    itg: Itg = False,
    lexicon: LexiconFile = None,
    jumps: JumpsFile = None,
    fertility: FertilityFile = None,
    prior_weight: PriorWeight = 1.0,
    keep_case: KeepCase = False,
    settings: SetOption = None,
    disk: Disk = None,
    probabilities: Probabilities = False,
    details: Details = None,
    corrections: CorrectionsFile = None,
    first: First = 0,
    form: Form = "auto",
    columns: Columns = "0,1",
    languages: Languages = None,
    max_tokens: MaxTokens = 1000,
    tokenised: Tokenised = None,
    strict: Strict = False,
    jobs: Jobs = -1,
    as_json: Json = False,
) -> None:
    """Learn from sentence pairs and write their links. This is the default command.

    Both directions are learned and combined. The output has one line per sentence pair, such as 0-0 1-2
    (Pharaoh format), and an empty line for a bad pair. Ctrl-C keeps a checkpoint next to the output; continue
    with --resume.
    """
    from isogloss import io
    from isogloss.alignment import Aligner, Bitext, WordForms, write_pharaoh

    _check(method, probabilities)
    check_outputs(as_json, output, save, details)
    if resume and is_stdout(output):
        raise typer.BadParameter("--resume needs the output file of the interrupted run")
    console = Console(stderr=True)
    text = open_text(source, target, form, columns, languages, strict, max_tokens, tokenised)
    fixed = corrections_of(corrections, text)
    aligner = Aligner(
        **settings_of(preset, schedule, agreement, settings or (), threshold=threshold),
        priors=with_corrections(priors_of(lexicon, jumps, fertility, prior_weight), fixed),
        lower=not keep_case,
        n_jobs=jobs,
    )
    checked(aligner)
    with AlignProgress(console) as progress, _folder_on(disk) as folder:
        with progress.reading("reading", _files(source, target)):
            bitext = Bitext.from_pairs(text, forms=WordForms(aligner.lower, aligner.prefix), folder=folder)
        warn_of_problems(text.report, console, as_json)
        checkpoint = None if is_stdout(output) else checkpoint_path(output)
        train(aligner, bitext, checkpoint, resume, progress)
        progress.say("aligning")
        links = _corrected(_aligned(aligner, bitext, method, itg), fixed)
        if save is not None:
            io.save(aligner, save)
    with written(output) as path:
        write_pharaoh(links, path, first=first, probabilities=probabilities)
    _write_details(text, links, details)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    bits = aligner.bits_per_word_[-1] if aligner.bits_per_word_ else None
    files = {"output": str(output), "model": None if save is None else str(save)}
    _finish(text, links, files, as_json, bits_per_word=bits, seconds=progress.seconds)


def _files(*files: Path | None) -> list[Path]:
    return [file for file in files if file is not None]


@contextmanager
def _folder_on(disk: Path | None) -> Iterator[str | None]:
    """A folder of our own on a disk, for as long as it is needed."""
    if disk is None:
        yield None
        return
    if not disk.is_dir():
        raise CorpusError(f"{disk}: not a folder; give an existing folder with room for the text")
    with TemporaryDirectory(prefix="isogloss-", dir=disk) as folder:
        yield folder


def _aligned(aligner: Aligner, text: Any, method: str, itg: bool) -> Links:
    from isogloss.alignment import itg_links

    links = aligner.align(text, method=method)
    return itg_links(links) if itg else links


def _corrected(links: Links, corrections: Corrections | None) -> Links:
    return links if corrections is None else corrections.apply(links)


def _check(method: str, probabilities: bool) -> None:
    """Refuse before the work what would be refused after it."""
    if probabilities and method != "agreed":
        raise typer.BadParameter("--probabilities needs --method agreed")


@align_group.command("apply")
def apply(
    model: Model,
    source: Source,
    target: Target = None,
    *,
    output: Output,
    method: Method = "agreed",
    threshold: Annotated[
        float | None,
        typer.Option(help="Minimum probability of 'agreed' links; by default the threshold of the model."),
    ] = None,
    itg: Itg = False,
    probabilities: Probabilities = False,
    details: Details = None,
    corrections: CorrectionsFile = None,
    first: First = 0,
    form: Form = "auto",
    columns: Columns = "0,1",
    languages: Languages = None,
    max_tokens: MaxTokens = 1000,
    tokenised: Tokenised = None,
    strict: Strict = False,
    jobs: Jobs = -1,
    as_json: Json = False,
) -> None:
    """Align text with an existing model, without training."""
    from isogloss import io
    from isogloss.alignment import Aligner, write_pharaoh

    _check(method, probabilities)
    check_outputs(as_json, output, details)
    console = Console(stderr=True)
    text = open_text(source, target, form, columns, languages, strict, max_tokens, tokenised)
    fixed = corrections_of(corrections, text)
    aligner = io.load(model, expected=Aligner).set_params(n_jobs=jobs)
    if threshold is not None:
        aligner.set_params(threshold=threshold)
    with AlignProgress(console) as progress, progress.reading("aligning", _files(source, target)):
        links = _corrected(_aligned(aligner, text, method, itg), fixed)
    warn_of_problems(text.report, console, as_json)
    with written(output) as path:
        write_pharaoh(links, path, first=first, probabilities=probabilities)
    _write_details(text, links, details)
    _finish(text, links, {"output": str(output)}, as_json, seconds=progress.seconds)


def _write_details(text: WordPairs, links: Links, details: Path | None) -> None:
    from isogloss.alignment import write_details

    if details is not None:
        write_details(text.with_offsets(), links, details)


def _finish(text: WordPairs, links: Links, files: dict[str, Any], as_json: bool, **figures: Any) -> None:
    """Say what was done, to people or to machines."""
    report = text.report
    if as_json:
        counts: dict[str, Any] = {
            "pairs": report.pairs,
            "left_out": dict(report.problems),
            "links": links.n_links,
        }
        counts["tokenised"] = dict(zip(("source", "target"), text.tokenised_sides, strict=True))
        clean = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in figures.items()}
        echo_json({**files, **counts, **clean}, indent=2)
        return
    bits = figures.get("bits_per_word")
    note = "" if bits is None else f", {bits:.3f} bits per word"
    report_output(
        f"{files['output']}: {links.n_links} links of {report.pairs} sentence pairs{note}\n"
        f"{describe_tokens(text)}",
        Path(files["output"]),
    )


_RENAMED: dict[Callable[..., None], dict[str, str]] = {
    align_look.lexicon: {"--least": "--min-count", "--best": "--translations"},
    align_look.jumps: {},
    align_look.fertility: {},
    align_look.score: {},
    align_look.show: {"--number": "--pair", "-n": "--pair"},
    view: {"--least": "--min-probability"},
    sentences: {},
    export: {},
}

for _command, _renamed in _RENAMED.items():
    align_group.command(cls=renaming(_renamed))(_command)
