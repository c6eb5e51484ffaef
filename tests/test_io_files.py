"""Files are written whole or not at all, and a place that cannot be written is known before the work."""

import os
import stat

import pytest

from isogloss.exceptions import CorpusError, NetworkFileError
from isogloss.io import atomic_write, check_writable
from isogloss.io._files import atomic_write_raw


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_permissions_and_links_stay(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_file_is_on_the_disk_before_its_name_and_then_its_name(tmp_path, monkeypatch):
    events, fsync, replace = [], os.fsync, os.replace

    def note_fsync(descriptor):
        events.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append("name"), replace(a, b)))
    with atomic_write(tmp_path / "out") as file:
        file.write(b"new")
    assert events == ["file", "name", "folder"]


def test_what_goes_wrong_while_writing_is_the_callers_error_and_leaves_nothing(tmp_path):
    (tmp_path / "out").write_text("old")

    def write():
        with atomic_write(tmp_path / "out", NetworkFileError) as file:
            file.write(b"new")
            raise OSError(28, "No space left on device")

    with pytest.raises(NetworkFileError, match="out: cannot be written: No space left on device"):
        write()
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out").read_text() == "old"


def test_a_folder_is_no_place_for_a_file(tmp_path):
    with pytest.raises(OSError, match="is not a regular file"), atomic_write_raw(tmp_path):
        pass
    assert names(tmp_path) == []


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_done(tmp_path):
    check_writable(tmp_path / "new")
    (tmp_path / "old").write_text("old")
    check_writable(tmp_path / "old")
    for path in (tmp_path, tmp_path / "absent" / "out", tmp_path / "old" / "out"):
        with pytest.raises(CorpusError, match="cannot be written; give the path of a file in a folder"):
            check_writable(path)
    assert names(tmp_path) == ["old"]


def test_a_foreign_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(NetworkFileError, match="its folder is read-only"):
        check_writable(tmp_path / "out", NetworkFileError)
