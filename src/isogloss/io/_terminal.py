"""Make untrusted text safe for terminals and logs.

Terminals interpret control characters: with them, a title could recolour the screen, rename the window,
overwrite earlier output, or reverse the direction of text.
"""

from __future__ import annotations

import logging

_CONTROLS = [
    *(code for code in range(0x20) if chr(code) not in "\t\n"),
    *range(0x7F, 0xA0),  # DEL and C1, among them one-letter escape sequences
    *range(0x2028, 0x202F),  # line and paragraph separators, embeddings and overrides of direction
    *range(0x2066, 0x206A),  # isolates of direction
]
_REMOVED = dict.fromkeys(_CONTROLS)
_ESCAPED = {code: f"\\u{code:04x}" for code in _CONTROLS}


def strip_controls(text: str) -> str:
    r"""Remove control characters, except tabs and line ends, and bidirectional overrides.

    Examples
    --------
    >>> strip_controls("Rain\x1b[2J in \u202eGalway\x9b31m")
    'Rain[2J in Galway31m'
    """
    return text if text.isascii() and text.isprintable() else text.translate(_REMOVED)


def escape_controls(text: str) -> str:
    r"""Escape the same characters in JSON text as ``\uXXXX``.

    Examples
    --------
    >>> print(escape_controls('["\u202eGalway\x9b31m"]'))
    ["\u202eGalway\u009b31m"]
    """
    return text.translate(_ESCAPED)


class TerminalFormatter(logging.Formatter):
    """A log formatter whose output can neither control a terminal nor forge another line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """Format the message on one line."""
        return " ".join(super().formatMessage(record).splitlines())

    def format(self, record: logging.LogRecord) -> str:
        """Format a record: one line, and the lines of its exception."""
        return strip_controls(super().format(record))
