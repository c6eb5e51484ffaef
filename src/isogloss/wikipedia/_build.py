"""Build a corpus, a similarity model and a concept dictionary from dumps, step by step.

Every step leaves one file or folder, and an interrupted build continues with the step that was not finished
(:mod:`~isogloss.wikipedia._state`); the corpus, which takes longest, continues within its step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from isogloss import io
from isogloss.corpora import (
    ComparableCorpus,
    Corpus,
    LanguageLinks,
    LinkedArticles,
    PageIndex,
    WikipediaDump,
    build_corpus,
    read_langlinks,
)
from isogloss.corpora.readers import BadRecordError, read_index
from isogloss.events.annotate import build_concepts
from isogloss.exceptions import CorpusError
from isogloss.io import PathLike, atomic_write
from isogloss.similarity import HubSimilarity, evaluate
from isogloss.text import Tokeniser
from isogloss.wikipedia._catalogue import (
    ITEMS,
    LANGLINKS,
    PAGE,
    REDIRECT,
    DumpFile,
    Links,
    files_on_disk,
    index_beside,
    needed_files,
    wiki_of,
)
from isogloss.wikipedia._http import check_file
from isogloss.wikipedia._state import BuildState, locked

LINKS, CORPUS, MODEL, EVALUATION, CONCEPTS = (
    "links",
    "corpus",
    "similarity.isogloss",
    "evaluation.json",
    "concepts",
)
NEIGHBOURS = 10
"""Neighbours of CSLS in the evaluation."""

MAX_TEST_SHARE = 0.2
"""Rows that are held out, at most, as a share of all."""

Progress = Callable[[str, str, int], None]
"""Called with the name of a step, what is being read, and how much of it has been."""


@dataclass(frozen=True)
class BuildSettings:
    """What to build.

    Parameters
    ----------
    languages : tuple of str
        Codes of Wikipedias.
    links : {'wikidata', 'langlinks'}
        What says which articles are about the same subject: the table ``wb_items_per_site`` of Wikidata, or
        the tables ``langlinks``, ``page`` and ``redirect`` of each Wikipedia.
    min_words, min_df : int
        Leave out articles with fewer different words (stubs), and words in fewer articles.
    dimensions : int
        Dimensions of the space.
    hub : str or None
        The language that the others share most articles with; the one with most articles by default.
    max_features : int or None
        Words of each language that the space knows, the most frequent ones.
    batch_rows : int or None
        Rows that are read at a time while the space is fitted; all by default.
    test_rows : int
        Rows to hold out for the evaluation, at most a fifth of all.
    random_state : int
        Seed of the random numbers.
    """

    languages: tuple[str, ...]
    links: Links = "wikidata"
    min_words: int = 20
    min_df: int = 5
    dimensions: int = 500
    hub: str | None = None
    max_features: int | None = 200_000
    batch_rows: int | None = None
    test_rows: int = 2_000
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.hub is not None and self.hub not in self.languages:
            raise ValueError(f"hub={self.hub!r}; expected one of the languages {', '.join(self.languages)}")

    def model(self, n_jobs: int | None = None) -> HubSimilarity:
        """The model that is fitted."""
        return HubSimilarity(
            self.dimensions,
            hub=self.hub,
            max_features=self.max_features,
            batch_rows=self.batch_rows,
            random_state=self.random_state,
            n_jobs=n_jobs,
        )


@dataclass(frozen=True)
class Built:
    """What a build has left in its folder.

    Attributes
    ----------
    folder, links, corpus, model, evaluation, concepts : Path
        The folder, and what lies in it.
    report : mapping
        What ``evaluation.json`` holds: mate retrieval on held-out rows, plain and with CSLS.
    """

    folder: Path
    links: Path
    corpus: Path
    model: Path
    evaluation: Path
    concepts: Path
    report: Mapping[str, Any]


def build(
    folder: PathLike,
    dumps: PathLike,
    settings: BuildSettings,
    *,
    n_jobs: int | None = None,
    restart: bool = False,
    progress: Progress = lambda step, what, count: None,
) -> Built:
    """Build everything from dumps on disk; the same call continues an interrupted build.

    Parameters
    ----------
    folder : path
        The folder to make, or that of an interrupted build.
    dumps : path
        A folder, anywhere below which the dumps lie under the names that Wikimedia gives them.
    settings : BuildSettings
        What to build.
    n_jobs : int, optional
        Processes; one by default, -1 for one per core. The files do not depend on it.
    restart : bool
        Remove what an earlier build in this folder has made, and begin again.
    progress : callable
        Called with the name of a step, what is being read, and how much of it has been.

    Examples
    --------
    >>> from isogloss.wikipedia import write_sample
    >>> articles = write_sample("mirror", ["en", "sl"], concepts=60, words=600)
    >>> settings = BuildSettings(("en", "sl"), min_df=1, dimensions=10)
    >>> built = build("wiki", "mirror", settings)
    >>> sorted(path.name for path in built.folder.iterdir() if path.name[0] != ".")
    ['concepts', 'corpus', 'dumps.json', 'evaluation.json', 'links', 'similarity.isogloss', 'wikipedia.json']
    """
    needs = needed_files(settings.languages, settings.links)
    found = files_on_disk(Path(dumps), needs)
    missing = [str(need) for need in needs if need not in found]
    if missing:
        raise CorpusError(
            f"{dumps}: has no {', '.join(missing)}; download them (isogloss wikipedia download), or give the "
            "folder that has them"
        )
    sources = _Sources(settings, found)
    place = Path(folder)
    with locked(place):
        state = BuildState(
            place, {"settings": asdict(settings), "dumps": sources.fingerprint()}, restart=restart
        )
        return _Steps(settings, sources, state, n_jobs, progress).run()


class CompleteDump(WikipediaDump):
    """A dump that leaves out bad pages, such as those whose markup takes too long, and must be complete."""

    def refuse_or_note(self, bad: BadRecordError, place: str) -> None:
        """Raise CorpusError about a dump that is cut short or damaged, and note anything else."""
        if bad.problem == "cut short":
            raise CorpusError(f"{place}: {bad.what}")
        super().refuse_or_note(bad, place)


class _Sources:
    """The dumps of a build."""

    def __init__(self, settings: BuildSettings, files: Mapping[Any, DumpFile]) -> None:
        self.settings = settings
        self.files = list(files.values())
        self._paths = {need: each.path for need, each in files.items() if each.path is not None}

    def fingerprint(self) -> dict[str, list[int]]:
        """Size and time of the last change of each file."""
        status = {path.name: path.stat() for path in self._paths.values()}
        return {name: [each.st_size, each.st_mtime_ns] for name, each in status.items()}

    def path(self, wiki: str, kind: str) -> Path:
        """Where a file lies."""
        return next(p for need, p in self._paths.items() if need.wiki == wiki and need.kind.startswith(kind))

    def dumps(self) -> dict[str, WikipediaDump]:
        """A reader of each language."""
        return {
            code: CompleteDump(self.path(wiki_of(code), "pages-articles"), lang=code, on_bad="skip")
            for code in self.settings.languages
        }


@dataclass
class _Steps:
    """The steps of a build, in order."""

    settings: BuildSettings
    sources: _Sources
    state: BuildState
    n_jobs: int | None
    progress: Progress

    def run(self) -> Built:
        """Take the steps that have not been taken."""
        state = self.state
        state.run("check", "dumps.json", self._check)
        links = state.run("links", LINKS, self._link)
        corpus = state.run("corpus", CORPUS, lambda path: self._count(path, LinkedArticles(links)))
        model = state.run("space", MODEL, lambda path: self._fit(path, ComparableCorpus(corpus)))
        scores = state.run(
            "evaluation", EVALUATION, lambda path: self._evaluate(path, model, ComparableCorpus(corpus))
        )
        concepts = state.run("concepts", CONCEPTS, lambda path: self._concepts(path, LinkedArticles(links)))
        state.finish()
        report = json.loads(scores.read_bytes())
        return Built(state.folder, links, corpus, model, scores, concepts, report)

    def _check(self, output: Path) -> None:
        """Check sizes and digests as far as they are published, and what the dumps say they are."""
        checked: dict[str, dict[str, Any]] = {}
        for file in self.sources.files:
            assert file.path is not None
            self.progress("check", file.path.name, 0)
            check_file(file.path, file)
            checked[file.path.name] = {"bytes": file.path.stat().st_size, "sha1": file.sha1, "md5": file.md5}
        for code, dump in self.sources.dumps().items():
            check_dump(code, dump)
            if index := index_beside(Path(dump.path)):
                checked[Path(dump.path).name]["pages"] = check_index(dump, index)
        with atomic_write(output) as out:
            out.write(json.dumps(checked, indent=1).encode())

    def _link(self, output: Path) -> None:
        codes = self.settings.languages
        if self.settings.links == "wikidata":
            table = self.sources.path("wikidatawiki", ITEMS)
            LinkedArticles.from_sitelinks(
                output, table, codes, progress=lambda count: self.progress("links", table.name, count)
            )
            return
        pages = {}
        for code in codes:
            self.progress("links", f"pages of {code}", 0)
            tables = [self.sources.path(wiki_of(code), f"{kind}.sql") for kind in (PAGE, REDIRECT)]
            pages[code] = PageIndex.from_sql(*tables)
        graph = LanguageLinks(pages)
        for code in codes:
            self.progress("links", f"links of {code}", 0)
            graph.add(code, read_langlinks(self.sources.path(wiki_of(code), f"{LANGLINKS}.sql")))
        LinkedArticles.from_concepts(output, graph.concepts(), codes)

    def _count(self, output: Path, links: LinkedArticles) -> None:
        build_corpus(
            self.sources.dumps(),
            output,
            {code: Tokeniser(code) for code in self.settings.languages},
            align=links,
            min_words=self.settings.min_words,
            min_df=self.settings.min_df,
            min_languages=2,
            n_jobs=self.n_jobs,
            progress=lambda code, count: self.progress("corpus", f"articles of {code}", count),
        )

    def _split(self, corpus: Corpus) -> tuple[Corpus, Corpus]:
        rows = min(self.settings.test_rows, max(1, int(MAX_TEST_SHARE * len(corpus))))
        return corpus.split(rows, random_state=self.settings.random_state)

    def _fit(self, output: Path, corpus: ComparableCorpus) -> None:
        train, _ = self._split(corpus)
        model = self.settings.model(self.n_jobs)
        self.progress("space", f"{model.plan_fit(train)}; rows", len(train))
        model.fit(train)
        for each in (model, model.anchor_):  # the file is the same, however many processes made it
            each.set_params(n_jobs=None)
        io.save(model, output)

    def _evaluate(self, output: Path, model: Path, corpus: ComparableCorpus) -> None:
        _, test = self._split(corpus)
        fitted = io.load(model, expected=HubSimilarity)
        self.progress("evaluation", "rows", len(test))
        report = {
            "rows": len(test),
            "plain": evaluate(fitted, test).as_dict(),
            "csls": evaluate(fitted, test, csls=NEIGHBOURS).as_dict(),
        }
        with atomic_write(output) as out:
            out.write(json.dumps(report, indent=1).encode())

    def _concepts(self, output: Path, links: LinkedArticles) -> None:
        build_concepts(
            self.sources.dumps(),
            output,
            links,
            n_jobs=self.n_jobs,
            progress=lambda code, count: self.progress("concepts", f"pages of {code}", count),
        )


def check_dump(code: str, dump: WikipediaDump) -> None:
    """Refuse a dump that is none, or is of another wiki than its name says."""
    wiki = dump.site.get("dbname", "")
    if wiki and wiki != wiki_of(code):
        raise CorpusError(
            f"{dump.path}: is a dump of {wiki}, and its name says {wiki_of(code)}; has the file been renamed?"
        )
    if not wiki:
        next(dump.pages(), None)  # says what is wrong, and where
        raise CorpusError(f"{dump.path}: does not say which wiki it is a dump of; expected {wiki_of(code)}")


def check_index(dump: WikipediaDump, index: Path) -> int:
    """Compare the streams of a dump with its index, and return the number of pages that the index lists."""
    offsets, pages = read_index(index)
    streams = dump.streams()
    absent = sorted(set(offsets) - set(streams))
    if absent:
        raise CorpusError(
            f"{dump.path}: no stream begins at byte {absent[0]:,}, where {index.name} has pages; the two are "
            "not of one dump, or the file is damaged: get both again"
        )
    return pages
