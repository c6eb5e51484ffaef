"""Elements of SVG: attributes and text are escaped, numbers short, and styles left to the style sheet."""

from __future__ import annotations

from markupsafe import Markup, escape

__all__ = ["node", "number", "picture"]

Value = str | float


def node(tag: str, *children: str, **attributes: Value) -> Markup:
    """An element; ``class_`` is ``class``, and other underscores are hyphens.

    Examples
    --------
    >>> print(node("text", "<b>", class_="word", x=1.50, text_anchor="end"))
    <text class="word" x="1.5" text-anchor="end">&lt;b&gt;</text>
    """
    said = "".join(f' {_name(name)}="{_value(value)}"' for name, value in attributes.items())
    inside = Markup("").join(children)
    return Markup(f"<{tag}{said}>{inside}</{tag}>")


def picture(
    width: float, height: float, label: str, *children: str, class_: str = "", **attributes: Value
) -> Markup:
    """A drawing that fits its place; the label is what those hear who do not see it.

    Examples
    --------
    >>> print(picture(10, 5, "A & B"))
    <svg class="" viewBox="0 0 10 5" role="img" aria-label="A &amp; B"></svg>
    """
    box = f"0 0 {number(width)} {number(height)}"
    return node("svg", *children, class_=class_, viewBox=box, role="img", aria_label=label, **attributes)


def number(value: float) -> str:
    """A number with no more digits than a screen can show.

    Examples
    --------
    >>> number(2 / 3), number(-0.001), number(12.0)
    ('0.67', '0', '12')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _value(value: Value) -> str:
    return str(escape(value)) if isinstance(value, str) else number(value)
