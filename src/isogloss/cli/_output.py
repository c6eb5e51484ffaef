"""Output of commands: to the terminal, to a file, or to standard output if its name is ``-``.

Commands print through :func:`echo` or :class:`~isogloss.cli._console.Console`, which remove control
characters, because titles and names come from untrusted sources.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from isogloss.exceptions import CorpusError, IsoglossError
from isogloss.io import escape_controls, strip_controls


def echo(message: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text without its control characters, to standard output or to standard error."""
    typer.echo(strip_controls(str(message)), err=err, nl=nl)


def echo_json(value: Any, *, indent: int | None = None) -> None:
    """Print a value as JSON, control characters and lone surrogates as escape sequences."""
    text = escape_controls(json.dumps(value, ensure_ascii=False, indent=indent))
    echo(text.encode("utf-8", "backslashreplace").decode("utf-8"))


def echo_result(result: Any, text: str, as_json: bool) -> None:
    """Print a result as JSON, or as text."""
    if as_json:
        echo_json(result)
    else:
        echo(text)


def is_stdout(path: Path | None) -> bool:
    """Return whether an output is standard output."""
    return path is not None and str(path) == "-"


def not_stdout(path: Path | None) -> Path | None:
    """Refuse ``-`` for a model, a folder or another output that is not text; a callback of options."""
    if is_stdout(path):
        raise typer.BadParameter("this cannot be written to standard output; give a file or folder name")
    return path


def check_outputs(as_json: bool, *outputs: Path | None, error: type[IsoglossError] = CorpusError) -> None:
    """Refuse outputs that could not be written, before the work whose results they are to hold.

    An output may be ``-`` for standard output, which ``as_json`` needs for itself. Raises ``error`` for a
    file that cannot be written.
    """
    from isogloss.io import check_writable

    if as_json + sum(map(is_stdout, outputs)) > 1:
        raise typer.BadParameter(
            "only one result can be written to standard output; give a file name instead of -"
            + (", or leave out --json" if as_json else "")
        )
    for path in outputs:
        if path is not None and not is_stdout(path):
            check_writable(path, error)


@contextmanager
def written(output: Path, ending: str = ".txt") -> Iterator[Path]:
    """Path of a file to write the output to.

    For standard output this is a temporary file, which is copied there when it is complete. The temporary
    file has the given ending, for writers that take the format from the name.
    """
    if not is_stdout(output):
        yield output
        return
    with TemporaryDirectory(prefix="isogloss-") as folder:
        path = Path(folder, f"output{ending}")
        yield path
        sys.stdout.flush()
        if sys.stdout.isatty():
            with path.open(encoding="utf-8", errors="replace", newline="") as lines:
                for line in lines:
                    echo(line, nl=False)
            return
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def report_output(message: str, output: Path | None = None) -> None:
    """Print a message about an output, to standard error if the output itself goes to standard output."""
    echo(message, err=is_stdout(output))


def counted(number: int, noun: str) -> str:
    """Return a number with a noun in the singular or the plural, as in ``1 event`` and ``1,200 events``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def percent(share: float) -> str:
    """Return a share in per cent, as in ``26 %``."""
    return f"{100 * share:.0f} %"


def program() -> str:
    """Return the command that runs this program: ``isogloss``, a path to it, or ``python -m isogloss``."""
    called = Path(sys.argv[0])
    if called.parts[-2:] == ("isogloss", "__main__.py"):
        return f"{shlex.quote(sys.orig_argv[0])} -m isogloss"
    if called.stem != "isogloss":  # called from Python, as tests do
        return "isogloss"
    found = shutil.which(called.name)
    on_path = found is not None and called.exists() and Path(found).samefile(called)
    return called.name if on_path else shlex.quote(sys.argv[0])
