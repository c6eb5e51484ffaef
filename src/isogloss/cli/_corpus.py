"""``isogloss corpus``: comparable corpora from files, and what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._lazy import CommandGroup
from isogloss.cli._options import Json, RandomState, renaming
from isogloss.cli._output import echo_json, echo_result, not_stdout
from isogloss.cli._progress import progress_bar, reading
from isogloss.exceptions import CorpusError
from isogloss.io import total_size

if TYPE_CHECKING:
    from isogloss.corpora import ComparableCorpus, Concepts, CorpusSummary, DocumentReader, PageIndex

corpus_group = typer.Typer(
    cls=CommandGroup, help="Build comparable corpora from documents.", no_args_is_help=True
)

Folder = Annotated[Path, typer.Argument(metavar="CORPUS", help="A corpus made by 'corpus build'.")]
Files = list[str] | None
LinkTables = Annotated[
    Files,
    typer.Option(
        metavar="LANGUAGE=FILE", help="The langlinks table of a Wikipedia. Repeat for each language."
    ),
]
PageTables = Annotated[
    Files,
    typer.Option(
        metavar="LANGUAGE=FILE", help="The page table of a Wikipedia; saves reading its dump twice."
    ),
]
RedirectTables = Annotated[
    Files, typer.Option(metavar="LANGUAGE=FILE", help="The redirect table of a Wikipedia, with --pages.")
]
Sitelinks = Annotated[
    Path | None,
    typer.Option(help="Wikidata's JSON dump or its table wb_items_per_site, to match articles."),
]
NewFolder = Annotated[Path, typer.Option("--output", "-o", help="The folder to create.", callback=not_stdout)]
Form = Literal["auto", "jsonl", "lines", "wikipedia"]


@corpus_group.callback()
def _group() -> None:
    """Commands about corpora."""


DocumentFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="[LANGUAGE=]FILE...",
        help="Documents of each language: JSON lines, line-aligned text (.txt) or Wikipedia dumps "
        "(.xml, .xml.bz2). Without LANGUAGE, the part of the file name before the first dot is used.",
    ),
]
FileFormat = Annotated[Form, typer.Option("--format", help="The format of the files.")]
MinWords = Annotated[int, typer.Option(help="Ignore documents with fewer different words than this.", min=0)]
MinDf = Annotated[int, typer.Option(help="Ignore words that occur in fewer documents than this.", min=1)]
MinLanguages = Annotated[int, typer.Option(help="Ignore rows with fewer languages than this.", min=1)]
Ngrams = Annotated[int, typer.Option(help="Use word sequences up to this length as terms.", min=1)]
Stem = Annotated[bool, typer.Option("--stem", help="Reduce words to their stems.")]
StopWords = Annotated[bool, typer.Option("--no-stop-words", help="Remove stop words.")]
Strict = Annotated[
    bool, typer.Option("--strict", help="Stop at the first bad record instead of skipping it.")
]
Restart = Annotated[
    bool, typer.Option("--restart", help="Start over instead of resuming an interrupted build.")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Number of processes; -1 for one per core.")]


@corpus_group.command("build")
def build(
    files: DocumentFiles,
    output: NewFolder,
    form: FileFormat = "auto",
    sitelinks: Sitelinks = None,
    links: LinkTables = None,
    pages: PageTables = None,
    redirects: RedirectTables = None,
    min_words: MinWords = 20,
    min_df: MinDf = 1,
    min_languages: MinLanguages = 1,
    ngrams: Ngrams = 1,
    stem: Stem = False,
    stop_words: StopWords = False,
    strict: Strict = False,
    restart: Restart = False,
    jobs: Jobs = -1,
    as_json: Json = False,
) -> None:
    """Build a corpus from documents in several languages.

    Documents with the same id form one row; Wikipedia articles are matched by --sitelinks or --links. If a
    build is interrupted, run the same command again to resume it.
    """
    from isogloss.corpora import build_corpus
    from isogloss.text import Tokeniser

    console = Console(stderr=True)
    readers = {code: _reader(code, path, form, strict) for code, path in named_files(files, "FILE").items()}
    stemmer: Literal["snowball"] | None = "snowball" if stem else None
    tokenisers = {
        code: Tokeniser(code, ngrams=ngrams, stem=stemmer, stop_words=stop_words) for code in readers
    }
    with linked_documents(console, readers, sitelinks, links, pages, redirects) as (align, count):
        corpus = build_corpus(
            readers,
            output,
            tokenisers,
            align=align,
            min_words=min_words,
            min_df=min_df,
            min_languages=min_languages,
            n_jobs=jobs,
            restart=restart,
            progress=count,
        )
    for reader in readers.values():
        if reader.report.examples:
            console.print(f"{escape(reader.path)}: {escape(str(reader.report))}", highlight=False)
    _show_build(corpus, as_json)


@corpus_group.command("info")
def info(
    folder: Folder,
    test: Annotated[
        Path | None, typer.Option(help="A second corpus, with test rows, to show next to the first.")
    ] = None,
    hub: Annotated[
        str | None, typer.Option(help="Language to compare ranks with; by default the largest.")
    ] = None,
    rank_rows: Annotated[
        int, typer.Option(help="Number of rows to estimate ranks from; 0 to skip ranks.", min=0)
    ] = 1000,
    check: Annotated[bool, typer.Option("--check", help="Read and verify every file.")] = False,
    as_json: Json = False,
) -> None:
    """Show how many rows each pair of languages shares and how much documents differ."""
    from isogloss.corpora import ComparableCorpus

    corpus = ComparableCorpus(folder)
    if check:
        corpus.check()
    with Console(stderr=True).status("looking"):
        summary = corpus.info(hub=hub, max_rows=rank_rows)
        tested = None if test is None else ComparableCorpus(test).select(None, corpus.languages).pair_sizes()
    if as_json:
        summary_json = summary.as_dict() | ({} if tested is None else {"test_pair_sizes": tested.tolist()})
        echo_json(summary_json)
        return
    console = Console()
    for table in _sizes_tables(summary, tested, console.width):
        console.print(table)
    if summary.ranks:
        console.print(_ranks_table(summary))


@corpus_group.command("split", cls=renaming({"--seed": "--random-state"}))
def split(
    folder: Folder,
    train: Annotated[Path, typer.Option(help="The folder to create for training rows.", callback=not_stdout)],
    test: Annotated[Path, typer.Option(help="The folder to create for test rows.", callback=not_stdout)],
    share: Annotated[float, typer.Option(help="Share of test rows.", min=0, max=1)] = 0.1,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="A:B,C:D",
            help="Instead of a share: test on all rows that have both languages of a pair, so that the pair "
            "shares no training row.",
        ),
    ] = None,
    random_state: RandomState = 0,
    as_json: Json = False,
) -> None:
    """Split a corpus into a training and a test corpus."""
    from isogloss.corpora import ComparableCorpus, save_corpus

    corpus = ComparableCorpus(folder)
    for place in (train, test):
        if place.exists():
            raise CorpusError(f"{place}: already exists; remove it, or choose another name")
    parts = corpus.split(share, pairs=_pairs(pairs), random_state=random_state)
    with Console(stderr=True).status("writing"):
        for part, place in zip(parts, (train, test), strict=True):
            save_corpus(part, place)
    sizes = {str(place): len(part) for part, place in zip(parts, (train, test), strict=True)}
    echo_result(sizes, ", ".join(f"{k}: {n:,} rows" for k, n in sizes.items()), as_json)


def named_files(given: Sequence[str] | None, what: str = "") -> dict[str, Path]:
    """Files by language; ``what`` allows files whose name says their language."""
    files: dict[str, Path] = {}
    for text in given or []:
        code, equals, path = text.partition("=")
        if not equals:
            if not what:
                raise typer.BadParameter(f"{text}: expected LANGUAGE=FILE")
            code, path = Path(text).name.partition(".")[0], text
            _check_language(code, text)
        if code in files:
            raise typer.BadParameter(f"{text}: a second file for {code!r}; give one file per language")
        files[code] = Path(path)
    return files


def _check_language(code: str, file: str) -> None:
    """Refuse a language that was read off the name of a file and is none."""
    from isogloss.text import language

    try:
        language(code)
    except ValueError as error:
        message = f"{file}: {code!r} is not a language; write LANGUAGE=FILE, for example en={file}"
        raise typer.BadParameter(message) from error


def _reader(code: str, path: Path, form: str, strict: bool) -> DocumentReader:
    from isogloss.corpora import AlignedLines, JsonLines, WikipediaDump
    from isogloss.extras import require_extra

    if form == "auto":
        endings = {".xml": "wikipedia", ".txt": "lines"}
        form = next((form for ending, form in endings.items() if ending in path.suffixes), "jsonl")
    if form == "wikipedia":
        require_extra("wikipedia", "a dump of Wikipedia")
    kinds: dict[str, type[DocumentReader]] = {
        "jsonl": JsonLines,
        "lines": AlignedLines,
        "wikipedia": WikipediaDump,
    }
    return kinds[form](path, lang=code, on_bad="raise" if strict else "skip")


def _index(
    code: str, reader: DocumentReader, pages: dict[str, Path], redirects: dict[str, Path]
) -> PageIndex:
    from isogloss.corpora import PageIndex, WikipediaDump

    if code in pages:
        return PageIndex.from_sql(pages[code], redirects.get(code))
    if not isinstance(reader, WikipediaDump):
        raise typer.BadParameter(f"--links needs the articles of {code!r}: a dump, or --pages {code}=FILE")
    return PageIndex.from_dump(reader)


def _pairs(text: str | None) -> list[tuple[str, str]]:
    parts = [tuple(pair.strip().split(":")) for pair in text.split(",")] if text else []
    if any(len(pair) != 2 for pair in parts):
        raise typer.BadParameter(f"--pairs {text}: expected pairs of languages such as hi:ht,hi:pms")
    return [(pair[0], pair[1]) for pair in parts]


@contextmanager
def linked_documents(
    console: Console,
    readers: Mapping[str, DocumentReader],
    sitelinks: Path | None,
    links: Files,
    pages: Files,
    redirects: Files,
) -> Iterator[tuple[Concepts | None, Callable[[str, int], None]]]:
    """Match articles as far as files say which are one row, then count documents, with bars for both."""
    tables = (sitelinks, named_files(links), named_files(pages), named_files(redirects))
    with progress_bar(console) as progress:
        align = _link_rows(progress, readers, *tables)
        total = total_size(reader.path for reader in readers.values())
        with reading(progress, "reading", total) as describe:
            yield align, lambda what, n: describe(f"{what} {n:,}" if n else what)


def _link_rows(
    progress: Progress,
    readers: Mapping[str, DocumentReader],
    sitelinks: Path | None,
    links: dict[str, Path],
    pages: dict[str, Path],
    redirects: dict[str, Path],
) -> Concepts | None:
    from isogloss.corpora import Concepts, LanguageLinks, read_langlinks

    if sitelinks is not None:
        with reading(progress, "reading links", total_size([sitelinks])):
            return Concepts.from_sitelinks(sitelinks, readers)
    if not links:
        return None
    files: list[str | Path] = [*links.values(), *pages.values(), *redirects.values()]
    files += [reader.path for code, reader in readers.items() if code not in pages]
    with reading(progress, "reading links", total_size(files)):
        graph = LanguageLinks(
            {code: _index(code, reader, pages, redirects) for code, reader in readers.items()}
        )
        for code, path in links.items():
            graph.add(code, read_langlinks(path))
        return graph.concepts()


def _show_build(corpus: ComparableCorpus, as_json: bool) -> None:
    if as_json:
        echo_json(corpus.header)
        return
    table = Table(title=f"{corpus.folder}: {len(corpus):,} rows", title_justify="left")
    for name in ("language", "read", "documents", "words", "left out"):
        table.add_column(name, justify="left" if name in ("language", "left out") else "right")
    for code, info in corpus.header["languages"].items():
        left_out = ", ".join(f"{n:,} {kind}" for kind, n in (info["left_out"] | info["bad"]).items())
        table.add_row(
            code, f"{info['read']:,}", f"{info['documents']:,}", f"{info['words']:,}", left_out or "-"
        )
    Console().print(table)


def _sizes_tables(summary: CorpusSummary, test: Any, width: int) -> Iterator[Table]:
    """Table 8.5: rows that pairs of languages share, in as many tables as the width asks for."""
    cells = [[f"{size:,}" for size in row] for row in summary.pair_sizes.tolist()]
    if test is not None:
        cells = [
            [f"{cell} - {size:,}" for cell, size in zip(*rows, strict=True)]
            for rows in zip(cells, test.tolist(), strict=True)
        ]
    codes = summary.languages
    longest = max(len(text) for text in (*codes, *(cell for row in cells for cell in row))) + 3
    at_once = max(1, (width - longest - 1) // longest)
    title = f"{summary.rows:,} rows" + ("" if test is None else ", train - test")
    for first in range(0, len(codes), at_once):
        last = min(first + at_once, len(codes))
        table = Table(title="" if first else title, title_justify="left")
        for heading in ("", *codes[first:last]):
            table.add_column(heading, justify="right")
        for i in range(last):
            table.add_row(codes[i], *("" if j < i else cells[i][j] for j in range(first, last)))
        yield table


def _ranks_table(summary: CorpusSummary) -> Table:
    """Table 8.7: rank ratios of pairs with the hub."""
    table = Table(title="rank / highest possible", title_justify="left")
    for heading in ("pair", "rows", summary.hub, "other"):
        table.add_column(heading, justify="left" if heading == "pair" else "right")
    for other, ratio in summary.ranks.items():
        table.add_row(
            f"{summary.hub} - {other}", f"{ratio.rows:,}", f"{ratio.hub:.2f}", f"{ratio.language:.2f}"
        )
    return table
