"""Errors of damaged NumPy archives."""

from __future__ import annotations

import zipfile
import zlib

ARCHIVE_ERRORS = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    MemoryError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a damaged ``.npz`` file may raise."""
