"""``isogloss concepts``: dictionaries of concepts from Wikipedia, and what they find in a text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
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
from isogloss.cli._lazy import Group
from isogloss.cli._output import echo

if TYPE_CHECKING:
    from isogloss.events.annotate import ConceptDictionary

__all__ = ["concepts_group"]

concepts_group = typer.Typer(cls=Group, help="Build and query concept dictionaries.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(metavar="DICTIONARY", help="A dictionary made by 'concepts build'.")]


@concepts_group.callback()
def _group() -> None:
    """Commands about dictionaries of concepts."""


@concepts_group.command("build")
def build(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[LANGUAGE=]FILE...",
            help="Wikipedia dumps (pages-articles, .xml or .xml.bz2). Without LANGUAGE, the part of the file "
            "name before the first dot is used.",
        ),
    ],
    output: NewFolder,
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
    """Build a concept dictionary from the titles, redirects and links of Wikipedia."""
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
