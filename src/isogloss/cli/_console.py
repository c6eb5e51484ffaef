"""A console of rich for text that may come from anybody."""

from __future__ import annotations

from collections.abc import Iterable

import rich.console
from rich.segment import Segment

from isogloss.io import strip_controls


class Console(rich.console.Console):
    """A console of rich that prints no control characters but its own."""

    def render(
        self, renderable: rich.console.RenderableType, options: rich.console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render something into segments of text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=strip_controls(segment.text))
