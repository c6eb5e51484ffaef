"""Commands about dictionaries from word vectors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._options import Json, Save
from isogloss.cli._output import check_outputs, echo_json, is_stdout, report_output, written
from isogloss.cli._progress import counting_steps, progress_bar, reading
from isogloss.exceptions import DictionaryError, ModelFileError
from isogloss.io import total_size

if TYPE_CHECKING:
    from isogloss.lexicon import (
        AlignedLexicon,
        BilingualDictionary,
        CheckedSpace,
        Evaluation,
        InducedDictionary,
        Neighbourhood,
        WordSpace,
        WordVectors,
    )

Vectors = Annotated[
    list[str],
    typer.Option(
        "--vectors",
        "-v",
        metavar="[LANGUAGE=]FILE",
        help="Vectors of one language of the model. Repeat for each language.",
    ),
]
Words = Annotated[int, typer.Option(help="Read only this many words of each file, the first ones.", min=1)]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse vector files with bad lines.")]
Threads = Annotated[int, typer.Option("--jobs", "-j", help="Number of threads; -1 for one per core.")]
Model = Annotated[Path, typer.Option("--model", "-m", help="A model saved by 'build --save'.")]
Rule = Annotated[str, typer.Option(help="Ranking rule: csls, cosine, inverted_softmax or density.")]
WORDS = 200_000
COMBINED_CANDIDATES = 5
"""Translations from vectors that are weighed against those of an aligned lexicon."""
LEXICON_LINKS = 3.0
"""Translations with fewer links are too uncertain for a seed."""


SourceVectors = Annotated[
    str, typer.Option(metavar="[LANGUAGE=]FILE", help="Vectors of the source language.")
]
TargetVectors = Annotated[
    str, typer.Option(metavar="[LANGUAGE=]FILE", help="Vectors of the target language.")
]
NewDictionary = Annotated[
    Path,
    typer.Option("--output", "-o", help="The dictionary to write, as a table; - for standard output."),
]
Seeds = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[FROM-TO=]FILE",
        help="Known translations, or 'identical', 'numerals' or 'spelling'. Repeat for several. By "
        "default the aligned lexicon if one is given, and words that are spelled alike otherwise.",
    ),
]
LexiconTable = Annotated[
    Path | None,
    typer.Option(
        help="Also use the translations of a table written by 'align lexicon': as a seed if no other is "
        "given, and in the dictionary, where scores are then probabilities.",
        metavar="FILE",
    ),
]
FurtherVectors = Annotated[
    list[str] | None,
    typer.Option(metavar="[LANGUAGE=]FILE", help="Vectors of another language to learn from."),
]
Kind = Annotated[str, typer.Option(help="The kind of model: auto, mbfa, ibfa, cca or procrustes.")]
Components = Annotated[int | None, typer.Option(help="Dimensions of the common space.", min=1)]
Translations = Annotated[int, typer.Option("--translations", "-k", help="Translations per word.", min=1)]
Mutual = Annotated[bool, typer.Option("--mutual", help="Keep only mutual best translations.")]
Rounds = Annotated[int, typer.Option(help="Maximum number of rounds of self-learning.", min=0)]


def build(
    src: SourceVectors,
    tgt: TargetVectors,
    output: NewDictionary,
    seed: Seeds = None,
    lexicon: LexiconTable = None,
    also: FurtherVectors = None,
    kind: Kind = "auto",
    components: Components = None,
    rule: Rule = "csls",
    translations: Translations = 1,
    mutual: Mutual = False,
    rounds: Rounds = 5,
    words: Words = WORDS,
    strict: Strict = False,
    save: Save = None,
    jobs: Threads = -1,
    as_json: Json = False,
) -> None:
    """Build a dictionary from the word vectors of two languages.

    It starts from known translations or, without any, from words that are spelled alike. A part of them is
    held out and translated first. If the result is no better than chance, nothing is written.
    """
    from isogloss import io
    from isogloss.lexicon import build_space, write_induced

    check_outputs(as_json, output, error=DictionaryError)
    check_outputs(as_json, save, error=ModelFileError)
    console = Console(stderr=True)
    vectors = _read_all([src, tgt, *(also or [])], words, strict, console)
    source, target = list(vectors)[:2]
    aligned = _aligned_lexicon(lexicon, source, target)
    described, seeds = _seeds(seed or (["spelling"] if aligned is None else []), vectors)
    if aligned is not None and not seed:
        seeds = [_as_seed(aligned)]
        described = [f"{len(seeds[0])} pairs of the aligned lexicon"]
    # Steps that build_space reports, and the translation.
    with counting_steps("learning", 4 if kind == "auto" else 3, console) as say:
        checked = build_space(
            vectors,
            seeds,
            kind,
            rounds=rounds,
            rule=rule,
            n_components=components,
            n_jobs=jobs,
            progress=say,
        )
        say("translating")
        found = _translate(checked.space, vectors, aligned, translations, rule, mutual, jobs)
    with written(output) as path:
        write_induced(found, path)
    if save is not None:
        io.save(checked.space, save)
    summary = {**_summary(checked, len(found), output), "seeds": described}
    if as_json:
        echo_json(summary, indent=2)
    else:
        _print_built(summary, Console(stderr=is_stdout(output)))


def _translate(
    space: WordSpace,
    vectors: Mapping[str, WordVectors],
    aligned: AlignedLexicon | None,
    k: int,
    rule: str,
    mutual: bool,
    jobs: int,
) -> InducedDictionary:
    """Translate the words of the first language into the second, and combine with an aligned lexicon."""
    from isogloss.lexicon import combine, induce

    source, target = list(vectors)[:2]
    placed = space.place({name: vectors[name] for name in (source, target)})
    found = induce(
        placed[source],
        placed[target],
        k=k if aligned is None else max(k, COMBINED_CANDIDATES),
        rule=rule,
        mutual=mutual,
        covariance=_covariance(space, rule, source, target),
        n_jobs=jobs,
    )
    return found if aligned is None else combine(found, aligned, k=k)


def evaluate_command(
    test: Annotated[Path, typer.Option(help="Correct pairs of words.")],
    dictionary: Annotated[
        Path | None, typer.Option(help="A table written by 'build'; or give a model and vectors.")
    ] = None,
    model: Annotated[Path | None, typer.Option("--model", "-m", help="A model saved by 'build'.")] = None,
    src: Annotated[str | None, typer.Option(metavar="[LANGUAGE=]FILE", help="Source vectors.")] = None,
    tgt: Annotated[str | None, typer.Option(metavar="[LANGUAGE=]FILE", help="Target vectors.")] = None,
    rule: Rule = "csls",
    words: Words = WORDS,
    strict: Strict = False,
    jobs: Threads = -1,
    as_json: Json = False,
) -> None:
    """Show precision at 1, 5 and 10, mean reciprocal rank and coverage, with standard errors.

    Coverage is the share of test words that have a translation. Precision is shown among these and among all
    test words. A dictionary and the model that made it have the same figures.
    """
    from isogloss.lexicon import evaluate_induced, evaluate_space, read_dictionary, read_induced

    if dictionary is not None:
        result = evaluate_induced(read_induced(dictionary), read_dictionary(test))
    elif model is not None and src is not None and tgt is not None:
        console = Console(stderr=True)
        space, vectors = _open(model, [src, tgt], words, strict, console)
        gold = read_dictionary(test, *vectors)
        with _busy(console, "translating"):
            covariance = _covariance(space, rule, *vectors)
            result = evaluate_space(space.place(vectors), gold, rule=rule, covariance=covariance, n_jobs=jobs)
    else:
        raise typer.BadParameter("give --dictionary, or --model with --src and --tgt")
    if as_json:
        echo_json(result.as_dict(), indent=2)
    else:
        _print_evaluation(result)


def neighbours(
    word: Annotated[str, typer.Argument(help="The word to look up.")],
    lang: Annotated[str, typer.Option("--lang", "-l", help="The language of the word.")],
    model: Model,
    vectors: Vectors,
    k: Annotated[int, typer.Option("-k", help="Neighbours per language.", min=1)] = 5,
    words: Words = WORDS,
    strict: Strict = False,
    jobs: Threads = -1,
    as_json: Json = False,
) -> None:
    """Show the nearest words in all languages."""
    around = _around(word, lang, model, vectors, k, words, strict, jobs)
    if as_json:
        echo_json([vars(one) for one in around.neighbours[1:]], indent=2)
        return
    table = Table(title=f"around {escape(word)} ({escape(lang)})", title_justify="left")
    names = list(dict.fromkeys(one.language for one in around.neighbours))
    for name in names:
        table.add_column(escape(name))
    columns = [[f"{escape(one.word)} {one.cosine:.2f}" for one in around.of(name)] for name in names]
    for row in range(max(map(len, columns))):
        table.add_row(*(column[row] if row < len(column) else "" for column in columns))
    Console().print(table)


def plot(
    word: Annotated[str, typer.Argument(help="The word to look up.")],
    lang: Annotated[str, typer.Option("--lang", "-l", help="The language of the word.")],
    model: Model,
    vectors: Vectors,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The picture: .svg, .png or .pdf; - for SVG on standard output."),
    ],
    k: Annotated[int, typer.Option("-k", help="Neighbours per language.", min=1)] = 5,
    words: Words = WORDS,
    strict: Strict = False,
    jobs: Threads = -1,
    as_json: Json = False,
) -> None:
    """Draw the neighbourhood of a word in several languages."""
    from isogloss.extras import require_extra

    require_extra("plot", "a picture")
    from isogloss.plotting import plot_neighbourhood, save_picture

    check_outputs(as_json, output)
    around = _around(word, lang, model, vectors, k, words, strict, jobs)
    with written(output, ".svg") as path:
        save_picture(plot_neighbourhood(around), path)
    report_output(json.dumps({"output": str(output)}) if as_json else f"written: {output}", output)


def _around(
    word: str, language: str, model: Path, vectors: Sequence[str], k: int, words: int, strict: bool, jobs: int
) -> Neighbourhood:
    from isogloss.lexicon import neighbourhood

    console = Console(stderr=True)
    space, read = _open(model, vectors, words, strict, console)
    if language not in read:
        raise typer.BadParameter(f"no vectors of {language!r} were given; there are {', '.join(read)}")
    with _busy(console, "finding neighbours"):
        return neighbourhood(space.place(read), word, language, k=k, n_jobs=jobs)


def _open(
    model: Path, specs: Sequence[str], words: int, strict: bool, console: Console
) -> tuple[WordSpace, dict[str, WordVectors]]:
    from isogloss import io
    from isogloss.lexicon import WordSpace

    space = io.load(model, expected=WordSpace)
    return space, _read_all(specs, words, strict, console)


def _covariance(space: WordSpace, rule: str, source: str, target: str) -> Any:
    return space.covariance(source, target) if rule == "density" else None


def _named(spec: str) -> tuple[str, str]:
    """``en=file`` in its two parts; the name is empty where only a file is given."""
    name, sign, path = spec.partition("=")
    return (name, path) if sign and "/" not in name else ("", spec)


def _read_all(specs: Sequence[str], words: int, strict: bool, console: Console) -> dict[str, WordVectors]:
    from isogloss.lexicon import read_vectors_with_report

    found: dict[str, WordVectors] = {}
    for spec in specs:
        name, path = _named(spec)
        with progress_bar(console) as bar, reading(bar, f"reading {path}", total_size([path])):
            vectors, report = read_vectors_with_report(path, name, limit=words, strict=strict)
        if report.skipped:
            console.print(f"[yellow]warning:[/] {escape(str(report))}", highlight=False)
        if vectors.language in found:
            raise typer.BadParameter(
                f"two files for the language {vectors.language!r}; name the languages, for example en={path}"
            )
        found[vectors.language] = vectors
    return found


def _seeds(
    specs: Sequence[str], vectors: dict[str, WordVectors]
) -> tuple[list[str], list[BilingualDictionary]]:
    """The seeds, and what to say of each."""
    from isogloss.lexicon import find_seed, identical_words, numerals

    source, target = list(vectors)[:2]
    descriptions, out = [], []
    for spec in specs:
        if spec == "spelling":
            found = find_seed(vectors[source], vectors[target])
            descriptions.append(str(found))
            out.append(found.dictionary)
            continue
        if spec in ("identical", "numerals"):
            make = identical_words if spec == "identical" else numerals
            out.append(make(vectors[source], vectors[target]))
        else:
            out.append(_read_seed(spec, vectors))
        descriptions.append(f"{len(out[-1])} pairs of {spec}")
    return descriptions, out


def _aligned_lexicon(path: Path | None, source: str, target: str) -> AlignedLexicon | None:
    from isogloss.lexicon import read_aligned_lexicon

    return None if path is None else read_aligned_lexicon(path, source, target)


def _as_seed(aligned: AlignedLexicon) -> BilingualDictionary:
    """The translation with most links of every word that has a few."""
    from isogloss.lexicon import BilingualDictionary

    best = [(word, *max(counts.items(), key=lambda item: item[1])) for word, counts in aligned.counts.items()]
    return BilingualDictionary(
        aligned.source, aligned.target, [(s, t) for s, t, links in best if links >= LEXICON_LINKS]
    )


def _read_seed(spec: str, vectors: dict[str, WordVectors]) -> BilingualDictionary:
    """A seed between the languages that its name says, or between source and target."""
    from isogloss.lexicon import read_dictionary

    name, path = _named(spec)
    pair = name.split("-") if name else Path(path).name.partition(".")[0].split("-")
    if len(pair) != 2 or not set(pair) <= set(vectors):
        if name:
            raise typer.BadParameter(f"{name!r} does not name two of the languages {', '.join(vectors)}")
        pair = list(vectors)[:2]
    return read_dictionary(path, *pair)


@contextmanager
def _busy(console: Console, what: str) -> Iterator[Any]:
    """Show what is being done, on a terminal; gives a function that says what comes next."""
    with console.status(f"{escape(what)} ...") as status:
        yield lambda text: status.update(f"{escape(text)} ...")


def _summary(checked: CheckedSpace, pairs: int, output: Path) -> dict[str, Any]:
    return {
        "output": str(output),
        "pairs": pairs,
        "model": checked.model,
        "tried": checked.tried,
        "held_out": [
            {**vars(test), "precision": test.precision, "passed": test.passed} for test in checked.tests
        ],
        "rounds": [vars(line) for line in checked.refinement.rounds],
        "concepts": checked.space.n_rows,
    }


def _print_built(summary: dict[str, Any], console: Console) -> None:
    tried = ", ".join(f"{name} {100 * share:.1f} %" for name, share in summary["tried"].items())
    console.print(escape(f"{summary['pairs']} pairs in {summary['output']}"), highlight=False)
    console.print(escape(f"Seed: {'; '.join(summary['seeds'])}."), highlight=False, soft_wrap=True)
    console.print(
        f"Model: {summary['model']}. Correct on held-out seed words: {tried}.",
        highlight=False,
        soft_wrap=True,
    )
    for test in summary["held_out"]:
        figures = f"{test['hits']} of {test['n_queries']}, {test['expected']:.1f} by chance"
        outcome = "" if test["passed"] else "; left out, because it is no better than chance"
        console.print(escape(f"  {test['name']}: {figures}{outcome}"), highlight=False, soft_wrap=True)


def _print_evaluation(result: Evaluation) -> None:
    console = Console()
    figures = result.as_dict()
    title = (
        f"{result.source}-{result.target}: {result.n_queries:,} of {result.n_words:,} test words translated "
        f"(coverage {100 * result.coverage:.1f} %)"
    )
    console.print(escape(title), highlight=False, soft_wrap=True)
    table = Table()
    for column in ("per cent of", "translated words", "all test words"):
        table.add_column(column, justify="left" if column == "per cent of" else "right")
    for key in ("p@1", "p@5", "p@10", "mrr"):
        if key in figures:
            name = f"MRR, first {result.depth}" if key == "mrr" else key.upper()
            table.add_row(name, _with_error(figures, key), _with_error(figures, f"{key}_all"))
    for band in result.bands:
        label = f"P@1, frequency ranks {band.first + 1:,} to {band.last:,}"
        table.add_row(label, f"{100 * band.precision:.1f} ± {100 * band.standard_error:.1f}", "")
    console.print(table)
    if result.n_reachable is not None:
        console.print(
            f"{result.n_reachable:,} translated words have a right translation in the target vocabulary. "
            f"Among these P@1 is {_with_error(figures, 'p@1_reachable')} %; this is what papers report.",
            highlight=False,
            soft_wrap=True,
        )


def _with_error(figures: dict[str, Any], name: str) -> str:
    """A figure and its standard error, in per cent."""
    return f"{100 * figures[name]:.1f} ± {100 * figures[f'{name}_error']:.1f}"
