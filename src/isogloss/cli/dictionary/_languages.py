"""Codes and names of the two languages of a dictionary, from options or file names."""

from __future__ import annotations

import re
from pathlib import Path

import typer

_FOLDERS = ("data", "files", "static")
"""Names that the folders of languages cannot have."""


def named_languages(
    source: Path, target: Path | None, codes: str | None, names: str | None
) -> tuple[tuple[str, str], tuple[str, str]]:
    """Code and name of both languages."""
    two = _codes(source, target, codes)
    named = _two(names, "--names") if names is not None else (_name(two[0]), _name(two[1]))
    return (two[0], named[0]), (two[1], named[1])


def _codes(source: Path, target: Path | None, codes: str | None) -> tuple[str, str]:
    from isogloss.corpora import check_language

    if codes is not None:
        two = _two(codes, "--languages")
        for code in two:
            try:
                check_language(code)
            except ValueError as reason:
                raise typer.BadParameter(f"--languages {codes}: {reason}") from reason
            if code.lower() in _FOLDERS:
                raise typer.BadParameter(f"--languages {codes}: {code!r} is the name of a folder of the site")
        return two
    found = [_code_in(file.name) for file in (source, target) if file is not None]
    if len(found) < 2 or None in found or found[0] == found[1]:
        raise typer.BadParameter(
            "the file names do not say which two languages these are; give codes, as in --languages en,cs"
        )
    return str(found[0]), str(found[1])


def _code_in(name: str) -> str | None:
    """The code of a language in a file name: the last part, or else the first one, that is one."""
    from isogloss.text import known_languages

    known = {code for one in known_languages() for code in (one.code, one.code3)}
    parts = re.split(r"[^A-Za-z]+", name)
    return next((part for part in [*parts[:0:-1], parts[0]] if part in known), None)


def _name(code: str) -> str:
    from isogloss.text import language

    try:
        return language(code).name
    except ValueError:
        return code


def _two(text: str, option: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise typer.BadParameter(f"{option} {text}: expected two values separated by a comma")
    return parts[0], parts[1]
