"""A progress bar for EM: steps on the bar, the bound beside it."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from isogloss.em import Iteration

__all__ = ["EMProgress"]


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
