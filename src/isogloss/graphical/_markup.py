"""Names made safe for LaTeX, HTML and SVG."""

from __future__ import annotations

import html

_IN_MATHS = {"\\": r"\backslash{}", "^": r"\wedge{}", "~": r"\sim{}", " ": r"\ "}
_IN_TEXT = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}


def latex_name(name: str) -> str:
    r"""A name in a formula.

    Examples
    --------
    >>> print(latex_name("G"), latex_name("blood_pressure"))
    G \mathit{blood\_pressure}
    """
    return name if len(name) == 1 and name.isalnum() else rf"\mathit{{{_escaped(name, _IN_MATHS)}}}"


def latex_text(text: str) -> str:
    r"""A text outside of formulas.

    Examples
    --------
    >>> print(latex_text("50% of #1"))
    50\% of \#1
    """
    return _escaped(text, _IN_TEXT)


def xml_text(text: str) -> str:
    """A text in HTML or SVG, without letters that XML does not allow.

    Examples
    --------
    >>> xml_text("a<b")
    'a&lt;b'
    """
    printable = (letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return html.escape("".join(printable))


def _escaped(text: str, special: dict[str, str]) -> str:
    return "".join(special.get(letter, f"\\{letter}" if letter in "{}_#$%&" else letter) for letter in text)
