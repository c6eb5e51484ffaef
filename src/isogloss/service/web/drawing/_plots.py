"""Small plots: how often, when, how much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

import numpy as np
from markupsafe import Markup

from isogloss.service.web.drawing._svg import node, number, picture

__all__ = ["bars", "curve", "sparkline", "timeline"]

Days = Sequence[tuple[str, int]]
"""Days as ISO 8601 has them, with how many there are of each."""

Spans = Mapping[str, Sequence[tuple[float, float, int]]]
"""For each lane: when something began and ended, in days since 1970, and its size."""

_LONGEST = 120
"""Columns of a plot at most; more days are put together."""

_FORTNIGHT = 14
"""Columns of a small plot at least, so that a burst of one day looks short beside a story of a week."""

_BROAD = 44.0
"""Width of a column at most."""


def sparkline(days: Days, label: str = "") -> Markup:
    """Articles of each day as small columns; a fortnight at least, the last day at the right.

    Examples
    --------
    >>> print(sparkline([("2025-03-05", 1), ("2025-03-07", 2)]))
    <svg class="sparkline" viewBox="0 0 42 12" role="img"
     aria-label="Articles on each day from 2025-03-05 to 2025-03-07: 1, 0, 2"
     preserveAspectRatio="none"><path d="M33.5 12v-6h2v6zM39.5 12v-12h2v12z"></path><path
     class="ground" d="M0 11.5h42"></path></svg>
    """
    start, end, counts = _columns(days)
    said = label or (_said(start, end, counts) if counts else "No articles")
    shown = [0] * (_FORTNIGHT - len(counts)) + counts
    width = 3 * len(shown)
    columns = node("path", d=_shape(shown, 3.0, 12.0, gap=1.0))
    ground = node("path", class_="ground", d=f"M0 11.5h{width}")
    return picture(width, 12, said, columns, ground, class_="sparkline", preserveAspectRatio="none")


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
        return picture(460, 20, "No articles", class_="timeline")
    first = (date.fromisoformat(start) - date(1970, 1, 1)).days
    length = (date.fromisoformat(end) - date.fromisoformat(start)).days + 1
    left, width, top = 104.0, 350.0, 84.0
    step = width / len(counts)
    gap = max(min(2.0, step / 4), step - _BROAD)
    columns = node("path", d=_shape(counts, step, 60.0, gap=gap), class_="columns")
    parts = [
        node("g", columns, transform=f"translate({number(left)} 10)"),
        node("line", x1=left, x2=left + width, y1=70, y2=70, class_="axis"),
        *_ticks(start, end, left, width, top + 2),
        node("text", str(max(counts)), x=left - 6, y=18, text_anchor="end", class_="tick"),
        node("text", "articles", x=left - 6, y=70, text_anchor="end", class_="tick"),
    ]
    scale = width / length
    for row, (lane, spans) in enumerate(lanes.items()):
        y = top + 24 + 20 * row
        parts.append(node("text", names.get(lane, lane), x=left - 6, y=y + 4, text_anchor="end"))
        parts.append(node("line", x1=left, x2=left + width, y1=y, y2=y, class_="lane"))
        parts += [_span(span, first, left, scale, y, width) for span in spans]
    said = _said(start, end, counts)
    return picture(460, top + 20 + 20 * len(lanes), said, *parts, class_="timeline")


def bars(values: Mapping[str, float], label: str) -> Markup:
    """Named amounts from a common line: to the right what adds, to the left what takes away.

    Examples
    --------
    >>> drawn = bars({"time": -1.0, "places": 3.0}, "Why")
    >>> drawn.count("<rect"), 'class="minus"' in drawn, "+3.00" in drawn
    (2, True, True)
    """
    most, least = (edge((0.0, *values.values())) for edge in (max, min))
    room = 44.0 if least < 0 else 0.0
    scale = (250.0 - room) / ((most - least) or 1.0)
    middle = 176.0 + room - scale * least
    parts = [node("line", x1=middle, x2=middle, y1=0, y2=22 * len(values), class_="axis")]
    for row, (name, value) in enumerate(values.items()):
        y, length = 22.0 * row, scale * abs(value)
        sign, x = ("plus", middle) if value >= 0 else ("minus", middle - length)
        at, anchor = (x + length + 6, "start") if value >= 0 else (x - 6, "end")
        parts.append(node("text", name, x=166, y=y + 15, text_anchor="end"))
        parts.append(node("rect", class_=sign, x=x, y=y + 4, width=length, height=14))
        parts.append(node("text", f"{value:+.2f}", x=at, y=y + 15, text_anchor=anchor, class_="tick"))
    return picture(480, 22 * max(len(values), 1), label, *parts, class_="bars")


def curve(values: Sequence[float], label: str, steps: Sequence[float] = (), unit: str = "step") -> Markup:
    """A line through values, one after the other.

    Parameters
    ----------
    values : sequence of float
        What was measured; what is not finite is left out.
    label : str
        What it is.
    steps : sequence of float
        Where each was measured, rising; 1, 2 and so on if left out.
    unit : str
        What the steps count.

    Examples
    --------
    >>> "M56 10L216 90L376 50" in curve([3.0, 1.0, 2.0], "Bits per word")
    True
    """
    at = np.asarray(steps if len(steps) else np.arange(1, len(values) + 1), dtype=float)
    measured = np.asarray(values, dtype=float)
    kept = np.isfinite(measured)
    at, measured = at[kept], measured[kept]
    if not len(measured):
        return picture(400, 20, f"{label}: no values", class_="curve")
    low, high = float(measured.min()), float(measured.max())
    xs = 56 + 320 * (at - at[0]) / ((at[-1] - at[0]) or 1.0)
    ys = 90 - 80 * (measured - low) / ((high - low) or 1.0)
    points = [f"{number(x)} {number(y)}" for x, y in zip(xs.tolist(), ys.tolist(), strict=True)]
    said = f"{label}: {len(measured)} values from {measured[0]:.4g} to {measured[-1]:.4g}"
    return picture(
        400,
        118,
        said,
        node("line", x1=56, x2=376, y1=98, y2=98, class_="axis"),
        node("text", f"{high:.4g}", x=48, y=14, text_anchor="end", class_="tick"),
        node("text", f"{low:.4g}", x=48, y=94, text_anchor="end", class_="tick"),
        node("text", f"{unit} {at[0]:g}", x=56, y=113, class_="tick"),
        node("text", f"{at[-1]:g}", x=376, y=113, text_anchor="end", class_="tick"),
        node("path", d=f"M{'L'.join(points)}", class_="line"),
        node("path", d="".join(f"M{point}h0" for point in points[:_LONGEST]), class_="dots"),
        class_="curve",
    )


def _ticks(start: str, end: str, left: float, width: float, y: float) -> list[Markup]:
    """The first day and the last, or the one there is."""
    first, last = (f"{day.day} {day:%b %Y}" for day in map(date.fromisoformat, (start, end)))
    if first == last:
        return [node("text", first, x=left + width / 2, y=y, text_anchor="middle", class_="tick")]
    return [
        node("text", first, x=left, y=y, class_="tick"),
        node("text", last, x=left + width, y=y, text_anchor="end", class_="tick"),
    ]


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
    thick = float(min(7 + 2 * np.log2(max(size, 1)), 15))
    return node("line", x1=x, x2=max(x2, x + 0.5), y1=y, y2=y, stroke_width=thick, class_="span")


def _said(start: str, end: str, counts: Sequence[int]) -> str:
    listed = ", ".join(map(str, counts[:31])) + (", and so on" if len(counts) > 31 else "")
    return f"Articles on each day from {start} to {end}: {listed}"
