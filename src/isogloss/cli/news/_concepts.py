"""``isogloss concepts``: concept dictionaries from Wikipedia or wordnets, and what they find."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._corpus import (
    Json,
    LinkTables,
    NewFolder,
    PageTables,
    RedirectTables,
    Sitelinks,
    linked_documents,
    named_files,
)
from isogloss.cli._lazy import CommandGroup
from isogloss.cli._output import echo
from isogloss.cli._progress import progress_bar, reading
from isogloss.io import total_size

if TYPE_CHECKING:
    from isogloss.events.annotate import ConceptDictionary

concepts_group = typer.Typer(
    cls=CommandGroup, help="Build and query concept dictionaries.", no_args_is_help=True
)

Folder = Annotated[Path, typer.Argument(metavar="DICTIONARY", help="A dictionary made by 'concepts build'.")]


@concepts_group.callback()
def _group() -> None:
    """Commands about dictionaries of concepts."""


@concepts_group.command("build")
def build(
    output: NewFolder,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LANGUAGE=]FILE...",
            help="Wikipedia dumps (pages-articles, .xml or .xml.bz2). Without LANGUAGE, the part of the file "
            "name before the first dot is used.",
            show_default=False,
        ),
    ] = None,
    wordnet: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Use wordnets instead of Wikipedia: a folder with tab files of the Open Multilingual "
            "Wordnet, compressed or not.",
        ),
    ] = None,
    sitelinks: Sitelinks = None,
    links: LinkTables = None,
    pages: PageTables = None,
    redirects: RedirectTables = None,
    min_links: Annotated[
        int, typer.Option(help="Minimum number of pages that link a phrase to an article.", min=1)
    ] = 2,
    min_share: Annotated[
        float,
        typer.Option(help="Minimum share of the links of a phrase that lead to one article.", min=0, max=1),
    ] = 0.5,
    min_linked: Annotated[
        float, typer.Option(help="Minimum share of the pages with a word that link it.", min=0, max=1)
    ] = 0.05,
    as_json: Json = False,
) -> None:
    """Build a concept dictionary from the titles, redirects and links of Wikipedia, or from wordnets."""
    if wordnet is not None:
        if files or sitelinks or links or pages or redirects:
            raise typer.BadParameter("--wordnet takes no Wikipedia dumps or tables; build two dictionaries")
        _build_from_wordnets(wordnet, output, as_json)
        return
    if not files:
        raise typer.BadParameter("give Wikipedia dumps as [LANGUAGE=]FILE, or a folder with --wordnet")
    from isogloss.corpora import WikipediaDump
    from isogloss.events.annotate import ConceptDictionary, build_concepts

    dumps = {
        code: WikipediaDump(path, lang=code, on_bad="skip")
        for code, path in named_files(files, "FILE").items()
    }
    if len(dumps) > 1 and sitelinks is None and not links:
        raise typer.BadParameter(
            "several languages, and nothing says which articles are one concept: give --sitelinks or --links"
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
        echo(json.dumps(concepts.header | read | {"skipped_files": report.skipped_files}))
        return
    console.print(escape(str(report)), highlight=False)
    _show(concepts, as_json)


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
        echo(json.dumps({"lang": code, "concepts": found}))
        return
    table = Table("concept", "kind", "weight", title=f"{len(found)} concepts ({code})", title_justify="left")
    for one in found:
        table.add_row(str(one["concept"]), "entity" if one["entity"] else "keyword", str(one["weight"]))
    Console().print(table)


def _show(concepts: ConceptDictionary, as_json: bool) -> None:
    if as_json:
        echo(json.dumps(concepts.header))
        return
    table = Table(title=f"{concepts.folder}: {len(concepts):,} concepts", title_justify="left")
    table.add_column("language")
    table.add_column("phrases", justify="right")
    for code, said in concepts.header["languages"].items():
        table.add_row(code, f"{said['phrases']:,}")
    Console().print(table)
