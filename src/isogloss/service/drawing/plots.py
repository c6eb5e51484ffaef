"""Small plots: how often, when, how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import numpy as np
from markupsafe import Markup

from isogloss.service.drawing.svg import node, number, picture

__all__ = ["bars", "curve", "sparkline", "timeline"]

Days = Sequence[tuple[str, int]]
"""Days as ISO 8601 has them, with how many there are of each."""

Spans = Mapping[str, Sequence[tuple[float, float, int]]]
"""For each lane: when something began and ended, in days since 1970, and its size."""

_LONGEST = 120
"""Columns of a plot at most; more days are put together."""


def sparkline(days: Days, label: str = "") -> Markup:
    """Articles of each day as small columns.

    Examples
    --------
    >>> print(sparkline([("2025-03-05", 1), ("2025-03-07", 2)]))
    <svg class="sparkline" viewBox="0 0 9 12" role="img"
     aria-label="Articles on each day from 2025-03-05 to 2025-03-07: 1, 0, 2"><path
     d="M0.5 12v-6h2v6zM6.5 12v-12h2v12z"></path></svg>
    """
    start, end, counts = _columns(days)
    if not counts:
        return picture(9, 12, label or "No articles", class_="sparkline")
    said = label or _said(start, end, counts)
    shape = _shape(counts, 3.0, 12.0, gap=1.0)
    return picture(3 * len(counts), 12, said, node("path", d=shape), class_="sparkline")


def timeline(days: Days, lanes: Spans, names: Mapping[str, str]) -> Markup:
    """Articles of each day as columns, and below them a lane for each language with its clusters.

    Parameters
    ----------
    days : sequence of (str, int)
        Numbers of articles.
    lanes : mapping of str to sequence of (begin, end, size)
        Clusters of each language, in days since 1970.
    names : mapping of str to str
        What to call the lanes.
    """
    start, end, counts = _columns(days)
    if not counts:
        return picture(600, 20, "No articles", class_="timeline")
    first = (date.fromisoformat(start) - date(1970, 1, 1)).days
    length = (date.fromisoformat(end) - date.fromisoformat(start)).days + 1
    left, width, top = 90.0, 500.0, 80.0
    step = width / len(counts)
    columns = node("path", d=_shape(counts, step, 60.0, gap=min(2.0, step / 4)), class_="columns")
    parts = [
        node("g", columns, transform=f"translate({number(left)} 10)"),
        node("line", x1=left, x2=left + width, y1=70, y2=70, class_="axis"),
        node("text", start, x=left, y=top + 4, class_="tick"),
        node("text", end, x=left + width, y=top + 4, text_anchor="end", class_="tick"),
        node("text", str(max(counts)), x=left - 6, y=18, text_anchor="end", class_="tick"),
    ]
    scale = width / length
    for row, (lane, spans) in enumerate(lanes.items()):
        y = top + 22 + 18 * row
        parts.append(node("text", names.get(lane, lane), x=left - 6, y=y + 4, text_anchor="end"))
        parts.append(node("line", x1=left, x2=left + width, y1=y, y2=y, class_="lane"))
        parts += [_span(span, first, left, scale, y, width) for span in spans]
    said = _said(start, end, counts)
    return picture(600, top + 22 + 18 * len(lanes), said, *parts, class_="timeline")


def bars(values: Mapping[str, float], label: str) -> Markup:
    """Named amounts from a common line: to the right what adds, to the left what takes away.

    Examples
    --------
    >>> drawn = bars({"time": -1.0, "places": 3.0}, "Why")
    >>> drawn.count("<rect"), 'class="minus"' in drawn, "+3.00" in drawn
    (2, True, True)
    """
    most, least = (edge((0.0, *values.values())) for edge in (max, min))
    scale = 340.0 / ((most - least) or 1.0)
    middle = 180.0 - scale * least
    parts = [node("line", x1=middle, x2=middle, y1=0, y2=22 * len(values), class_="axis")]
    for row, (name, value) in enumerate(values.items()):
        y, length = 22.0 * row, scale * abs(value)
        sign, x = ("plus", middle) if value >= 0 else ("minus", middle - length)
        parts.append(node("text", name, x=170, y=y + 15, text_anchor="end"))
        parts.append(node("rect", class_=sign, x=x, y=y + 4, width=length, height=14))
        parts.append(node("text", f"{value:+.2f}", x=x + length + 6, y=y + 15, class_="tick"))
    return picture(600, 22 * max(len(values), 1), label, *parts, class_="bars")


def curve(values: Sequence[float], label: str) -> Markup:
    """A line through values, one after the other.

    Examples
    --------
    >>> "M40 10L320 90L600 50" in curve([3.0, 1.0, 2.0], "Bits per word")
    True
    """
    finite = np.asarray([value for value in values if np.isfinite(value)], dtype=float)
    if not len(finite):
        return picture(620, 20, f"{label}: no values", class_="curve")
    low, high = float(finite.min()), float(finite.max())
    xs = np.linspace(40, 600, len(finite)) if len(finite) > 1 else np.array([40.0])
    ys = 90 - 80 * (finite - low) / ((high - low) or 1.0)
    points = "L".join(f"{number(x)} {number(y)}" for x, y in zip(xs.tolist(), ys.tolist(), strict=True))
    said = f"{label}: {len(finite)} values from {finite[0]:.4g} to {finite[-1]:.4g}"
    return picture(
        620,
        110,
        said,
        node("line", x1=40, x2=600, y1=96, y2=96, class_="axis"),
        node("text", f"{high:.4g}", x=36, y=14, text_anchor="end", class_="tick"),
        node("text", f"{low:.4g}", x=36, y=94, text_anchor="end", class_="tick"),
        node("path", d=f"M{points}", class_="line"),
        class_="curve",
    )


def _columns(days: Days) -> tuple[str, str, list[int]]:
    """The first day, the last, and a number for each day, or for some days together where they are many."""
    if not days:
        return "", "", []
    counted = {date.fromisoformat(day): count for day, count in days}
    start, end = min(counted), max(counted)
    together = -(-((end - start).days + 1) // _LONGEST)
    columns = [0] * (((end - start).days // together) + 1)
    for day, count in counted.items():
        columns[(day - start) // timedelta(days=together)] += count
    return start.isoformat(), end.isoformat(), columns


def _shape(counts: Sequence[int], step: float, height: float, *, gap: float) -> str:
    most = max(counts) or 1
    return "".join(
        f"M{number(step * at + gap / 2)} {number(height)}v-{number(height * count / most)}"
        f"h{number(step - gap)}v{number(height * count / most)}z"
        for at, count in enumerate(counts)
        if count
    )


def _span(
    span: tuple[float, float, int], first: int, left: float, scale: float, y: float, width: float
) -> Markup:
    begin, end, size = span
    x = left + min(max((begin - first) * scale, 0.0), width)
    x2 = left + min(max((end - first) * scale, 0.0), width)
    thick = float(min(4 + 2 * np.log2(max(size, 1)), 14))
    return node("line", x1=x, x2=max(x2, x + 0.5), y1=y, y2=y, stroke_width=thick, class_="span")


def _said(start: str, end: str, counts: Sequence[int]) -> str:
    listed = ", ".join(map(str, counts[:31])) + (", and so on" if len(counts) > 31 else "")
    return f"Articles on each day from {start} to {end}: {listed}"
