"""The finished steps of a build, so that it can be interrupted at any moment.

::

    FOLDER/wikipedia.json    format, version, settings, dumps, and the digest of the output of each step
    FOLDER/.building/        outputs that are not finished
    FOLDER/.lock             locked while a process builds

An output is made in ``.building``. Its digest is recorded, and then it is moved to its place; after an
interruption between the two, it is moved when the build continues.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isogloss.exceptions import CorpusError
from isogloss.io import atomic_write, lock_file, sync_folder

STATE = "wikipedia.json"
FORMAT, VERSION = "isogloss wikipedia", 1
BUILDING = ".building"


class BuildState:
    """The steps of a build that are finished.

    Parameters
    ----------
    folder : Path
        The folder of the build; it is made.
    plan : mapping
        Settings and dumps, which must be the same when the build continues.
    restart : bool
        Remove what an earlier build in this folder has made, and begin again.
    """

    def __init__(self, folder: Path, plan: Mapping[str, Any], *, restart: bool = False) -> None:
        self.folder = folder
        self._path = folder / STATE
        self._plan = json.loads(json.dumps(plan))
        if self._path.exists():
            self._steps = self._read()
            if restart:
                self._remove_outputs()
            else:
                self._check_plan()
        elif folder.exists() and any(not _is_ours(each.name) for each in folder.iterdir()):
            raise CorpusError(f"{folder}: is not empty, and no build was begun there; name another folder")
        else:
            self._steps = {}
        self._remove_temporary_files()
        self._write()
        (folder / BUILDING).mkdir(exist_ok=True)

    @property
    def finished(self) -> list[str]:
        """Names of the finished steps."""
        return list(self._steps)

    def run(self, step: str, output: str, make: Callable[[Path], object]) -> Path:
        """Return the output of a step, a file or folder, which is made unless it is there.

        ``make`` writes the whole output to the path that it gets, or nothing.
        """
        target, staged = self.folder / output, self.folder / BUILDING / output
        record = self._steps.get(step)
        if record is not None:
            if not target.exists() and staged.exists():
                self._move(staged, target)
            if target.exists():
                self._check_digest(target, record["digest"])
                return target
            del self._steps[step]
        if target.exists():
            raise CorpusError(
                f"{target}: is there already, and this build has not made it; move it away, or build in "
                "another folder"
            )
        if not staged.exists():
            make(staged)
        self._steps[step] = {"output": output, "digest": digest_of(staged)}
        self._write()
        self._move(staged, target)
        return target

    def finish(self) -> None:
        """Remove what is needed only while the build runs."""
        shutil.rmtree(self.folder / BUILDING, ignore_errors=True)

    def _remove_temporary_files(self) -> None:
        """Remove files that were being written when a build was killed; only one builds at a time."""
        for place in (self.folder, self.folder / BUILDING):
            for each in place.glob(".isogloss-*.tmp"):
                if each.is_dir():
                    shutil.rmtree(each)
                else:
                    each.unlink()

    def _move(self, staged: Path, target: Path) -> None:
        os.replace(staged, target)
        sync_folder(self.folder)

    def _check_digest(self, target: Path, expected: str) -> None:
        if digest_of(target) != expected:
            raise CorpusError(
                f"{target}: has changed since it was built; remove it to have it built again, or begin again "
                "with --restart"
            )

    def _check_plan(self) -> None:
        before = self._before["plan"]
        changed = sorted(k for k in before.keys() | self._plan.keys() if before.get(k) != self._plan.get(k))
        if changed:
            raise CorpusError(
                f"{self.folder}: was begun with other {' and '.join(changed)} "
                f"({_difference(before, self._plan)}); give the same, build in another folder, or "
                "begin again with --restart"
            )

    def _remove_outputs(self) -> None:
        """Remove what steps have recorded, and nothing else."""
        for record in self._steps.values():
            target = self.folder / Path(record["output"]).name
            if target.is_dir():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)
        shutil.rmtree(self.folder / BUILDING, ignore_errors=True)
        self._steps = {}

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            self._before = json.loads(self._path.read_bytes())
            known = self._before["format"] == FORMAT and self._before["version"] == VERSION
            steps = {str(name): dict(record) for name, record in self._before["steps"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as reason:
            raise CorpusError(f"{self._path}: is damaged ({reason}); build in another folder") from reason
        if not known:
            raise CorpusError(f"{self._path}: is of another format or version; build in another folder")
        return steps

    def _write(self) -> None:
        state = {"format": FORMAT, "version": VERSION, "plan": self._plan, "steps": self._steps}
        with atomic_write(self._path) as file:
            file.write(json.dumps(state, indent=1).encode())


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make a folder if need be, and lock it against other builds."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as reason:
        raise CorpusError(f"{folder}: cannot be made ({reason.strerror}); name another folder") from reason
    try:
        try:
            lock_file(handle)
        except OSError as reason:
            raise CorpusError(f"{folder}: another process is building there; wait until it ends") from reason
        yield
    finally:
        os.close(handle)


def digest_of(path: Path) -> str:
    """SHA-256 of a file, or of the names and contents of the files in a folder."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    total = hashlib.sha256()
    for each in sorted(path.rglob("*")):
        if each.is_file():
            total.update(each.relative_to(path).as_posix().encode() + b"\0" + digest_of(each).encode())
    return total.hexdigest()


def _is_ours(name: str) -> bool:
    """Return whether a build leaves such a file before it has written its state."""
    return name == ".lock" or (name.startswith(".isogloss-") and name.endswith(".tmp"))


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The first value that differs, before and now."""
    for key in sorted(before.keys() | now.keys()):
        old, new = before.get(key), now.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            if old != new:
                return _difference(old, new)
        elif old != new:
            return f"{key} was {old!r}, is {new!r}"
    return ""
