"""``isogloss concepts``: concept dictionaries, and what they find in texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._corpus import (
    LinkTables,
    NewFolder,
    PageTables,
    RedirectTables,
    Sitelinks,
    linked_documents,
    named_files,
)
from isogloss.cli._lazy import CommandGroup
from isogloss.cli._options import Json
from isogloss.cli._output import echo_json
from isogloss.cli._progress import progress_bar, reading
from isogloss.cli.align._input import Columns, open_text
from isogloss.io import total_size

if TYPE_CHECKING:
    from isogloss.events.annotate import ConceptDictionary

concepts_group = typer.Typer(
    cls=CommandGroup, help="Build and query concept dictionaries.", no_args_is_help=True
)

MAX_TOKENS = 200
"""Words of the longest sentence that is aligned."""

Folder = Annotated[Path, typer.Argument(metavar="DICTIONARY", help="A dictionary made by 'concepts build'.")]


@concepts_group.callback()
def _group() -> None:
    """Commands about dictionaries of concepts."""


Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[LANGUAGE=]FILE...",
        help="Wikipedia dumps (pages-articles, .xml or .xml.bz2). Without LANGUAGE, the part of the file "
        "name before the first dot is used.",
        show_default=False,
    ),
]
Wordnet = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Use wordnets instead of Wikipedia: a folder with tab files of the Open Multilingual "
        "Wordnet, compressed or not.",
    ),
]
Lexicon = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[PAIR=]FILE",
        help="Use translations of words: a table of source word, target word and perhaps a count, as "
        "'align lexicon' writes it. PAIR is for example en-de; by default, the part of the file name "
        "before the first dot. Repeatable.",
    ),
]
Parallel = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[PAIR=]FILE[,FILE]",
        help="Use parallel text, and align its words: a file of sentence pairs (.tsv, .tmx, .zip, or "
        "'source ||| target' on every line), or two files with a sentence on every line. Repeatable.",
    ),
]
MinLinks = Annotated[
    int, typer.Option(help="Minimum number of pages that link a phrase to an article.", min=1)
]
MinShare = Annotated[
    float,
    typer.Option(help="Minimum share of the links of a phrase that lead to one article.", min=0, max=1),
]
MinLinked = Annotated[
    float, typer.Option(help="Minimum share of the pages with a word that link it.", min=0, max=1)
]
MinCount = Annotated[
    float,
    typer.Option(
        help="With translations: how often two words must be aligned (an expected number: 1.5 is about "
        "twice).",
        min=0,
    ),
]
MinAgreement = Annotated[
    float,
    typer.Option(
        help="With translations: minimum share of the alignments of either word with the other.",
        min=0,
        max=1,
    ),
]


@concepts_group.command("build")
def build(
    output: NewFolder,
    files: Files = None,
    wordnet: Wordnet = None,
    lexicon: Lexicon = None,
    parallel: Parallel = None,
    sitelinks: Sitelinks = None,
    links: LinkTables = None,
    pages: PageTables = None,
    redirects: RedirectTables = None,
    min_links: MinLinks = 2,
    min_share: MinShare = 0.5,
    min_linked: MinLinked = 0.05,
    min_count: MinCount = 1.5,
    min_agreement: MinAgreement = 0.1,
    columns: Columns = "0,1",
    as_json: Json = False,
) -> None:
    """Build a concept dictionary from Wikipedia, from wordnets, or from translations of words.

    Give Wikipedia dumps, or a folder with --wordnet, or files with --lexicon and --parallel, whose pairs of
    languages have one language in common.
    """
    dumps_given = bool(files or sitelinks or links or pages or redirects)
    if sum([dumps_given, wordnet is not None, bool(lexicon or parallel)]) > 1:
        raise typer.BadParameter(
            "Wikipedia, --wordnet and translations (--lexicon, --parallel) cannot be combined; build two "
            "dictionaries"
        )
    if wordnet is not None:
        _build_from_wordnets(wordnet, output, as_json)
        return
    if lexicon or parallel:
        limits = min_count, min_agreement
        _build_from_translations(lexicon or [], parallel or [], columns, output, limits, as_json)
        return
    if not files:
        raise typer.BadParameter(
            "give Wikipedia dumps as [LANGUAGE=]FILE, a folder with --wordnet, or translations with "
            "--lexicon or "
            "--parallel"
        )
    from isogloss.corpora import WikipediaDump
    from isogloss.events.annotate import ConceptDictionary, build_concepts

    dumps = {
        code: WikipediaDump(path, lang=code, on_bad="skip")
        for code, path in named_files(files, "FILE").items()
    }
    if len(dumps) > 1 and sitelinks is None and not links:
        raise typer.BadParameter(
            "several languages, but no links between their articles: give --sitelinks or --links"
        )
    with linked_documents(Console(stderr=True), dumps, sitelinks, links, pages, redirects) as (align, count):
        build_concepts(
            dumps,
            output,
            align,
            min_links=min_links,
            min_share=min_share,
            min_linked=min_linked,
            progress=count,
        )
    _show(ConceptDictionary(output), as_json)


def _build_from_wordnets(source: Path, output: Path, as_json: bool) -> None:
    from isogloss.events.annotate import ConceptDictionary, build_wordnet_concepts, wordnet_files

    console, files = Console(stderr=True), wordnet_files(source)
    with progress_bar(console) as progress, reading(progress, "reading", total_size(files)) as describe:
        report = build_wordnet_concepts(
            files, output, progress=lambda what, count: describe(f"{what}, {count:,} lemmas")
        )
    concepts = ConceptDictionary(output)
    if as_json:
        read = {"files": report.files, "lemmas": report.lemmas, "broken_lines": dict(report.problems)}
        echo_json(concepts.header | read | {"skipped_files": report.skipped_files})
        return
    console.print(escape(str(report)), highlight=False)
    _show(concepts, as_json)


def _build_from_translations(
    lexicons: list[str],
    texts: list[str],
    columns: str,
    output: Path,
    limits: tuple[float, float],
    as_json: bool,
) -> None:
    from isogloss.events.annotate import ConceptDictionary, TranslationCounts, build_lexicon_concepts

    tables: dict[tuple[str, str], TranslationCounts] = {}

    def table_of(given: str) -> tuple[TranslationCounts, list[Path]]:
        pair, paths = _pair_and_files(given)
        if pair not in tables:
            tables[pair] = TranslationCounts(*pair)
        return tables[pair], paths

    console = Console(stderr=True)
    with console.status("reading translations") as status:
        for given in lexicons:
            table, paths = table_of(given)
            if len(paths) != 1:
                raise typer.BadParameter(f"--lexicon {given}: expected one file")
            table.add_lexicon(paths[0])
        for given in texts:
            status.update(f"aligning the words of {escape(given)}")
            table, paths = table_of(given)
            source, target = paths[0], paths[1] if len(paths) > 1 else None
            table.add_text(
                open_text(source, target, "auto", columns, ",".join(table.languages), False, MAX_TOKENS, True)
            )
        report = build_lexicon_concepts(
            list(tables.values()), output, min_count=limits[0], min_agreement=limits[1]
        )
    concepts = ConceptDictionary(output)
    if as_json:
        echo_json(concepts.header | {"hub": report.hub, "pairs": report.pairs})
        return
    console.print(
        f"concepts are words of {report.hub}; pairs of words: "
        + ", ".join(f"{pair} {count:,}" for pair, count in report.pairs.items()),
        highlight=False,
    )
    _show(concepts, as_json)


def _pair_and_files(given: str) -> tuple[tuple[str, str], list[Path]]:
    """Return the two languages and the files of an option such as ``en-de=FILE``."""
    from isogloss.lexicon import languages_of
    from isogloss.text import language

    name, equals, rest = given.partition("=")
    paths = [Path(part) for part in (rest if equals else given).split(",")]
    pair = languages_of(name if equals else paths[0])
    try:
        if not equals and pair == ("source", "target"):
            raise ValueError("the file name does not begin with two languages, as in en-de.tsv")
        if not 1 <= len(paths) <= 2 or not all(map(str, paths)):
            raise ValueError(f"got {len(paths)} files; expected one or two")
        codes = language(pair[0]).code, language(pair[1]).code
        if codes[0] == codes[1]:
            raise ValueError(f"{codes[0]!r} twice; expected two languages")
    except ValueError as reason:
        raise typer.BadParameter(
            f"{given}: {reason}; write PAIR=FILE, for example en-de={paths[0]}"
        ) from reason
    return codes, paths


@concepts_group.command("info")
def info(folder: Folder, as_json: Json = False) -> None:
    """Show how many phrases each language has."""
    from isogloss.events.annotate import ConceptDictionary

    _show(ConceptDictionary(folder), as_json)


@concepts_group.command("find")
def find(
    folder: Folder,
    text: Annotated[str, typer.Argument(help="The text.")],
    lang: Annotated[
        str | None, typer.Option("--lang", "-l", help="The language of the text; detected by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the concepts that a text mentions."""
    from isogloss.events.annotate import ConceptDictionary, phrase_words
    from isogloss.text import identify

    concepts = ConceptDictionary(folder)
    code = lang or identify(text, among=concepts.languages)[0] or concepts.languages[0]
    found = [
        {"concept": name, "entity": is_entity, "weight": round(weight, 3)}
        for name, is_entity, weight in concepts.find(phrase_words(text, code), code)
    ]
    if as_json:
        echo_json({"lang": code, "concepts": found})
        return
    table = Table("concept", "kind", "weight", title=f"{len(found)} concepts ({code})", title_justify="left")
    for one in found:
        table.add_row(str(one["concept"]), "entity" if one["entity"] else "keyword", str(one["weight"]))
    Console().print(table)


def _show(concepts: ConceptDictionary, as_json: bool) -> None:
    if as_json:
        echo_json(concepts.header)
        return
    table = Table(title=f"{concepts.folder}: {len(concepts):,} concepts", title_justify="left")
    table.add_column("language")
    table.add_column("phrases", justify="right")
    for code, info in concepts.header["languages"].items():
        table.add_row(code, f"{info['phrases']:,}")
    Console().print(table)
