"""A progress bar for alignment: iterations of all models, bits per word, time left."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from isogloss.cli._console import Console
from isogloss.cli._progress import AmountColumn, reading

if TYPE_CHECKING:
    from pathlib import Path

    from isogloss.alignment import Aligner, Bitext
    from isogloss.alignment import Progress as Place
    from isogloss.em import Iteration


class AlignProgress:
    """Draws what alignment is doing; use it as a context manager."""

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            AmountColumn(),
            TextColumn("{task.fields[bits]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, bits="")
        self._began = time.perf_counter()
        self._models: list[str] = []
        self._before: list[int] = []
        self._each, self._aligners = 0, 1
        self.seconds = 0.0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
        self.seconds = round(time.perf_counter() - self._began, 3)

    def say(self, doing: str) -> None:
        """Name a step whose end is not known."""
        self._bar.reset(self._task, description=doing, total=None, bits="")

    @contextmanager
    def reading(self, doing: str, files: Iterable[Path]) -> Iterator[None]:
        """Move the bar by the bytes of files that are read meanwhile."""
        from isogloss.io import total_size

        self._bar.update(self._task, visible=False)
        with reading(self._bar, doing, total_size(files), bits=""):
            yield
        self._bar.update(self._task, visible=True)

    def plan(self, aligner: Aligner) -> None:
        """Say which models will run."""
        from isogloss.alignment.models import parse_schedule

        stages = parse_schedule(aligner.schedule)
        lengths = [stage.iterations for stage in stages]
        self._models = [stage.model for stage in stages]
        self._before = [sum(lengths[:k]) for k in range(len(lengths))]
        self._each, self._aligners = sum(lengths), aligner.n_models
        self._bar.reset(self._task, total=self._each * self._aligners, description="training", bits="")

    def advance(self, place: Place, line: Iteration) -> None:
        """Move the bar to an iteration that has ended."""
        likelihood = line.free_energy.log_likelihood
        bits = "" if likelihood is None else f"{-likelihood / line.rows / math.log(2):.3f} bits per word"
        done = self._each * place.member + self._before[place.stage] + place.iteration
        model = self._models[place.stage]
        name = f"model {model}" if model.isdigit() else model
        if self._aligners > 1:
            name = f"{place.member + 1} of {self._aligners}: {name}"
        self._bar.update(self._task, completed=done, description=name, bits=bits)


def train(
    aligner: Aligner,
    bitext: Bitext,
    checkpoint: Path | None,
    resume: bool,
    progress: AlignProgress,
) -> None:
    """Fit, and keep the last finished iteration whatever happens, where there is a file for it."""
    from isogloss.alignment import Checkpoints

    progress.plan(aligner)
    if checkpoint is None:
        aligner.fit(bitext, on_iteration=progress.advance)
        return
    checkpoints = Checkpoints(checkpoint, aligner, bitext)
    start = checkpoints.load() if resume else None

    def finished(where: Any, line: Any) -> None:
        checkpoints.keep(where)
        progress.advance(where, line)

    try:
        aligner.fit(bitext, on_iteration=finished, resume=start)
    except BaseException:
        checkpoints.flush()
        raise


def checkpoint_path(output: Path) -> Path:
    """The checkpoint of a run with this output."""
    return output.with_name(output.name + ".checkpoint")
