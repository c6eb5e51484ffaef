"""Text from anybody, made safe for terminals and logs.

A terminal obeys control characters: with them a title could recolour the screen, rename the window, overwrite
what was printed before, or run through text in the opposite direction.
"""

from __future__ import annotations

import logging

__all__ = ["TerminalFormatter", "escape_controls", "strip_controls"]

_CONTROLS = [
    *(code for code in range(0x20) if chr(code) not in "\t\n"),
    *range(0x7F, 0xA0),  # DEL and C1, among them one-letter escape sequences
    *range(0x2028, 0x202F),  # line and paragraph separators, embeddings and overrides of direction
    *range(0x2066, 0x206A),  # isolates of direction
]
_REMOVED = dict.fromkeys(_CONTROLS)
_ESCAPED = {code: f"\\u{code:04x}" for code in _CONTROLS}


def strip_controls(text: str) -> str:
    r"""Remove control characters but for tabs and line ends, and overrides of the direction of text.

    Examples
    --------
    >>> strip_controls("Rain\x1b[2J in \u202eGalway\x9b31m")
    'Rain[2J in Galway31m'
    """
    return text if text.isascii() and text.isprintable() else text.translate(_REMOVED)


def escape_controls(text: str) -> str:
    r"""Write the same characters in JSON, where they can only be in strings, as ``\uXXXX``.

    Examples
    --------
    >>> print(escape_controls('["\u202eGalway\x9b31m"]'))
    ["\u202eGalway\u009b31m"]
    """
    return text.translate(_ESCAPED)


class TerminalFormatter(logging.Formatter):
    """Formats records of a log so that their texts can neither control a terminal nor begin another line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """One line."""
        return " ".join(super().formatMessage(record).splitlines())

    def format(self, record: logging.LogRecord) -> str:
        """One line, and those of an exception."""
        return strip_controls(super().format(record))
