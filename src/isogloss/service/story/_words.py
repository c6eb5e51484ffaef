"""Times and values of stories in words."""

from __future__ import annotations

from datetime import timedelta


def describe_lag(lag: timedelta) -> str:
    """Return a time after the first article in words.

    Examples
    --------
    >>> [describe_lag(timedelta(minutes=n)) for n in (0, 1, 35, 60, 2000, 5000)]
    ['first', '1 minute later', '35 minutes later', '1 hour later', '33 hours later', '3 days later']
    """
    minutes = int(lag.total_seconds()) // 60
    if minutes < 1:
        return "first"
    unit, length = ("minute", 1) if minutes < 60 else ("hour", 60) if minutes < 48 * 60 else ("day", 24 * 60)
    n = minutes // length
    return f"{n} {unit}{'' if n == 1 else 's'} later"


def format_value(value: float, kind: str) -> str:
    """Format the value of a quantity.

    Examples
    --------
    >>> [format_value(12.0, "dead"), format_value(1214.0, "dead"), format_value(3.2, "inflation (%)")]
    ['12', '1,214', '3.2 %']
    >>> format_value(11.4e9, "EUR"), format_value(2.5e6, "votes"), format_value(0.5, "EUR")
    ('11.4 billion', '2.5 million', '0.5')
    """
    if kind.endswith("(%)"):
        return f"{value:g} %"
    for name, size in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if value >= size:
            return f"{value / size:,.6g} {name}"
    return f"{value:,.0f}" if value.is_integer() else f"{value:g}"
