"""Evaluations of models, drawn by their shape: tables of numbers, curves, and single facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from isogloss.service.drawing import curve

__all__ = ["Part", "parts_of"]

_ROWS = 200
_DEEP = 3


@dataclass(frozen=True)
class Part:
    """A part of a report: a table or a picture under a name; a table without a head is a list of facts."""

    name: str
    head: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    picture: Markup | None = None


def parts_of(report: Mapping[str, Any], name: str = "Evaluation", deep: int = 0) -> list[Part]:
    """A report as parts: single values first, then its tables and curves, in their order.

    Parameters
    ----------
    report : mapping
        Whatever JSON can hold. Lists of numbers are curves, lists of mappings are tables, mappings are
        reports of their own.
    name : str
        What to call the single values.
    deep : int
        How many reports this one is in.

    Examples
    --------
    >>> told = {"mrr": 0.8125, "curve": [1.0, 2.0], "pairs": [{"a": "en", "mrr": 0.5}, {"a": "de"}]}
    >>> [(part.name, part.head, part.rows) for part in parts_of(told)]  # doctest: +NORMALIZE_WHITESPACE
    [('Evaluation', [], [['mrr', '0.8125']]), ('curve', [], []),
     ('pairs', ['a', 'mrr'], [['en', '0.5'], ['de', '']])]
    """
    facts, parts = [], []
    for key, value in report.items():
        if _is_curve(value):
            parts.append(Part(str(key), picture=curve(list(map(float, value)), str(key))))
        elif isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
            parts.append(_table(str(key), value))
        elif isinstance(value, Mapping) and value and deep < _DEEP:
            parts += parts_of(value, str(key), deep + 1)
        else:
            facts.append([str(key), _written(value)])
    return [Part(name, rows=facts), *parts] if facts else parts


def _is_curve(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(_is_number(each) for each in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> Part:
    head = list(dict.fromkeys(str(key) for row in rows[:_ROWS] for key in row))
    return Part(name, head, [[_written(row.get(key)) for key in head] for row in rows[:_ROWS]])


def _written(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)[:500]
