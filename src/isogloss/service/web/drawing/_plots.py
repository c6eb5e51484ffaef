"""Plots as inline SVG: sparkline, timeline, bars, curve, alignment diagram; CSS colours them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta

import numpy as np
from markupsafe import Markup, escape

Days = Sequence[tuple[str, int]]
"""ISO 8601 days with counts."""

Spans = Mapping[str, Sequence[tuple[float, float, int]]]
"""Bars of each lane: start and end in days since 1970, and size."""

MAX_COLUMNS = 120
"""Columns of a plot; longer ranges have several days per column."""

MIN_SPARKLINE_COLUMNS = 14
"""A minimum, so that a burst of one day looks short beside a story of a week."""

MAX_COLUMN_WIDTH = 44.0

_WORD_ROW_HEIGHT = 24.0
MAX_WORD_CHARS = 20

Value = str | float


def sparkline(days: Days, label: str = "") -> Markup:
    """Draw articles per day as small columns, ending with the last day.

    Examples
    --------
    >>> print(sparkline([("2025-03-05", 1), ("2025-03-07", 2)]))
    <svg class="sparkline" viewBox="0 0 42 12" role="img"
     aria-label="Articles on each day from 2025-03-05 to 2025-03-07: 1, 0, 2"
     preserveAspectRatio="none"><path d="M33.5 12v-6h2v6zM39.5 12v-12h2v12z"></path><path
     class="ground" d="M0 11.5h42"></path></svg>
    """
    start, end, counts = _columns(days)
    alt = label or (_alt_text(start, end, counts) if counts else "No articles")
    shown = [0] * (MIN_SPARKLINE_COLUMNS - len(counts)) + counts
    width = 3 * len(shown)
    columns = element("path", d=_shape(shown, 3.0, 12.0, gap=1.0))
    ground = element("path", class_="ground", d=f"M0 11.5h{width}")
    return svg(width, 12, alt, columns, ground, class_="sparkline", preserveAspectRatio="none")


def timeline(days: Days, lanes: Spans, names: Mapping[str, str], *, chapters: Sequence[str] = ()) -> Markup:
    """Draw articles per day as columns, above one lane per language with its clusters.

    Lanes are clusters as (start, end, size), in days since 1970; ``names`` labels them. A numbered line is
    drawn at the first day of each chapter (ISO 8601).
    """
    start, end, counts = _columns(days)
    if not counts:
        return svg(460, 20, "No articles", class_="timeline")
    first = (date.fromisoformat(start) - date(1970, 1, 1)).days
    length = (date.fromisoformat(end) - date.fromisoformat(start)).days + 1
    left, width, top = 104.0, 350.0, 84.0
    step = width / len(counts)
    gap = max(min(2.0, step / 4), step - MAX_COLUMN_WIDTH)
    columns = element("path", d=_shape(counts, step, 60.0, gap=gap), class_="columns")
    parts = [
        element("g", columns, transform=f"translate({fmt(left)} 10)"),
        element("line", x1=left, x2=left + width, y1=70, y2=70, class_="axis"),
        *_ticks(start, end, left, width, top + 2),
        element("text", str(max(counts)), x=left - 6, y=18, text_anchor="end", class_="tick"),
        element("text", "articles", x=left - 6, y=70, text_anchor="end", class_="tick"),
    ]
    scale = width / length
    for row, (lane, spans) in enumerate(lanes.items()):
        y = top + 24 + 20 * row
        parts.append(element("text", names.get(lane, lane), x=left - 6, y=y + 4, text_anchor="end"))
        parts.append(element("line", x1=left, x2=left + width, y1=y, y2=y, class_="lane"))
        parts += [_span(span, first, left, scale, y, width) for span in spans]
    height = top + 20 + 20 * len(lanes)
    for number, day in enumerate(chapters, 1):
        x = left + min(max(((date.fromisoformat(day) - date(1970, 1, 1)).days - first) * scale, 0.0), width)
        parts.append(element("line", x1=x, x2=x, y1=2, y2=height - 8, class_="chapter"))
        parts.append(element("text", str(number), x=x + 3, y=9, class_="tick"))
    alt = _alt_text(start, end, counts)
    return svg(460, height, alt, *parts, class_="timeline")


def bars(values: Mapping[str, float], label: str) -> Markup:
    """Draw a horizontal bar chart; negative values extend to the left.

    Examples
    --------
    >>> chart = bars({"time": -1.0, "places": 3.0}, "Why")
    >>> chart.count("<rect"), 'class="minus"' in chart, "+3.00" in chart
    (2, True, True)
    """
    high, low = (edge((0.0, *values.values())) for edge in (max, min))
    margin = 44.0 if low < 0 else 0.0
    scale = (250.0 - margin) / ((high - low) or 1.0)
    middle = 176.0 + margin - scale * low
    parts = [element("line", x1=middle, x2=middle, y1=0, y2=22 * len(values), class_="axis")]
    for row, (name, value) in enumerate(values.items()):
        y, length = 22.0 * row, scale * abs(value)
        sign, x = ("plus", middle) if value >= 0 else ("minus", middle - length)
        at, anchor = (x + length + 6, "start") if value >= 0 else (x - 6, "end")
        parts.append(element("text", name, x=166, y=y + 15, text_anchor="end"))
        parts.append(element("rect", class_=sign, x=x, y=y + 4, width=length, height=14))
        parts.append(element("text", f"{value:+.2f}", x=at, y=y + 15, text_anchor=anchor, class_="tick"))
    return svg(480, 22 * max(len(values), 1), label, *parts, class_="bars")


def curve(values: Sequence[float], label: str, steps: Sequence[float] = (), unit: str = "step") -> Markup:
    """Draw a line plot.

    Values that are not finite are omitted; steps are increasing, and 1, 2, ... by default.

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
        return svg(400, 20, f"{label}: no values", class_="curve")
    low, high = float(measured.min()), float(measured.max())
    xs = 56 + 320 * (at - at[0]) / ((at[-1] - at[0]) or 1.0)
    ys = 90 - 80 * (measured - low) / ((high - low) or 1.0)
    points = [f"{fmt(x)} {fmt(y)}" for x, y in zip(xs.tolist(), ys.tolist(), strict=True)]
    alt = f"{label}: {len(measured)} values from {measured[0]:.4g} to {measured[-1]:.4g}"
    return svg(
        400,
        118,
        alt,
        element("line", x1=56, x2=376, y1=98, y2=98, class_="axis"),
        element("text", f"{high:.4g}", x=48, y=14, text_anchor="end", class_="tick"),
        element("text", f"{low:.4g}", x=48, y=94, text_anchor="end", class_="tick"),
        element("text", f"{unit} {at[0]:g}", x=56, y=113, class_="tick"),
        element("text", f"{at[-1]:g}", x=376, y=113, text_anchor="end", class_="tick"),
        element("path", d=f"M{'L'.join(points)}", class_="line"),
        element("path", d="".join(f"M{point}h0" for point in points[:MAX_COLUMNS]), class_="dots"),
        class_="curve",
    )


def _ticks(start: str, end: str, left: float, width: float, y: float) -> list[Markup]:
    """Label the first and the last day."""
    first, last = (f"{day.day} {day:%b %Y}" for day in map(date.fromisoformat, (start, end)))
    if first == last:
        return [element("text", first, x=left + width / 2, y=y, text_anchor="middle", class_="tick")]
    return [
        element("text", first, x=left, y=y, class_="tick"),
        element("text", last, x=left + width, y=y, text_anchor="end", class_="tick"),
    ]


def _columns(days: Days) -> tuple[str, str, list[int]]:
    """Return the first and last day, and the counts of all columns."""
    if not days:
        return "", "", []
    counted = {date.fromisoformat(day): count for day, count in days}
    start, end = min(counted), max(counted)
    days_per_column = -(-((end - start).days + 1) // MAX_COLUMNS)
    columns = [0] * (((end - start).days // days_per_column) + 1)
    for day, count in counted.items():
        columns[(day - start) // timedelta(days=days_per_column)] += count
    return start.isoformat(), end.isoformat(), columns


def _shape(counts: Sequence[int], step: float, height: float, *, gap: float) -> str:
    highest = max(counts) or 1
    return "".join(
        f"M{fmt(step * at + gap / 2)} {fmt(height)}v-{fmt(height * count / highest)}"
        f"h{fmt(step - gap)}v{fmt(height * count / highest)}z"
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
    return element("line", x1=x, x2=max(x2, x + 0.5), y1=y, y2=y, stroke_width=thick, class_="span")


def _alt_text(start: str, end: str, counts: Sequence[int]) -> str:
    listed = ", ".join(map(str, counts[:31])) + (", and so on" if len(counts) > 31 else "")
    return f"Articles on each day from {start} to {end}: {listed}"


def alignment_diagram(
    source: Sequence[str],
    target: Sequence[str],
    links: Iterable[tuple[int, int]],
    *,
    langs: tuple[str, str] = ("", ""),
) -> Markup:
    """Draw a word alignment: two columns of words with lines between aligned ones.

    Invalid links are ignored. ``langs`` are language codes, for screen readers.

    Examples
    --------
    >>> diagram = alignment_diagram(["blue", "house"], ["maison", "bleue"], [(0, 1), (1, 0), (7, 7)])
    >>> diagram.count("<path"), diagram.count("<text")
    (2, 4)
    """
    valid = [(i, j) for i, j in links if 0 <= i < len(source) and 0 <= j < len(target)]
    rows = max(len(source), len(target), 1)
    alt = f"{len(valid)} lines between {len(source)} words and {len(target)} words"
    return svg(
        480,
        _WORD_ROW_HEIGHT * rows + 8,
        alt,
        element("g", *(_alignment_line(i, j) for i, j in valid), class_="links"),
        _words(source, {i for i, _ in valid}, 175.0, "end", langs[0]),
        _words(target, {j for _, j in valid}, 305.0, "start", langs[1]),
        class_="alignment",
    )


def _alignment_line(i: int, j: int) -> Markup:
    a, b = fmt(_word_y(i) - 5), fmt(_word_y(j) - 5)
    return element("path", d=f"M183 {a}C240 {a} 240 {b} 297 {b}")


def _words(words: Sequence[str], linked: set[int], x: float, anchor: str, lang: str) -> Markup:
    drawn = (
        element(
            "text",
            word if len(word) <= MAX_WORD_CHARS else word[: MAX_WORD_CHARS - 1] + "…",
            x=x,
            y=_word_y(at),
            text_anchor=anchor,
            class_="word" if at in linked else "word unaligned",
        )
        for at, word in enumerate(words)
    )
    return element("g", *drawn, lang=lang) if lang else element("g", *drawn)


def _word_y(row: int) -> float:
    return _WORD_ROW_HEIGHT * row + 20


def element(tag: str, *children: str, **attributes: Value) -> Markup:
    """Return an SVG element; ``class_`` means ``class``, and other underscores become hyphens.

    Examples
    --------
    >>> print(element("text", "<b>", class_="word", x=1.50, text_anchor="end"))
    <text class="word" x="1.5" text-anchor="end">&lt;b&gt;</text>
    """
    rendered = "".join(f' {_name(name)}="{_value(value)}"' for name, value in attributes.items())
    content = Markup("").join(children)
    return Markup(f"<{tag}{rendered}>{content}</{tag}>")


def svg(
    width: float, height: float, label: str, *children: str, class_: str = "", **attributes: Value
) -> Markup:
    """Return an ``svg`` element that scales to its container, with a label for screen readers.

    Examples
    --------
    >>> print(svg(10, 5, "A & B"))
    <svg class="" viewBox="0 0 10 5" role="img" aria-label="A &amp; B"></svg>
    """
    box = f"0 0 {fmt(width)} {fmt(height)}"
    return element("svg", *children, class_=class_, viewBox=box, role="img", aria_label=label, **attributes)


def fmt(value: float) -> str:
    """Format a number with at most two decimals.

    Examples
    --------
    >>> fmt(2 / 3), fmt(-0.001), fmt(12.0)
    ('0.67', '0', '12')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _value(value: Value) -> str:
    return str(escape(value)) if isinstance(value, str) else fmt(value)
