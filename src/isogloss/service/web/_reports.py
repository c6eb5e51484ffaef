"""Evaluations of models, drawn by their shape: tables of numbers, curves, and single facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from isogloss.service.web.drawing import curve

__all__ = ["Part", "parts_of"]

_ROWS = 200
_DEEP = 3


@dataclass(frozen=True)
class Part:
    """A part of a report: a picture, a table or both; a table without a head is a list of facts."""

    name: str
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    picture: Markup | None = None


def parts_of(report: Mapping[str, Any], name: str = "Evaluation", deep: int = 0) -> list[Part]:
    """A report as parts: single values first, then its tables and curves, in their order.

    Parameters
    ----------
    report : mapping
        Whatever JSON can hold. Lists of numbers are curves, lists of mappings are tables, and curves too
        where they are pairs of numbers that rise; mappings of mappings are tables whose rows have names,
        other mappings are reports of their own. Underscores are blanks.
    name : str
        What to call the single values.
    deep : int
        How many reports this one is in.

    Examples
    --------
    >>> told = {"mrr": 0.8125, "curve": [1.0, 2.0], "pairs": [{"a": "en", "mrr": 0.5}, {"a": "de"}]}
    >>> [(part.name, part.head, part.rows) for part in parts_of(told)]  # doctest: +NORMALIZE_WHITESPACE
    [('Evaluation', [], [['mrr', '0.812']]), ('curve', [], []),
     ('pairs', ['a', 'mrr'], [['en', '0.500'], ['de', '']])]
    """
    facts, parts = [], []
    for key, value in report.items():
        called = str(key).replace("_", " ")
        if _is_curve(value):
            parts.append(Part(called, picture=curve(list(map(float, value)), called)))
        elif isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
            parts.append(_table(called, value, _measured(called, value)))
        elif isinstance(value, Mapping) and len(value) > 1 and all(map(_is_row, value.values())):
            parts.append(_table(called, [{"": row} | dict(value[row]) for row in value]))
        elif isinstance(value, Mapping) and value and deep < _DEEP:
            parts += parts_of(value, called, deep + 1)
        else:
            facts.append([called, _written(value)])
    return [Part(name, rows=facts), *parts] if facts else parts


def _is_curve(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(_is_number(each) for each in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_row(value: Any) -> bool:
    return isinstance(value, Mapping) and not any(isinstance(each, Mapping | list) for each in value.values())


def _measured(name: str, rows: Sequence[Mapping[str, Any]]) -> Markup | None:
    """A curve of pairs of numbers, the first of which rise; None for other tables."""
    names = list(rows[0])
    if len(names) != 2 or len(rows) < 2 or any(list(row) != names for row in rows):
        return None
    if not all(_is_number(each) for row in rows for each in row.values()):
        return None
    steps, values = ([float(row[key]) for row in rows] for key in names)
    if any(one >= other for one, other in pairwise(steps)):
        return None
    return curve(values, f"{name}: {names[1]}", steps, str(names[0]))


def _table(name: str, rows: Sequence[Mapping[str, Any]], picture: Markup | None = None) -> Part:
    head = list(dict.fromkeys(key for row in rows[:_ROWS] for key in row))
    cells = [[_written(row.get(key)) for key in head] for row in rows[:_ROWS]]
    return Part(name, [str(key).replace("_", " ") for key in head], cells, picture)


def _written(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}" if 0.01 <= abs(value) < 10 else f"{value:.4g}"
    return str(value)[:500]
