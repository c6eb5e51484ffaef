"""Download large files from a mirror: resumable, checked, and polite.

One request at a time, with a pause between them; ``Retry-After`` is obeyed. A download that breaks off goes
on where it stopped, with ``Range`` and ``If-Range``: if the server ignores the range, or the file has
changed, it begins again. What has arrived is in ``NAME.part`` until its size and digest are as published.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import logging
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from isogloss.exceptions import CorpusError
from isogloss.feeds import parse_retry_after
from isogloss.io import atomic_write, sync_folder
from isogloss.wikipedia._catalogue import DumpFile, Need, parse_status

logger = logging.getLogger(__name__)

MIRROR = "https://dumps.wikimedia.org"
CHUNK_BYTES = 1 << 18
MAX_LIST_BYTES = 64 << 20
"""Bytes of a list of dates or files."""

TIMEOUT_S = 60.0
"""Seconds without a byte after which a request is given up."""

MAX_FAILURES = 6
"""Requests in a row without a new byte before a download is given up."""

FIRST_WAIT_S, MAX_WAIT_S = 2.0, 300.0
"""Seconds until the next request after a failure; doubled with every failure."""

MAX_RETRY_AFTER_S = 3600.0
"""Seconds that a server may ask to wait for, at most."""

_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_DATE = re.compile(rb'href="(?:[^"]*/)?([0-9]{8})/?"')


class _Transient(Exception):  # noqa: N818
    """A request that failed and may be repeated, after a time the server has asked for.

    With ``stale``, what has arrived before is of no use.
    """

    def __init__(self, what: str, wait: float = 0.0, *, stale: bool = False) -> None:
        super().__init__(what)
        self.wait, self.stale = wait, stale


class Mirror:
    """A mirror of Wikimedia's dumps.

    Parameters
    ----------
    url : str
        Its address, below which wikis have their folders.
    contact : str
        A web or e-mail address to write to. Wikimedia asks automatic clients to give one, and refuses
        requests without.
    pause : float
        Seconds between two requests.
    sleep : callable
        Waits for some seconds.
    """

    def __init__(
        self,
        url: str = MIRROR,
        *,
        contact: str = "",
        pause: float = 1.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not re.match(r"https?://[^\s/]+", url):
            raise CorpusError(f"{url!r} is not the address of a mirror; expected one such as {MIRROR}")
        if not (contact.isascii() and contact.isprintable()):
            raise CorpusError(f"the contact is {contact!r}; expected an e-mail or web address in ASCII")
        self.url, self.pause, self._sleep = url.rstrip("/"), pause, sleep
        self._agent = f"isogloss ({contact})" if contact else "isogloss"
        self._asked = False
        self._opener = urllib.request.OpenerDirector()
        for handler in (
            urllib.request.ProxyHandler,
            urllib.request.HTTPHandler,
            urllib.request.HTTPSHandler,
            urllib.request.HTTPRedirectHandler,
            urllib.request.HTTPDefaultErrorHandler,
            urllib.request.HTTPErrorProcessor,
            urllib.request.UnknownHandler,
        ):  # not those of files and FTP, which a redirect could lead to
            self._opener.add_handler(handler())

    def find(self, needs: list[Need], date: str = "") -> list[DumpFile]:
        """Return the files that are needed, of a date or else of the newest that has all of a wiki's."""
        found = []
        for wiki in dict.fromkeys(need.wiki for need in needs):
            kinds = [need for need in needs if need.wiki == wiki]
            found += self._find_wiki(wiki, kinds, [date] if date else self.dates(wiki))
        return found

    def _find_wiki(self, wiki: str, needs: list[Need], dates: list[str]) -> list[DumpFile]:
        missing = ""
        for date in dates:
            place = f"{self.url}/{wiki}/{date}/dumpstatus.json"
            try:
                listed = parse_status(self._read(place), place)
            except FileNotFoundError:
                missing = missing or f"{place} is not there"
                continue
            files = [DumpFile(need, date, *listed.get(f"{wiki}-{date}-{need.kind}", (-1,))) for need in needs]
            absent = [each.name for each in files if each.size < 0]
            if not absent:
                return files
            missing = missing or f"{date} has no finished {', '.join(absent)}"
        raise CorpusError(
            f"{self.url}/{wiki}: has no complete dump ({missing or 'no date is listed'}); try another "
            "mirror, another date, or wait until the dump is finished"
        )

    def dates(self, wiki: str) -> list[str]:
        """Return the dates of the dumps of a wiki, the newest first."""
        try:
            page = self._read(f"{self.url}/{wiki}/")
        except FileNotFoundError as reason:
            raise CorpusError(
                f"{self.url}/{wiki}/: is not there; check the languages and the mirror"
            ) from reason
        return sorted({date.decode() for date in _DATE.findall(page)}, reverse=True)

    def download(
        self, file: DumpFile, folder: Path, progress: Callable[[int], None] = lambda count: None
    ) -> Path:
        """Download a file to ``FOLDER/WIKI/DATE/NAME``, unless it is there; return where it is.

        ``progress`` is called with the number of bytes that have arrived, also of former attempts.
        """
        target = folder / file.need.wiki / file.date / file.name
        if target.exists():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        part = _Part(target)
        url = f"{self.url}/{file.need.wiki}/{file.date}/{file.name}"
        for last in (False, True):
            self._complete(url, file, part, progress)
            try:
                check_file(part.path, file)
            except CorpusError as wrong:
                part.discard()
                if last:
                    raise CorpusError(f"{url}: {wrong}, twice; try later, or another mirror") from wrong
                logger.warning("%s: %s; downloading again", url, wrong)
            else:
                part.finish()
                return target
        raise AssertionError("unreachable")

    def _complete(self, url: str, file: DumpFile, part: _Part, progress: Callable[[int], None]) -> None:
        """Request the rest of a file until all of it is there."""
        failures = 0
        while True:
            if 0 <= file.size < part.size:
                part.discard()
            before = part.size
            if file.size == before:
                return
            try:
                self._request_rest(url, file, part, progress)
                return
            except FileNotFoundError as absent:
                raise CorpusError(f"{absent}; try another mirror, or another date") from absent
            except _Transient as failed:
                if failed.stale:
                    part.discard()
                failures = failures + 1 if part.size <= before else 1
                if failures >= MAX_FAILURES:
                    raise CorpusError(
                        f"{url}: {failed}, {failures} times in a row; {part.size:,} bytes are kept, and the "
                        "same command goes on from there"
                    ) from failed
                wait = max(failed.wait, min(FIRST_WAIT_S * 2 ** (failures - 1), MAX_WAIT_S))
                logger.warning("%s: %s; trying again in %.0f s", url, failed, wait)
                self._sleep(wait)

    def _request_rest(self, url: str, file: DumpFile, part: _Part, progress: Callable[[int], None]) -> None:
        """Make one request and append what comes, or begin again if that is what the server sends."""
        have = part.size
        validator = part.validator
        headers = {"Range": f"bytes={have}-"} if have and validator else {}
        if headers:
            headers["If-Range"] = validator
        with self._open(url, headers) as response:
            appends = response.status == 206 and _starts_at(response.headers.get("Content-Range", "")) == have
            if response.status == 206 and not appends:
                raise _Transient("the server sent another range than was asked for", stale=True)
            start = have if appends else 0
            expected = response.length
            if file.size >= 0 and expected is not None and start + expected != file.size:
                part.discard()
                raise CorpusError(
                    f"{url}: has {start + expected:,} bytes, and dumpstatus.json says {file.size:,}; the "
                    "mirror is being updated: try later, or another mirror"
                )
            part.begin(response.headers, keep=appends)
            with part.open() as out:
                arrived = start
                for chunk in _chunks(response):
                    arrived += len(chunk)
                    if 0 <= file.size < arrived:
                        raise _Transient(f"more than the published {file.size:,} bytes came", stale=True)
                    out.write(chunk)
                    progress(arrived)

    def _read(self, url: str) -> bytes:
        """Read a small file; FileNotFoundError if the mirror does not have it."""
        failures = 0
        while True:
            try:
                with self._open(url, {}) as response:
                    return b"".join(_chunks(response, MAX_LIST_BYTES))
            except _Transient as failed:
                failures += 1
                if failures >= MAX_FAILURES:
                    raise CorpusError(f"{url}: {failed}, {failures} times in a row; try later") from failed
                self._sleep(max(failed.wait, min(FIRST_WAIT_S * 2 ** (failures - 1), MAX_WAIT_S)))

    @contextmanager
    def _open(self, url: str, headers: dict[str, str]) -> Iterator[Any]:
        if self._asked:
            self._sleep(self.pause)
        self._asked = True
        sent = {"User-Agent": self._agent, "Accept-Encoding": "identity"} | headers
        request = urllib.request.Request(url, headers=sent)
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as response:
                yield response
        except urllib.error.HTTPError as error:
            error.close()
            raise _explained(url, error) from error
        except (OSError, http.client.HTTPException) as error:
            raise _Transient(f"the connection failed ({error or type(error).__name__})") from error


def _explained(url: str, error: urllib.error.HTTPError) -> Exception:
    if error.code == 404:
        return FileNotFoundError(f"{url}: is not there (404)")
    if error.code in _TRANSIENT:
        wait = parse_retry_after(error.headers.get("Retry-After", ""))
        return _Transient(f"the server answered {error.code}", min(wait, MAX_RETRY_AFTER_S))
    if error.code == 416:
        return _Transient("the server has no such range", stale=True)
    hint = (
        "name a contact, as Wikimedia asks of automatic clients" if error.code == 403 else "check the mirror"
    )
    return CorpusError(f"{url}: the server answered {error.code} {error.reason}; {hint}")


def _chunks(response: Any, limit: int | None = None) -> Iterator[bytes]:
    """Yield a body as it arrives; one that ends before its announced length may be requested again."""
    announced, total = response.length, 0
    while True:
        try:
            chunk = response.read1(CHUNK_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise _Transient(f"the connection broke off ({error or type(error).__name__})") from error
        if not chunk:
            break
        total += len(chunk)
        if limit is not None and total > limit:
            raise CorpusError(f"{response.url}: has more than {limit:,} bytes; expected a list of files")
        yield chunk
    if announced is not None and total < announced:
        raise _Transient(f"the connection broke off after {total:,} of {announced:,} bytes")


def _starts_at(content_range: str) -> int:
    found = re.match(r"bytes ([0-9]{1,15})-", content_range)
    return int(found[1]) if found else -1


class _Part:
    """What has arrived of a file, and what tells the server which file it was."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(target.name + ".part")
        self._about = target.with_name(target.name + ".part.json")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def validator(self) -> str:
        """The strong ETag or date of the file that began to arrive; empty if there is none to go by."""
        try:
            return str(json.loads(self._about.read_bytes())["validator"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def begin(self, headers: Any, *, keep: bool) -> None:
        if keep:
            return
        self.discard()
        etag = headers.get("ETag", "")
        validator = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified", "")
        with atomic_write(self._about) as file:
            file.write(json.dumps({"validator": validator}).encode())

    def open(self) -> IO[bytes]:
        return self.path.open("ab")

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self._about.unlink(missing_ok=True)

    def finish(self) -> None:
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(self.path, self.target)
        self._about.unlink(missing_ok=True)
        sync_folder(self.target.parent)


class _Digest(NamedTuple):
    name: str
    expected: str


def check_file(path: Path, file: DumpFile, progress: Callable[[int], None] = lambda count: None) -> None:
    """Check size and digest against what is published; ``progress`` is called with the bytes read."""
    size = path.stat().st_size
    if 0 <= file.size != size:
        raise CorpusError(f"{path}: has {size:,} bytes, and {file.size:,} are published; get the file again")
    published = _Digest("sha1", file.sha1) if file.sha1 else _Digest("md5", file.md5)
    if not published.expected:
        return
    digest = hashlib.new(published.name, usedforsecurity=False)
    with path.open("rb") as content:
        while chunk := content.read(1 << 20):
            digest.update(chunk)
            progress(len(chunk))
    if digest.hexdigest() != published.expected.lower():
        raise CorpusError(
            f"{path}: its {published.name} is {digest.hexdigest()}, and {published.expected} is published; "
            "get the file again"
        )
