"""A page of pictures: inline SVG in one HTML file that needs nothing else."""

from __future__ import annotations

import html
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isogloss.em import Iteration, Recorder

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
figure { margin: 1.5rem 0; } figure svg { max-width: 100%; height: auto; background: white; }
figcaption { color: GrayText; } :root { color-scheme: light dark; }
"""


def write_report(
    folder: Path,
    x: NDArray[np.float64],
    recorder: Recorder[Any],
    traces: Mapping[str, Sequence[Iteration]],
) -> list[Path]:
    """Draw the demo's fits into ``folder/index.html``."""
    from isogloss.plotting import figure, plot_free_energy, plot_mixture_steps, plot_traces

    folder.mkdir(parents=True, exist_ok=True)
    steps = plot_mixture_steps(x, recorder, "full")
    curves = figure(10, 4)
    left, right = curves.subplots(1, 2)
    plot_traces(traces, ax=left, gap=True)
    plot_free_energy(recorder.lines, ax=right)
    pictures = {
        "A mixture finds its components: rows take the colours of their posteriors, ellipses are two "
        "standard deviations.": steps,
        "Left: how far each variant is from the best bound. Right: the bound is expected complete "
        "log-likelihood plus entropy.": curves,
    }
    path = folder / "index.html"
    path.write_text(page("isogloss demo", pictures), encoding="utf-8")
    return [path]


def page(title: str, pictures: Mapping[str, Any]) -> str:
    """An HTML page of figures with captions."""
    body = "\n".join(
        f"<figure>{_svg(picture)}<figcaption>{html.escape(caption)}</figcaption></figure>"
        for caption, picture in pictures.items()
    )
    heading = html.escape(title)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{heading}</title>'
        f"<style>{STYLE}</style></head><body><h1>{heading}</h1>\n{body}\n</body></html>\n"
    )


def _svg(picture: Any) -> str:
    text = io.StringIO()
    picture.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()[text.getvalue().index("<svg") :]
