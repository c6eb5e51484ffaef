"""The command line: one module per group of commands, each command a call into the library."""

from isogloss.cli.app import main

__all__ = ["main"]
