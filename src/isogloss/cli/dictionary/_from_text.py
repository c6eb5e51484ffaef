"""``isogloss dictionary from-text``: from text and its translation to a dictionary that one can browse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isogloss.cli._console import Console
from isogloss.cli._options import Json
from isogloss.cli._output import counted, echo, echo_json, not_stdout, percent
from isogloss.cli._progress import counting_steps
from isogloss.cli.align._input import (
    Columns,
    Form,
    Jobs,
    MaxTokens,
    Source,
    Strict,
    Target,
    Tokenised,
    describe_tokens,
    warn_of_problems,
)
from isogloss.cli.align._options import (
    LexiconFile,
    Preset,
    PriorWeight,
    SetOption,
    checked,
    priors_of,
    settings_of,
)
from isogloss.cli.align._progress import AlignProgress, checkpoint_path, train
from isogloss.cli.dictionary._folder import check_folder, replaced_folder
from isogloss.cli.dictionary._languages import named_languages
from isogloss.cli.dictionary._texts import LOOKED_AT, PairedText, Reading, paired_text, script_warnings
from isogloss.exceptions import DictionaryError
from isogloss.io import strip_controls

if TYPE_CHECKING:
    from isogloss.corpora import PairReport, WordPairs
    from isogloss.lexicon.aligned import AlignedDictionary, AlignedText, TextSide
    from isogloss.lexicon.site import Description, Download

FEW_PAIRS = 1000
"""Fewer sentence pairs are too few for many good entries."""
FEW_LINKED = 0.4
"""A smaller share of linked words makes one doubt that the sides are translations."""
MAX_SAME = 0.5
"""Sides with more identical sentences are the same text."""
STEPS = 7
"""Steps that are reported after the alignment."""


Output = Annotated[Path, typer.Option("--output", "-o", help="The folder to write.", callback=not_stdout)]
Languages = Annotated[
    str | None,
    typer.Option(
        metavar="SRC,TGT", help="Codes of the languages, such as en,cs; by default from file names."
    ),
]
Names = Annotated[str | None, typer.Option(metavar="SRC,TGT", help="Names of the languages, for the pages.")]
Title = Annotated[str | None, typer.Option(help="Title of the dictionary.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace a dictionary that is in the folder already.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Resume an interrupted run with the same output.")]
KeepCase = Annotated[bool, typer.Option("--keep-case", help="Distinguish upper and lower case.")]
IgnoreMarks = Annotated[
    bool, typer.Option("--ignore-marks", help="Ignore accents, Hebrew points and Arabic vowel signs.")
]
Letters = Annotated[
    str | None,
    typer.Option(
        metavar="SIGNS",
        help="Signs that are letters in these texts, for example '; by default apostrophes, if many "
        "different words come before and after them.",
    ),
]
MinCount = Annotated[
    int | None,
    typer.Option(help="Leave out words that occur less often; by default 2, or 1 in short texts.", min=1),
]
ByLine = Annotated[
    bool | None,
    typer.Option(
        "--lines/--texts",
        help="Lines with the same number are translations, or the files (or folders of files) are texts "
        "whose sentences are aligned first; by default lines, if there are as many.",
        show_default=False,
    ),
]


def from_text(
    source: Source,
    target: Target = None,
    *,
    output: Output,
    languages: Languages = None,
    names: Names = None,
    title: Title = None,
    overwrite: Overwrite = False,
    resume: Resume = False,
    keep_case: KeepCase = False,
    ignore_marks: IgnoreMarks = False,
    letters: Letters = None,
    min_count: MinCount = None,
    preset: Preset = "default",
    lexicon: LexiconFile = None,
    prior_weight: PriorWeight = 1.0,
    settings: SetOption = None,
    by_line: ByLine = None,
    form: Form = "auto",
    columns: Columns = "0,1",
    max_tokens: MaxTokens = 1000,
    tokenised: Tokenised = None,
    strict: Strict = False,
    jobs: Jobs = -1,
    as_json: Json = False,
) -> None:
    """Make a dictionary from a text and its translation: pages to browse, and files for other programs.

    Open index.html in the folder with a browser; no server is needed. The subfolder 'files' has the
    dictionary as tables, JSON lines, TEI, LIFT (for FieldWorks) and, with the extra stardict, StarDict.
    """
    from isogloss.alignment import Aligner, Bitext, WordForms
    from isogloss.extras import require_extra
    from isogloss.lexicon.aligned import AlignedText, DictionaryRules, build_dictionary, sentence_pairs

    require_extra("dictionary", "'dictionary from-text'")
    check_folder(output, overwrite)
    console = Console(stderr=True)
    two = named_languages(source, target, languages, names)
    priors = priors_of(lexicon, None, None, prior_weight)
    chosen = settings_of(preset, None, None, settings or ())
    aligner = checked(Aligner(**chosen, priors=priors, lower=False, n_jobs=jobs))
    reading = Reading(form, columns, strict, max_tokens, tokenised, by_line, jobs)
    with (
        paired_text(source, target, (two[0][0], two[1][0]), reading, console) as text,
        AlignProgress(console) as progress,
    ):
        progress.say("reading")
        sides = _read(text.words, keep_case, ignore_marks, letters)
        warn_of_problems(text.words.report, console, as_json)
        bitext = Bitext.from_pairs(sentence_pairs(*sides), forms=WordForms(False, aligner.prefix))
        train(aligner, bitext, checkpoint_path(output), resume, progress)
        progress.say("aligning")
        aligned = AlignedText.of(*sides, aligner.align(bitext))
    warnings = (*text.warnings, *script_warnings(sides, (two[0][0], two[1][0])))
    least = min_count or (1 if len(bitext) < FEW_PAIRS else 2)
    options = _options_shown((source, target), text, sides, preset, least)
    with counting_steps("making the dictionary", STEPS, console) as say:
        dictionary = build_dictionary(aligned, DictionaryRules(min_count=least), progress=say)
        described = _described(two, title, text.words, dictionary, options, warnings)
        with replaced_folder(output) as folder:
            files = _write(dictionary, described, folder, say)
    checkpoint_path(output).unlink(missing_ok=True)
    _report(text.words, dictionary, described, output, files, as_json)


def _read(
    text: WordPairs, keep_case: bool, ignore_marks: bool, letters: str | None
) -> tuple[TextSide, TextSide]:
    """The words of both sides, checked."""
    from isogloss.lexicon.aligned import WordRules, detect_letters, read_sides

    signs = [letters or "", letters or ""]
    if letters is None:
        sample = [pair.texts for pair in islice(text.with_offsets(), LOOKED_AT)]
        signs = [detect_letters(pair[side] for pair in sample) for side in (0, 1)]
    rules = [WordRules(keep_case, not ignore_marks, sign) for sign in signs]
    sides = read_sides(text.with_offsets(), *rules)
    check_sides(*sides, text.report)
    return sides


def _options_shown(
    files: tuple[Path, Path | None],
    text: PairedText,
    sides: tuple[TextSide, TextSide],
    preset: str,
    min_count: int,
) -> dict[str, str]:
    """Return the options that the pages show."""
    rules, other = (side.rules for side in sides)
    return {
        "Texts": " and ".join(file.name for file in files if file is not None),
        "Sentences were paired": text.pairing,
        "Words": describe_tokens(text.words),
        "Case": "distinguished" if rules.case else "ignored",
        "Accents and vowel signs": "distinguished" if rules.marks else "ignored",
        "Signs that are letters": " and ".join(sorted({*rules.letters, *other.letters})) or "none",
        "Aligner": f"preset {preset}",
        "Minimum frequency of a headword": str(min_count),
    }


def check_sides(source: TextSide, target: TextSide, report: PairReport) -> None:
    """Refuse text without sentence pairs, and text that is not a translation."""
    if not len(source):
        raise DictionaryError(
            f"{counted(report.pairs, 'sentence pair')}, none with words on both sides; expected two texts"
        )
    same = sum(a == b for a, b in zip(source.texts, target.texts, strict=True))
    if same > MAX_SAME * len(source):
        raise DictionaryError(
            f"the two sides are the same text in {same:,} of {counted(len(source), 'sentence pair')}; "
            "expected a text and its translation"
        )


def _described(
    two: tuple[tuple[str, str], tuple[str, str]],
    title: str | None,
    text: WordPairs,
    dictionary: AlignedDictionary,
    options: dict[str, str],
    warnings: tuple[str, ...],
) -> Description:
    """Return the description that the pages show."""
    from isogloss import __version__
    from isogloss.lexicon.site import Description, SiteLanguage, direction_of

    aligned = dictionary.text
    sides = (aligned.source, aligned.target)
    source, target = languages = [
        SiteLanguage(code, strip_controls(name), direction_of(side.texts))
        for (code, name), side in zip(two, sides, strict=True)
    ]
    left_out = f" ({text.report.bad:,} left out: {text.report.kinds})" if text.report.bad else ""
    facts = {"Sentence pairs": f"{len(aligned.source):,}{left_out}"}
    for language, side, share in zip(languages, sides, aligned.linked_shares, strict=True):
        facts[language.name] = (
            f"{len(side.tokens):,} words, {len(side.words):,} different ones; {percent(share)} are linked"
        )
    facts |= {**options, "Made with": f"isogloss {__version__}"}
    called = title or f"{source.name}\u2013{target.name} dictionary"
    return Description(
        strip_controls(called),
        source,
        target,
        date.today().isoformat(),
        tuple(facts.items()),
        (*_warnings(aligned), *map(strip_controls, warnings)),
    )


def _warnings(text: AlignedText) -> tuple[str, ...]:
    """Return warnings about the text."""
    found = []
    if len(text.source) < FEW_PAIRS:
        found.append(
            f"The text is short ({counted(len(text.source), 'sentence pair')}), so many translations are "
            "wrong. Some thousands of sentence pairs make a useful dictionary."
        )
    if min(text.linked_shares) < FEW_LINKED:
        found.append(
            f"Only {percent(min(text.linked_shares))} of the words of one side are linked with words of the "
            "other. The translation may be free, or the sentences may not belong together."
        )
    return tuple(found)


def _write(
    dictionary: AlignedDictionary, described: Description, folder: Path, say: Callable[[str], None]
) -> list[Download]:
    """Write files and pages into a folder."""
    from isogloss.lexicon.formats import write_files
    from isogloss.lexicon.site import write_site

    say("writing files")
    (folder / "files").mkdir()
    files = write_files(dictionary, described, folder / "files")
    write_site(dictionary, described, folder, downloads=files, progress=say)
    return files


def _report(
    text: WordPairs,
    dictionary: AlignedDictionary,
    described: Description,
    output: Path,
    files: Sequence[Download],
    as_json: bool,
) -> None:
    """Say what was made, to people or to machines."""
    if as_json:
        echo_json(
            {
                "output": str(output),
                "pairs": text.report.pairs,
                "left_out": dict(text.report.problems),
                "headwords": {
                    described.source.code: len(dictionary.source),
                    described.target.code: len(dictionary.target),
                },
                "linked": [round(share, 4) for share in dictionary.text.linked_shares],
                "files": [file.path for file in files],
                "warnings": list(described.warnings),
            },
            indent=2,
        )
        return
    for warning in described.warnings:
        echo(f"warning: {warning}", err=True)
    echo(
        f"{output}: {len(dictionary.source):,} {described.source.name} and {len(dictionary.target):,} "
        f"{described.target.name} headwords from {counted(len(dictionary.text.source), 'sentence pair')}\n"
        f"open {output / 'index.html'} in a browser"
    )
