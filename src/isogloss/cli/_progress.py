"""Progress bars, with a total whenever the input has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.filesize import decimal
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from isogloss.cli._console import Console

if TYPE_CHECKING:
    from isogloss.em import Iteration


class AmountColumn(ProgressColumn):
    """Progress as a count, or in bytes for tasks with that unit, with the total if it is known."""

    def render(self, task: Task) -> Text:
        """Return the text for a task."""
        show: Callable[[int], str] = decimal if task.fields.get("unit") == "bytes" else "{:,}".format
        done = show(int(task.completed))
        if task.total is None:
            return Text(done if task.completed else "", style="progress.download")
        return Text(f"{done}/{show(int(task.total))}", style="progress.download")


def progress_bar(console: Console | None = None) -> Progress:
    """Make a progress bar on standard error, which is only drawn on a terminal."""
    console = console or Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        AmountColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


@contextmanager
def reading(
    progress: Progress, description: str, total: int | None, **fields: Any
) -> Iterator[Callable[[str], None]]:
    """Move a bar by the bytes of the files that are read meanwhile, compressed ones as they are on the disk.

    ``total`` is the bytes of all the files, if known; ``fields`` are for further columns of the bar. What is
    yielded changes the description.
    """
    from isogloss.io import report_reads

    task = progress.add_task(escape(description), total=total, unit="bytes", **fields)
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count  # the start of a file may be read twice
        progress.update(task, completed=done if total is None else min(done, total))

    with report_reads(advance):
        yield lambda text: progress.update(task, description=escape(text))
    progress.remove_task(task)


@contextmanager
def counting_steps(
    description: str, steps: int, console: Console | None = None
) -> Iterator[Callable[[str], None]]:
    """Show a bar of named steps; gives a function that is called with the name of each as it begins."""
    with progress_bar(console) as progress:
        task = progress.add_task(escape(description), total=steps)
        begun = 0

        def begin(name: str) -> None:
            nonlocal begun
            progress.update(task, description=escape(name), completed=begun)
            begun += 1

        yield begin


class EMProgress:
    """A callback for the EM loop that draws a bar; use it as a context manager."""

    def __init__(self, description: str, max_iter: int, *, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("bound {task.fields[bound]} per row"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task(description, total=max_iter, bound="-")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def __call__(self, line: Iteration, parameters: Any) -> None:
        """Move the bar."""
        bound = f"{line.bound / line.rows:.5f}"
        self._progress.update(self._task, completed=line.index, bound=bound)
