"""Unpacking with a bound: a small body can stand for a very large one."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from isogloss.exceptions import FeedError

__all__ = ["unpack"]

_GZIP = b"\x1f\x8b"
_ANY_HEADER = zlib.MAX_WBITS | 32


def unpack(chunks: Iterable[bytes], encoding: str, max_bytes: int) -> bytes:
    """Join the chunks of a body, unpacked as they come, up to a number of bytes.

    Parameters
    ----------
    chunks : iterable of bytes
        The body as it is sent.
    encoding : str
        ``gzip``, ``deflate`` or ``identity`` (of which a body that is a gzip file is unpacked too).
    max_bytes : int
        Most bytes of the result; not one more is unpacked.

    Raises
    ------
    FeedError
        The body is larger, damaged, cut short, or packed in a way that was not asked for.

    Examples
    --------
    >>> import gzip
    >>> unpack([gzip.compress(b"news")], "gzip", 100)
    b'news'
    >>> unpack([gzip.compress(bytes(10**6))], "gzip", 1000)
    Traceback (most recent call last):
        ...
    isogloss.exceptions.FeedError: the body has more than 1,000 bytes when unpacked; ...
    """
    if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise FeedError(f"the body is packed as {encoding!r}; expected gzip, deflate or nothing")
    joined = _Joined(max_bytes)
    unpacker = None if encoding in ("", "identity") else _Unpacker(joined)
    for count, chunk in enumerate(chunks):
        if count == 0 and unpacker is None and chunk.startswith(_GZIP):
            unpacker = _Unpacker(joined)
        if unpacker is None:
            joined.add(chunk)
        else:
            unpacker.feed(chunk)
    if unpacker is not None:
        unpacker.close()
    return bytes(joined.content)


class _Joined:
    """Bytes so far, and a bound."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes, self.content = max_bytes, bytearray()

    @property
    def room(self) -> int:
        """One byte more than may still come: to see that there is more."""
        return self.max_bytes - len(self.content) + 1

    def add(self, chunk: bytes) -> None:
        if len(chunk) >= self.room:
            raise FeedError(
                f"the body has more than {self.max_bytes:,} bytes when unpacked; raise max_bytes to have it"
            )
        self.content += chunk


class _Unpacker:
    """zlib, one member after another, never more than there is room for."""

    def __init__(self, joined: _Joined) -> None:
        self.joined, self.stream = joined, zlib.decompressobj(_ANY_HEADER)

    def feed(self, chunk: bytes) -> None:
        while chunk:
            if self.stream.eof:
                if not chunk.startswith(_GZIP):
                    return
                self.stream = zlib.decompressobj(_ANY_HEADER)
            try:
                self.joined.add(self.stream.decompress(chunk, self.joined.room))
            except zlib.error as error:
                raise FeedError(f"the body cannot be unpacked ({error})") from error
            chunk = self.stream.unconsumed_tail or self.stream.unused_data

    def close(self) -> None:
        if not self.stream.eof:
            raise FeedError("the packed body is cut short; fetch it again")
