"""The program as it was called, for hints that can be copied to the shell."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

__all__ = ["program"]


def program() -> str:
    """What to type to run this program again: ``isogloss``, a path to it, or ``python -m isogloss``."""
    called = Path(sys.argv[0])
    if called.parts[-2:] == ("isogloss", "__main__.py"):
        return f"{shlex.quote(sys.orig_argv[0])} -m isogloss"
    if called.stem != "isogloss":  # called from Python, as tests do
        return "isogloss"
    found = shutil.which(called.name)
    on_path = found is not None and called.exists() and Path(found).samefile(called)
    return called.name if on_path else shlex.quote(sys.argv[0])
