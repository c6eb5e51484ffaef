"""Evaluation reports of models as tables and curves, chosen by the shape of the JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from isogloss.service.web.drawing import curve

MAX_TABLE_ROWS = 200
MAX_NESTING = 3
MAX_CELL_CHARS = 500


@dataclass(frozen=True)
class ReportSection:
    """A section of a report: a plot, a table or both; a table without a head lists single values."""

    name: str
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    plot: Markup | None = None


def report_sections(
    report: Mapping[str, Any], name: str = "Evaluation", depth: int = 0
) -> list[ReportSection]:
    """Divide a report into sections: single values first, then tables and curves in their order.

    Lists of numbers become curves. Lists of objects become tables, with a curve if they are pairs of numbers
    of which the first increase. Objects of objects become tables with row names; other objects are reports of
    their own. Underscores become spaces.

    Examples
    --------
    >>> report = {"mrr": 0.8125, "curve": [1.0, 2.0], "pairs": [{"a": "en", "mrr": 0.5}, {"a": "de"}]}
    >>> [(each.name, each.head, each.rows) for each in report_sections(report)]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('Evaluation', [], [['mrr', '0.812']]), ('curve', [], []),
     ('pairs', ['a', 'mrr'], [['en', '0.500'], ['de', '']])]
    """
    singles, sections = [], []
    for key, value in report.items():
        title = str(key).replace("_", " ")
        if _is_curve(value):
            sections.append(ReportSection(title, plot=curve(list(map(float, value)), title)))
        elif isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
            sections.append(_table(title, value, _plot_pairs(title, value)))
        elif isinstance(value, Mapping) and len(value) > 1 and all(map(_is_row, value.values())):
            sections.append(_table(title, [{"": row} | dict(value[row]) for row in value]))
        elif isinstance(value, Mapping) and value and depth < MAX_NESTING:
            sections += report_sections(value, title, depth + 1)
        else:
            singles.append([title, _format(value)])
    return [ReportSection(name, rows=singles), *sections] if singles else sections


def _is_curve(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(_is_number(each) for each in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_row(value: Any) -> bool:
    return isinstance(value, Mapping) and not any(isinstance(each, Mapping | list) for each in value.values())


def _plot_pairs(name: str, rows: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Plot pairs of numbers of which the first increase; None for other tables."""
    names = list(rows[0])
    if len(names) != 2 or len(rows) < 2 or any(list(row) != names for row in rows):
        return None
    if not all(_is_number(each) for row in rows for each in row.values()):
        return None
    steps, values = ([float(row[key]) for row in rows] for key in names)
    if any(one >= other for one, other in pairwise(steps)):
        return None
    return curve(values, f"{name}: {names[1]}", steps, str(names[0]))


def _table(name: str, rows: Sequence[Mapping[str, Any]], plot: Markup | None = None) -> ReportSection:
    head = list(dict.fromkeys(key for row in rows[:MAX_TABLE_ROWS] for key in row))
    cells = [[_format(row.get(key)) for key in head] for row in rows[:MAX_TABLE_ROWS]]
    return ReportSection(name, [str(key).replace("_", " ") for key in head], cells, plot)


def _format(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}" if 0.01 <= abs(value) < 10 else f"{value:.4g}"
    return str(value)[:MAX_CELL_CHARS]
