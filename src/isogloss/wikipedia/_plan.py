"""Estimate what a build will take before it starts: time of each step, disk and memory.

Dumps on disk are tried: some pages from three places of each are read, which tells how many articles a
megabyte has, how many words, and how long this machine takes for them. For dumps that are not there yet, the
figures of ``TYPICAL`` are used.
"""

from __future__ import annotations

import bz2
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from isogloss.corpora import WikipediaDump
from isogloss.corpora.readers import BadRecordError, Page, is_article
from isogloss.events.annotate import LinkCounts
from isogloss.similarity.fitting import predict_sizes
from isogloss.text import Tokeniser
from isogloss.threads import count_threads
from isogloss.wikipedia._build import BuildSettings
from isogloss.wikipedia._catalogue import ARTICLES, PLAIN_ARTICLES, DumpFile

TRIED_PAGES = 60
"""Pages of each place that are tried."""

TRIED_SECONDS = 10.0
"""Seconds after which a trial of a dump takes no further page."""

ITEMS_PER_MB, LINKS_PER_S = 45_000, 300_000
"""Rows of ``wb_items_per_site`` in a megabyte of its compressed file, and read in a second."""

PAGE_ROWS_PER_MB = 30_000
"""Rows of the tables of a Wikipedia in a megabyte of their compressed files."""

ARTICLE_BYTES = 250
"""Memory of an article's id while the corpus is joined, and of its links in the tables of a Wikipedia."""

LINKED_BYTES = 16
"""Memory of a link of Wikidata while they are read."""

PHRASES, PHRASE_BYTES = 5_000_000, 400
"""Phrases of a language that are held while the concept dictionary is built, at most, and memory of one."""

WORDS_PER_ARTICLE = 20
"""Words of the vocabulary for each article, until the limit of the vocabulary is reached."""

PHRASES_PER_ARTICLE = 12
"""New phrases in an article."""

WORKER_BYTES = 250e6
"""Memory of a process and its parser of wiki markup."""

LINKED_SHARE = 0.6
"""Share of the articles of a language that have an equivalent in another; that of the hub may be smaller."""

ENTRY_BYTES, MODEL_BYTES, HUB_BYTES = 8, 4, 8
"""Disk of a different word of an article in the corpus, and of a number in the model: in projectors, and in
what it keeps of the hub to add languages later."""


class Trial(NamedTuple):
    """What a megabyte of a compressed dump holds and takes, on one core."""

    articles: float
    entries: float
    """Different words of the articles."""
    count_seconds: float
    """To remove the markup of all articles and count their words."""
    link_seconds: float
    """To count links and words of all pages."""


TYPICAL = Trial(articles=300.0, entries=65_000.0, count_seconds=2.6, link_seconds=0.5)
"""Seconds of an excerpt of the English Wikipedia, and articles of middling length."""


class StepPlan(NamedTuple):
    """What a step takes: seconds of this machine, most memory, and disk that stays used."""

    step: str
    seconds: float
    memory: float
    disk: float


@dataclass(frozen=True)
class BuildPlan:
    """What a build will take.

    Attributes
    ----------
    files : list of DumpFile
        The dumps; those without a path are not on disk.
    steps : list of StepPlan
        The steps, in order.
    n_jobs : int
        Processes that the seconds are for.
    free_disk, free_memory : int
        What this machine has now, in bytes; 0 if that is not known.
    tried : bool
        Whether the dumps were tried, all of them.
    """

    files: list[DumpFile]
    steps: list[StepPlan]
    n_jobs: int
    free_disk: int
    free_memory: int
    tried: bool

    @property
    def download_bytes(self) -> int:
        """Bytes of the dumps that are not on disk."""
        return sum(max(each.size, 0) for each in self.files if each.path is None)

    @property
    def seconds(self) -> float:
        """Of all steps, without downloads."""
        return sum(step.seconds for step in self.steps)

    @property
    def memory(self) -> float:
        """Most memory of any step, in bytes."""
        return max(step.memory for step in self.steps)

    @property
    def disk(self) -> float:
        """Bytes that downloads and outputs take, and those of the corpus once more while it is built."""
        largest = max(step.disk for step in self.steps)
        return self.download_bytes + sum(step.disk for step in self.steps) + largest

    @property
    def shortage(self) -> str:
        """What is not enough, as a sentence; empty if everything is."""
        if self.free_disk and self.disk > self.free_disk:
            return (
                f"the build needs about {self.disk / 1e9:.1f} GB of disk, and {self.free_disk / 1e9:.1f} GB "
                "are free"
            )
        if self.free_memory and self.memory > self.free_memory:
            return (
                f"the build needs about {self.memory / 1e9:.1f} GB of memory, and "
                f"{self.free_memory / 1e9:.1f} GB are free; fewer --dimensions or --max-features, or "
                "--batch-rows, take less"
            )
        return ""


def plan_build(
    files: Sequence[DumpFile], settings: BuildSettings, folder: Path, *, n_jobs: int | None = None
) -> BuildPlan:
    """Estimate what a build will take.

    Parameters
    ----------
    files : sequence of DumpFile
        The dumps, on disk or not.
    settings : BuildSettings
        What to build.
    folder : Path
        Where; the disk that has it is looked at.
    n_jobs : int, optional
        Processes; one by default, -1 for one per core.

    Examples
    --------
    >>> from pathlib import Path
    >>> from isogloss.wikipedia import DumpFile, needed_files
    >>> settings = BuildSettings(("en", "sl"))
    >>> files = [DumpFile(need, "20250101", 10**9) for need in needed_files(["en", "sl"], "wikidata")]
    >>> plan = plan_build(files, settings, Path("wiki"), n_jobs=2)
    >>> [step.step for step in plan.steps], plan.download_bytes == 3 * 10**9, plan.tried
    (['links', 'corpus', 'space', 'evaluation', 'concepts'], True, False)
    """
    jobs = count_threads(n_jobs)
    dumps = [each for each in files if each.need.kind in (ARTICLES, PLAIN_ARTICLES)]
    tables = sum(max(each.size, 0) for each in files if each not in dumps) / 1e6
    trials = [TYPICAL if each.path is None else try_dump(each.path) for each in dumps]
    sizes = [max(each.size, 0) / 1e6 for each in dumps]
    parallel = [1 if each.need.kind == PLAIN_ARTICLES else jobs for each in dumps]
    articles = [trial.articles * size for trial, size in zip(trials, sizes, strict=True)]
    linked = [LINKED_SHARE * number for number in articles]
    entries = sum(LINKED_SHARE * trial.entries * size for trial, size in zip(trials, sizes, strict=True))
    count_s = sum(LINKED_SHARE * t.count_seconds * s for t, s in zip(trials, sizes, strict=True)) / jobs
    link_s = sum(t.link_seconds * s / n for t, s, n in zip(trials, sizes, parallel, strict=True))
    rows_per_mb, link_bytes = (
        (ITEMS_PER_MB, LINKED_BYTES)
        if settings.links == "wikidata"
        else (PAGE_ROWS_PER_MB, 2 * ARTICLE_BYTES)
    )
    words = settings.max_features or 1_000_000
    rows = [max(1, round(number)) for number in linked]
    blocks = 1 if settings.batch_rows is None else -(-max(rows) // settings.batch_rows)
    k = settings.dimensions
    vocabularies = tuple(min(words, round(WORDS_PER_ARTICLE * number) + 1) for number in rows)
    fit = predict_sizes(
        rows, vocabularies, max(1, round(entries)), rows.index(max(rows)), k, max(500, k), n_blocks=blocks
    )
    model = MODEL_BYTES * sum(vocabularies) * k + HUB_BYTES * max(vocabularies) * max(500, k)
    phrases = min(PHRASES, PHRASES_PER_ARTICLE * max(articles, default=0)) * PHRASE_BYTES
    workers = WORKER_BYTES * jobs
    steps = [
        StepPlan(
            "links", tables * rows_per_mb / LINKS_PER_S, tables * rows_per_mb * link_bytes, 20 * sum(linked)
        ),
        StepPlan("corpus", count_s, ARTICLE_BYTES * sum(linked) + workers, ENTRY_BYTES * entries),
        StepPlan("space", fit.seconds, fit.bytes, model),
        StepPlan("evaluation", 0.1 * fit.seconds, model + 2e8, 0.0),
        StepPlan("concepts", link_s, 2 * phrases + workers, 24 * phrases / PHRASE_BYTES),
    ]
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    tried = all(each.path is not None for each in dumps)
    return BuildPlan(list(files), steps, jobs, shutil.disk_usage(existing).free, free_memory(), tried)


def try_dump(path: Path) -> Trial:
    """Read some pages of a dump, and say what a megabyte of it holds and takes on one core.

    A damaged dump is tried as far as it can be read.
    """
    reader = WikipediaDump(path, on_bad="skip")
    prepare, tokenise = reader.preparer(), Tokeniser("en")
    prepare("[[a]]")  # starts the process of the parser
    total, began = dict.fromkeys(("bytes", *Trial._fields), 0.0), time.perf_counter()
    for pages, size in _excerpts(reader):
        articles = [page.text for page in pages if is_article(page)]
        start = time.perf_counter()
        counts = LinkCounts("en")
        for page in pages:
            counts.add(page)
        total["bytes"] += size / 1e6
        total["articles"] += len(articles)
        total["link_seconds"] += time.perf_counter() - start
        tried, start = 0, time.perf_counter()
        entries = 0
        for text in articles[:TRIED_PAGES]:
            with suppress(BadRecordError):
                entries += len(set(tokenise(prepare(text))))
            tried += 1
            if time.perf_counter() - began > TRIED_SECONDS:
                break
        if tried:
            total["entries"] += entries * len(articles) / tried
            total["count_seconds"] += (time.perf_counter() - start) * len(articles) / tried
        if time.perf_counter() - began > TRIED_SECONDS:
            break
    megabytes = total.pop("bytes")
    return Trial(**{name: amount / max(megabytes, 1e-6) for name, amount in total.items()})


def _excerpts(reader: WikipediaDump) -> Iterator[tuple[list[Page], int]]:
    """Yield the pages of three parts of a dump with their compressed sizes, or those at its beginning."""
    parts = reader.parts()
    if parts:
        for place in sorted({len(parts) // 4, len(parts) // 2, 3 * len(parts) // 4}):
            yield list(parts[place].pages()), parts[place].span.end - parts[place].span.start
        return
    pages = list(islice(reader.pages(), 3 * TRIED_PAGES))
    yield pages, len(bz2.compress("".join(page.text for page in pages).encode("utf-8", "replace")))


def free_memory() -> int:
    """Bytes of memory that programs may still take; 0 where the system does not say."""
    try:
        with open("/proc/meminfo") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError, IndexError):
        return 0
