"""``isogloss similar``: fit a cross-lingual model, find documents like a text, look at topics."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.markup import escape
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._lazy import DefaultGroup
from isogloss.cli._options import Json, Languages, RandomState, renaming
from isogloss.cli._output import check_outputs, echo, echo_json, is_stdout, not_stdout, report_output, written
from isogloss.cli._progress import progress_bar
from isogloss.cli._similar_texts import EncoderModel, chosen_encoder, named_texts
from isogloss.exceptions import ModelFileError
from isogloss.extras import require_extra
from isogloss.io import atomic_write, escape_controls

if TYPE_CHECKING:
    from isogloss.plotting import DocumentMap

MODELS = {
    "hub": "HubSimilarity",
    "hub-thesis": "HubSimilarity",
    "lsi": "LSISimilarity",
    "lsi-thesis": "LSISimilarity",
    "kmeans": "KMeansSimilarity",
    "cca": "CCASimilarity",
    "topics": "TopicSimilarity",
    "opca": "OPCASimilarity",
    "esa": "ESASimilarity",
}
Kind = Literal["hub", "hub-thesis", "lsi", "lsi-thesis", "kmeans", "cca", "topics", "opca", "esa"]
# The models as Rupnik's dissertation prints them (section 8.3), without what was added since.
THESIS: dict[str, dict[str, Any]] = {
    "hub-thesis": {"agreement": "hub", "ridge": 0.0, "power": 0.0, "scheme": "tfidf"},
    "lsi-thesis": {"inverse": True, "scheme": "tfidf"},
}
PICTURES = (".html", ".svg", ".png", ".pdf")
# Candidates that an encoder looks at for each document that is shown.
CANDIDATES = 5

similar_group = typer.Typer(
    cls=DefaultGroup,
    help="Find similar documents across languages.\n\n"
    'isogloss similar "text" --lang en -m MODEL --corpus CORPUS is short for isogloss similar find ...',
    no_args_is_help=True,
)

Model = Annotated[
    Path, typer.Option("--model", "-m", help="A model made by 'similar fit' or 'similar pack'.")
]
Corpus = Annotated[Path, typer.Option("--corpus", help="A corpus made by 'corpus build'.")]
Texts = Annotated[
    list[str] | None,
    typer.Option(
        "--texts",
        metavar="LANGUAGE=FILE",
        help="Texts for --encoder, as JSON lines. Repeat for each language.",
    ),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Number of encoder threads; -1 for one per core.")]


@similar_group.command("find", cls=renaming({"-c": "--corpus"}))
def find(
    text: Annotated[str, typer.Argument(help="The text.")],
    model: Model,
    corpus: Corpus,
    lang: Annotated[str, typer.Option("--lang", "-l", help="Language of the text.")],
    k: Annotated[int, typer.Option("-k", help="Documents per language.", min=1)] = 3,
    languages: Languages = None,
    csls: Annotated[
        int,
        typer.Option(
            min=0,
            help="Neighbours that tell how near a document is to everything, which counts against it "
            "(CSLS); 0 for the order of cosines.",
        ),
    ] = 10,
    encoder: Annotated[
        bool, typer.Option("--encoder", help="Rerank the best candidates with a sentence encoder.")
    ] = False,
    encoder_model: EncoderModel = "universal",
    texts: Texts = None,
    weight: Annotated[float, typer.Option(help="Weight of the encoder in the ranking.", min=0, max=1)] = 0.5,
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Find the nearest documents in each language, and the topics they share with the text."""
    from isogloss.corpora import ComparableCorpus
    from isogloss.similarity import EncoderSimilarity, find_similar, load_model, rerank_found

    only, read = languages.split(",") if languages else None, _check_texts(encoder, texts, encoder_model)
    with Console(stderr=True).status("looking"):
        fitted, many = load_model(model), k * CANDIDATES if encoder else k
        found = find_similar(fitted, ComparableCorpus(corpus), text, lang, k=many, languages=only, csls=csls)
        if encoder:
            judge = EncoderSimilarity(chosen_encoder(encoder_model, jobs))
            found = rerank_found(judge, text, lang, found, named_texts(read), k=k, weight=weight)
    if as_json:
        echo_json([one._asdict() for one in found])
        return
    table = Table()
    for name in ("language", "similarity", "document", "shared topics"):
        table.add_column(name, justify="right" if name == "similarity" else "left")
    for one in found:
        why = "; ".join(" = ".join(dict.fromkeys(map(" ".join, words))) for words in one.because)
        table.add_row(one.lang, f"{one.similarity:.2f}", escape(one.title or one.id), escape(why))
    Console().print(table)


TrainingCorpus = Annotated[Path, typer.Argument(metavar="CORPUS", help="A corpus made by 'corpus build'.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="The model file to write.", callback=not_stdout)]
ModelKind = Annotated[
    Kind,
    typer.Option(
        "--kind",
        help="The kind of model; cca needs two languages. The thesis variants weigh words by TF-IDF and "
        "are those of section 8.3 of Rupnik's dissertation.",
    ),
]
Dimensions = Annotated[int, typer.Option("--dimensions", "-d", help="Dimensions of the space.", min=1)]
MinDf = Annotated[int, typer.Option(help="Ignore words that occur in fewer documents than this.", min=1)]
MaxFeatures = Annotated[int | None, typer.Option(help="Maximum vocabulary size per language.", min=1)]
BatchRows = Annotated[int | None, typer.Option(help="Read this many rows at a time; by default all.", min=1)]
Directions = Annotated[
    int | None,
    typer.Option(help="Directions per language that hub CCA selects from; at least 500.", min=1),
]
Encoder = Annotated[
    bool, typer.Option("--encoder", help="Use a sentence encoder as one more view (--kind hub).")
]
Share = Annotated[float, typer.Option(help="Weight of the encoder when projecting texts.", min=0, max=1)]


@similar_group.command("fit", cls=renaming({"--seed": "--random-state"}))
def fit(
    corpus: TrainingCorpus,
    output: Output,
    kind: ModelKind = "hub",
    dimensions: Dimensions = 500,
    languages: Languages = None,
    min_df: MinDf = 1,
    max_features: MaxFeatures = None,
    batch_rows: BatchRows = None,
    directions: Directions = None,
    encoder: Encoder = False,
    encoder_model: EncoderModel = "universal",
    texts: Texts = None,
    share: Share = 0.5,
    jobs: Jobs = 1,
    random_state: RandomState = 0,
    as_json: Json = False,
) -> None:
    """Fit a model to a comparable corpus. The model projects raw text.

    For hub CCA and CCA, the expected time and memory are shown first.
    """
    from isogloss import io
    from isogloss.corpora import ComparableCorpus
    from isogloss.similarity import EncodedHub, HubSimilarity

    read = _check_texts(encoder, texts, encoder_model)
    if encoder and (kind != "hub" or batch_rows is not None):
        raise typer.BadParameter("--encoder: expected --kind hub without --batch-rows")
    settings = {"min_df": min_df, "max_features": max_features, "random_state": random_state}
    fresh = _model_class(kind)(dimensions, **settings, **THESIS.get(kind, {}))
    if kind == "hub-thesis":
        fresh.set_params(n_directions=dimensions)
    model = _with_settings(kind, fresh, batch_rows, directions)
    check_outputs(False, output, error=ModelFileError)
    console, start = Console(stderr=True), (time.perf_counter(), time.process_time())
    with console.status("fitting"):
        rows: Any = ComparableCorpus(corpus)
        if languages:
            rows = rows.select(languages=languages.split(","))
        if isinstance(model, HubSimilarity):
            console.print(f"expected: {model.plan_fit(rows)}")
        if encoder:
            tables = named_texts(read)
            columns = {code: [table.get(one) for one in rows.ids] for code, table in tables.items()}
            model = EncodedHub(model, chosen_encoder(encoder_model, jobs), share=share).fit(
                rows, texts=columns
            )
        else:
            model.fit(rows)
        io.save(model, output)
    wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    console.print(f"it took {wall:.0f} s ({cpu:.0f} s of CPU){_peak_memory()}")
    found = next(iter(model.words.projectors_.values())).shape[1]
    if as_json:
        summary = {"output": str(output), "kind": kind, "dimensions": found}
        echo_json(summary | {"languages": list(model.languages)})
        return
    echo(f"{output}: {found} dimensions, {', '.join(model.languages)}")


def _peak_memory() -> str:
    """The most memory that this process has had, as the end of a sentence; nothing on Windows."""
    if sys.platform == "win32":
        return ""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return f" and at most {peak / 1e9:.2g} GB"


def _model_class(kind: str) -> Any:
    """Return the class of models that ``--kind`` names."""
    from isogloss import similarity

    return getattr(similarity, MODELS[kind])


def _with_settings(kind: str, model: Any, batch_rows: int | None, directions: int | None) -> Any:
    """The model with what only some kinds have."""
    for option, name, value in (
        ("--batch-rows", "batch_rows", batch_rows),
        ("--directions", "n_directions", directions),
    ):
        if value is not None:
            if name not in model.get_params():
                known = [other for other in MODELS if name in _model_class(other)().get_params()]
                raise typer.BadParameter(f"{option} with --kind {kind}: expected {' or '.join(known)}")
            model.set_params(**{name: value})
    return model


def _check_texts(encoder: bool, texts: list[str] | None, model: str) -> list[str]:
    """Files for the encoder, which come with it and not alone."""
    if encoder and model == "universal":
        require_extra("encoder", "--encoder")
    if encoder != bool(texts):
        raise typer.BadParameter("--encoder and --texts: expected both, as --encoder --texts en=en.jsonl")
    return texts or []


@similar_group.command("map", cls=renaming({"-c": "--corpus", "--seed": "--random-state"}))
def draw_map(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model made by 'similar fit'.")],
    corpus: Corpus,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The file to write: .html, .svg (both with titles), .png or .pdf; - for SVG on stdout.",
        ),
    ],
    languages: Languages = None,
    method: Annotated[
        Literal["tsne", "pca"],
        typer.Option(
            help="tsne keeps neighbours together, pca shows the directions of most variance.",
        ),
    ] = "tsne",
    documents: Annotated[int, typer.Option(help="Draw at most this many documents.", min=3)] = 1500,
    random_state: RandomState = 0,
    as_json: Json = False,
) -> None:
    """Draw a map of the documents of a corpus, coloured by language."""
    from isogloss.corpora import ComparableCorpus
    from isogloss.plotting import map_documents
    from isogloss.similarity import load_model

    check_outputs(as_json, output)
    if not is_stdout(output) and output.suffix not in PICTURES:
        raise typer.BadParameter(f"--output {output}: expected a name that ends in {', '.join(PICTURES)}")
    if output.suffix in (".png", ".pdf"):
        require_extra("plot", f"a {output.suffix} file")
    only = languages.split(",") if languages else None
    with Console(stderr=True).status("drawing"):
        fitted, read = load_model(model), ComparableCorpus(corpus)
        names = [code for code in read.languages if code in fitted.languages and (not only or code in only)]
        projected = {code: fitted.project_corpus(read, code) for code in names}
        found = map_documents(projected, method=method, max_documents=documents, random_state=random_state)
    with written(output, ".svg") as path:
        _write_map(found, {code: read.titles(code) for code in names}, path)
    if as_json:
        echo_json({"output": str(output), "documents": len(found.points), "languages": names})
        return
    report_output(f"{output}: {len(found.points)} documents, {', '.join(names)}", output)


def _write_map(found: DocumentMap, titles: dict[str, Any], output: Path) -> None:
    """A map in the form that the name of the file asks for, whole or not at all."""
    from isogloss.plotting import documents_html, documents_svg, plot_documents, save_picture

    if output.suffix in (".png", ".pdf"):
        save_picture(plot_documents(found), output)
        return
    text = documents_svg(found, titles) if output.suffix == ".svg" else documents_html(found, titles)
    with atomic_write(output) as file:
        file.write(text.encode("utf-8"))


@similar_group.command("topics")
def show_topics(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model made by 'similar fit'.")],
    components: Annotated[int, typer.Option(help="Number of components.", min=1)] = 10,
    words: Annotated[int, typer.Option(help="Words per end of a component.", min=1)] = 6,
    html: Annotated[
        Path | None, typer.Option(help="Write an HTML table to this file; - for standard output.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the strongest words of each component, in all languages side by side."""
    from isogloss.similarity import find_topics, load_model, topics_html, topics_json, topics_table

    check_outputs(as_json, html)
    found = find_topics(load_model(model).words, components=components, words=words)
    if html is not None:
        with written(html) as path, atomic_write(path) as file:
            file.write(f'<!doctype html><meta charset="utf-8">{topics_html(found)}\n'.encode())
        report_output(f"written: {html}", html)
        return
    if as_json:
        echo(escape_controls(topics_json(found)))
        return
    header, *rows = topics_table(found)
    table = Table(*header)
    for row in rows:
        table.add_row(*map(escape, row))
    Console().print(table)


@similar_group.command("pack")
def pack(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model made by 'similar fit'.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The folder to write; it must not exist.", callback=not_stdout),
    ],
    storage: Annotated[
        Literal["int8", "float16"],
        typer.Option(help="Bytes per weight: one, or two for half the rounding error."),
    ] = "int8",
    as_json: Json = False,
) -> None:
    """Write a model as a folder that is read where it is needed, for many languages in little memory.

    The service and other commands take the folder in the place of the model file.
    """
    from isogloss import io
    from isogloss.similarity import pack_model

    fitted = io.load(model)
    with progress_bar() as progress:
        task = progress.add_task("packing", total=None)
        packed = pack_model(
            fitted,
            output,
            storage=storage,
            progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    size = sum(path.stat().st_size for path in output.iterdir())
    if as_json:
        echo_json(
            {"output": str(output), "storage": storage, "languages": list(packed.languages), "bytes": size}
        )
        return
    echo(f"{output}: {len(packed.languages)} languages as {storage}, {size / 1e6:,.1f} MB")
