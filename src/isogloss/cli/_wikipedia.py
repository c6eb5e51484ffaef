"""``isogloss wikipedia``: dumps in; a corpus, a similarity model and a concept dictionary out."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.filesize import decimal
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._lazy import DefaultGroup
from isogloss.cli._options import Json, RandomState
from isogloss.cli._output import echo, echo_json, not_stdout
from isogloss.cli._progress import progress_bar
from isogloss.exceptions import CorpusError

if TYPE_CHECKING:
    from isogloss.wikipedia import BuildPlan, BuildSettings, Built, DumpFile, Mirror, Need

logger = logging.getLogger(__name__)

wikipedia_group = typer.Typer(
    cls=DefaultGroup,
    help="Build a corpus, a similarity model and a concept dictionary from Wikipedia.\n\n"
    "isogloss wikipedia en de sl -o wiki is short for isogloss wikipedia build ...",
    no_args_is_help=True,
)

LanguageCodes = Annotated[
    list[str], typer.Argument(metavar="LANGUAGE...", help="Codes of Wikipedias, such as en de sl.")
]
Dumps = Annotated[
    Path, typer.Option(help="The folder of the dumps, which may lie in subfolders; downloads go there.")
]
LinksOption = Annotated[
    Literal["wikidata", "langlinks"],
    typer.Option(
        help="What says which articles are about the same subject: a table of Wikidata, or tables of each "
        "Wikipedia.",
    ),
]
MirrorOption = Annotated[str, typer.Option(help="The mirror of Wikimedia's dumps.")]
Contact = Annotated[
    str,
    typer.Option(
        help="Your e-mail or web address, which is sent with downloads; Wikimedia refuses anonymous programs."
    ),
]
Date = Annotated[
    str,
    typer.Option(metavar="YYYYMMDD", help="The date of the dumps; by default the newest that is complete."),
]
Dimensions = Annotated[int, typer.Option("--dimensions", "-d", help="Dimensions of the space.", min=1)]
MinWords = Annotated[int, typer.Option(help="Ignore articles with fewer different words than this.", min=0)]
MinDf = Annotated[int, typer.Option(help="Ignore words that occur in fewer articles than this.", min=1)]
Hub = Annotated[
    str | None, typer.Option(help="The language that shares most articles; by default the largest.")
]
MaxFeatures = Annotated[int, typer.Option(help="Maximum vocabulary size per language.", min=1)]
BatchRows = Annotated[
    int | None, typer.Option(help="Fit this many rows at a time, to save memory; by default all.", min=1)
]
TestRows = Annotated[int, typer.Option(help="Number of rows to hold out for the evaluation.", min=2)]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Number of processes; -1 for one per core.")]
MIRROR_URL = "https://dumps.wikimedia.org"


NewFolder = Annotated[Path, typer.Option("--output", "-o", help="The folder to create.", callback=not_stdout)]
Download = Annotated[bool, typer.Option("--download", help="Download the dumps that are missing.")]
Force = Annotated[bool, typer.Option("--force", help="Build even if disk or memory seem too small.")]
Restart = Annotated[
    bool, typer.Option("--restart", help="Start over instead of continuing an interrupted build.")
]


@wikipedia_group.command("build")
def build(
    languages: LanguageCodes,
    output: NewFolder,
    dumps: Dumps = Path("dumps"),
    links: LinksOption = "wikidata",
    download_dumps: Download = False,
    mirror: MirrorOption = MIRROR_URL,
    contact: Contact = "",
    date: Date = "",
    dimensions: Dimensions = 500,
    min_words: MinWords = 20,
    min_df: MinDf = 5,
    hub: Hub = None,
    max_features: MaxFeatures = 200_000,
    batch_rows: BatchRows = None,
    test_rows: TestRows = 2000,
    force: Force = False,
    restart: Restart = False,
    jobs: Jobs = -1,
    random_state: RandomState = 0,
    as_json: Json = False,
) -> None:
    """Build a corpus, a space, its evaluation and a concept dictionary.

    The estimated time, disk and memory are shown first. If a build or a download is interrupted, run the same
    command again to continue. OUTPUT/isogloss.toml has settings for 'isogloss serve'.
    """
    from isogloss.extras import require_extra
    from isogloss.wikipedia import BuildSettings, build

    require_extra("wikipedia", "isogloss wikipedia")
    settings = BuildSettings(
        _codes(languages),
        links,
        min_words=min_words,
        min_df=min_df,
        dimensions=dimensions,
        hub=hub,
        max_features=max_features,
        batch_rows=batch_rows,
        test_rows=test_rows,
        random_state=random_state,
    )
    console, start = Console(stderr=True), time.perf_counter()
    files = _files(settings, dumps, mirror, contact, date, find=download_dumps)
    plan = _plan(console, files, settings, output, jobs)
    console.print(_plan_table(plan))
    if plan.shortage and not force:
        raise CorpusError(f"{plan.shortage}; --force builds anyway")
    if download_dumps:
        _download(console, files, dumps, _mirror(mirror, contact))
    with _counting(console) as count:
        built = build(output, dumps, settings, n_jobs=jobs, restart=restart, progress=count)
    config = _write_settings(built)
    if as_json:
        echo_json(_built_json(built, config))
        return
    _show_built(built, config, time.perf_counter() - start)


@wikipedia_group.command("plan")
def plan(
    languages: LanguageCodes,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder that would be created.", callback=not_stdout)
    ] = Path("wiki"),
    dumps: Dumps = Path("dumps"),
    links: LinksOption = "wikidata",
    mirror: MirrorOption = MIRROR_URL,
    contact: Contact = "",
    date: Date = "",
    dimensions: Dimensions = 500,
    max_features: MaxFeatures = 200_000,
    batch_rows: BatchRows = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not ask the mirror for sizes of dumps that are missing.")
    ] = False,
    jobs: Jobs = -1,
    as_json: Json = False,
) -> None:
    """Show which dumps are needed, and what a build will take. Nothing is downloaded."""
    from isogloss.wikipedia import BuildSettings

    settings = BuildSettings(
        _codes(languages),
        links,
        dimensions=dimensions,
        max_features=max_features,
        batch_rows=batch_rows,
    )
    files = _files(settings, dumps, mirror, contact, date, find=not offline)
    found = _plan(Console(stderr=True), files, settings, output, jobs)
    if as_json:
        echo_json(_plan_json(found))
        return
    console = Console()
    console.print(_files_table(files))
    console.print(_plan_table(found))
    if found.shortage:
        echo(f"not enough: {found.shortage}")


@wikipedia_group.command("download")
def download(
    languages: LanguageCodes,
    dumps: Dumps = Path("dumps"),
    links: LinksOption = "wikidata",
    mirror: MirrorOption = MIRROR_URL,
    contact: Contact = "",
    date: Date = "",
    as_json: Json = False,
) -> None:
    """Download the dumps that are missing; run it again to continue after an interruption.

    One file at a time; each is checked against the published size and digest.
    """
    from isogloss.wikipedia import BuildSettings

    settings = BuildSettings(_codes(languages), links)
    files = _files(settings, dumps, mirror, contact, date, find=True)
    paths = _download(Console(stderr=True), files, dumps, _mirror(mirror, contact))
    if as_json:
        echo_json({"files": [str(path) for path in paths]})
        return
    for path in paths:
        echo(str(path))


@wikipedia_group.command("sample")
def sample(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to create.")],
    languages: Annotated[str, typer.Option(metavar="A,B", help="Codes of Wikipedias.")] = "en,de,sl",
    articles: Annotated[int, typer.Option(help="Number of subjects of articles.", min=40)] = 600,
    random_state: RandomState = 0,
    as_json: Json = False,
) -> None:
    """Write small dumps in invented languages, in the real format, to try things out."""
    from isogloss.wikipedia import write_sample

    if folder.exists():
        raise CorpusError(f"{folder}: already exists; choose another name")
    with Console(stderr=True).status("writing"):
        counts = write_sample(folder, _codes([languages]), concepts=articles, random_state=random_state)
    if as_json:
        echo_json({"output": str(folder), "articles": counts})
        return
    echo(f"{folder}: " + ", ".join(f"{code} {count:,} articles" for code, count in counts.items()))


def _codes(given: list[str]) -> tuple[str, ...]:
    """Codes of languages, each once; also given with commas."""
    return tuple(dict.fromkeys(code for text in given for code in text.split(",") if code))


def _mirror(url: str, contact: str) -> Mirror:
    from isogloss.wikipedia import Mirror

    if not contact and url == MIRROR_URL:
        raise typer.BadParameter("--contact: expected your e-mail or web address, as Wikimedia asks")
    return Mirror(url, contact=contact)


def _files(
    settings: BuildSettings, dumps: Path, mirror: str, contact: str, date: str, *, find: bool
) -> list[DumpFile]:
    """The dumps on disk, and what the mirror says of the others, if it may be asked."""
    from isogloss.wikipedia import DumpFile, files_on_disk, needed_files

    needs = needed_files(settings.languages, settings.links)
    here = files_on_disk(dumps, needs)
    missing = [need for need in needs if need not in here]
    published: dict[Need, DumpFile] = {}
    if missing and find:
        published = {each.need: each for each in _mirror(mirror, contact).find(missing, date)}
    return [here.get(need) or published.get(need) or DumpFile(need, "DATE", -1) for need in needs]


def _download(console: Console, files: list[DumpFile], dumps: Path, mirror: Mirror) -> list[Path]:
    paths = []
    with progress_bar(console) as progress:
        for file in files:
            if file.path is not None:
                paths.append(file.path)
                continue
            paths.append(_download_one(progress, file, dumps, mirror))
    return paths


def _download_one(progress: Progress, file: DumpFile, dumps: Path, mirror: Mirror) -> Path:
    task = progress.add_task(escape(file.name), total=file.size, unit="bytes")
    path = mirror.download(file, dumps, lambda count: progress.update(task, completed=count))
    progress.remove_task(task)
    return path


def _plan(
    console: Console, files: list[DumpFile], settings: BuildSettings, output: Path, jobs: int
) -> BuildPlan:
    from isogloss.wikipedia import plan_build

    with console.status("trying the dumps"):
        return plan_build(files, settings, output, n_jobs=jobs)


@contextmanager
def _counting(console: Console) -> Iterator[Callable[[str, str, int], None]]:
    """Show a line for the step that is under way, and log the step before it when it is done."""
    last = ["", ""]
    with console.status("checking the dumps") as status:

        def count(step: str, what: str, number: int) -> None:
            line = f"{step}: {what}" + (f" {number:,}" if number else "")
            if [step, what] != last and not console.is_terminal:
                console.print(escape(line), highlight=False)
            last[:] = [step, what]
            status.update(escape(line))

        yield count


def _write_settings(built: Built) -> Path:
    """Write settings for the service, unless there are some."""
    from isogloss.io import atomic_write
    from isogloss.service.settings import ModelSettings, Settings, StoreSettings

    path = built.folder / "isogloss.toml"
    if not path.exists():
        models = ModelSettings(
            similarity=str(built.model.absolute()),
            concepts=str(built.concepts.absolute()),
            report=str(built.evaluation.absolute()),
        )
        store = StoreSettings(place=str((built.folder / "isogloss.db").absolute()))
        with atomic_write(path) as file:
            file.write(Settings(models=models, store=store).as_toml().encode())
    return path


def _show_built(built: Built, config: Path, seconds: float) -> None:
    plain, csls = (built.report[name] for name in ("plain", "csls"))
    table = Table("", "what", title=f"{built.folder}: built in {_duration(seconds)}", title_justify="left")
    for path, what in (
        (built.corpus, "comparable corpus, for 'isogloss similar' and 'isogloss corpus info'"),
        (built.model, "similarity model"),
        (built.evaluation, f"mate retrieval of {built.report['rows']:,} held-out rows"),
        (built.concepts, "concept dictionary, for 'isogloss events --concepts'"),
        (config, "settings: isogloss serve --config " + str(config)),
    ):
        table.add_row(path.name, escape(what))
    Console().print(table)
    echo(
        f"AMRR {plain['amrr']:.3f}, P@1 {plain['p1']:.3f}; with CSLS {csls['amrr']:.3f}, {csls['p1']:.3f} "
        f"over {len(plain['pairs'])} ordered pairs of languages"
    )


def _built_json(built: Built, config: Path) -> dict[str, Any]:
    paths = {name: str(getattr(built, name)) for name in ("folder", "links", "corpus", "model", "concepts")}
    return paths | {"config": str(config), "evaluation": built.report}


def _files_table(files: list[DumpFile]) -> Table:
    table = Table("dump", "size", "where", title="dumps", title_justify="left")
    for file in files:
        where = "on disk" if file.path is not None else "to download"
        table.add_row(file.name, decimal(file.size) if file.size >= 0 else "?", where)
    return table


def _plan_table(plan: BuildPlan) -> Table:
    note = "" if plan.tried else "; typical figures, as not all dumps are on disk"
    table = Table(title=f"expected, {plan.n_jobs} processes{note}", title_justify="left")
    for name in ("step", "time", "memory", "disk"):
        table.add_column(name, justify="left" if name == "step" else "right")
    if plan.download_bytes:
        table.add_row("download", "", "", decimal(plan.download_bytes))
    for step in plan.steps:
        table.add_row(step.step, _duration(step.seconds), decimal(int(step.memory)), decimal(int(step.disk)))
    table.add_section()
    table.add_row("all", _duration(plan.seconds), decimal(int(plan.memory)), decimal(int(plan.disk)))
    if plan.free_disk:
        free = decimal(plan.free_memory) if plan.free_memory else "?"
        table.add_row("free", "", free, decimal(plan.free_disk))
    return table


def _plan_json(plan: BuildPlan) -> dict[str, Any]:
    files = [
        {"name": each.name, "bytes": each.size, "path": str(each.path) if each.path else None}
        for each in plan.files
    ]
    totals = {
        "seconds": plan.seconds,
        "memory": plan.memory,
        "disk": plan.disk,
        "download": plan.download_bytes,
    }
    return {
        "files": files,
        "steps": [step._asdict() for step in plan.steps],
        **totals,
        "processes": plan.n_jobs,
        "free_memory": plan.free_memory,
        "free_disk": plan.free_disk,
        "tried": plan.tried,
        "shortage": plan.shortage,
    }


def _duration(seconds: float) -> str:
    """A time as people read it.

    Examples
    --------
    >>> _duration(42), _duration(150), _duration(3 * 3600 + 240)
    ('42 s', '2 min 30 s', '3 h 4 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
