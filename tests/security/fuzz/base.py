"""What all targets of the fuzzer have in common."""

import os
import tempfile
from functools import cached_property
from pathlib import Path

GOOD = {
    "id": "good",
    "lang": "en",
    "title": "Rain in Galway",
    "body": "It rains.",
    "time": "2024-03-05T08:40:00Z",
}


class Target:
    """A part of isogloss, and how inputs for it are made."""

    name = ""
    allowed: tuple[type[Exception], ...] = ()
    share = 1
    """How many inputs it gets, relative to others."""

    def generate(self, rng):
        """An input."""
        raise NotImplementedError

    def run(self, given):
        """Use the part on an input."""
        raise NotImplementedError

    def close(self):
        """End processes and remove files."""


class WithFolder(Target):
    """A target that reads files."""

    @cached_property
    def _temporary(self):
        memory = "/dev/shm"  # a commit waits for the disk, which is not what is fuzzed
        folder = memory if os.path.isdir(memory) else None
        return tempfile.TemporaryDirectory(prefix="isogloss-fuzz-", dir=folder)

    def file(self, name, content):
        """Write a file, and return its path."""
        path = Path(self._temporary.name) / name
        path.write_bytes(content)
        return path

    def close(self):
        """Remove the files."""
        self._temporary.cleanup()
