"""Settings: one file, every value with a name, a default and a sentence.

The file is TOML. ``isogloss init`` writes it with every default, so that nothing has to be looked up.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import logging
import math
import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isogloss.exceptions import SettingsError

__all__ = [
    "FeedSettings",
    "LimitSettings",
    "ModelSettings",
    "ServerSettings",
    "Settings",
    "StoreSettings",
    "StreamSettings",
    "WorkerSettings",
]

logger = logging.getLogger(__name__)

RENAMED = {"store.forget_hours": "prune_hours", "limits.concurrent": "concurrent_reads"}
"""Settings that had another name, by that name."""


def _setting(default: Any, said: str, *, zero: bool = False) -> Any:
    """A field with its sentence, and whether a number may be 0."""
    return field(default=default, metadata={"said": said, "zero": zero})


@dataclass(frozen=True)
class ServerSettings:
    """Where the service listens, and who may ask."""

    host: str = _setting("127.0.0.1", "address to listen on; another than this machine's own needs tokens")
    port: int = _setting(8470, "port to listen on", zero=True)
    names: list[str] = field(
        default_factory=list,
        metadata={"said": "further names that this service is asked for by; * for any name"},
    )
    trusted_proxies: list[str] = field(
        default_factory=list,
        metadata={
            "said": "addresses or networks of proxies, such as 127.0.0.1 or 10.0.0.0/8; only their "
            "X-Forwarded-For and X-Forwarded-Proto headers are believed"
        },
    )
    public_read: bool = _setting(True, "whether reading needs no token")
    stop_seconds: float = _setting(8.0, "time that requests have to end when the service stops", zero=True)

    def __post_init__(self) -> None:
        for each in self.trusted_proxies:
            try:
                ipaddress.ip_network(each)
            except ValueError as error:
                raise SettingsError(
                    f"server.trusted_proxies has {each!r}; "
                    f"expected an address or a network such as 127.0.0.1 or 10.0.0.0/8 ({error})"
                ) from error


@dataclass(frozen=True)
class StoreSettings:
    """Where everything is kept, and for how long."""

    place: str = _setting("isogloss.db", "a file of SQLite, or postgresql://user@host/name")
    keep_days: int = _setting(
        0,
        "days after its last article for which a story is kept, counted back from the newest article; "
        "0 keeps everything. Old stories are deleted only after isogloss prune --yes",
        zero=True,
    )
    prune_hours: float = _setting(
        1.0, "hours between two runs that delete old stories; 0 leaves it to isogloss prune", zero=True
    )
    prune_max_percent: float = _setting(
        1.0, "share of all articles that such a run may delete; more needs isogloss prune --yes", zero=True
    )
    prune_without_asking: bool = _setting(
        False, "delete up to half of the store without isogloss prune --yes, whatever the share"
    )


@dataclass(frozen=True)
class LimitSettings:
    """What one request, one client and all of them together may cost."""

    body_bytes: int = _setting(8 << 20, "largest body of a request")
    body_seconds: float = _setting(30.0, "time that the body of a request may take to arrive")
    batch: int = _setting(500, "most articles in one request")
    title_characters: int = _setting(1_000, "longest title of an article; the rest of a longer one is cut")
    article_characters: int = _setting(
        1_000_000, "longest body of an article; the rest of a longer one is cut"
    )
    text_characters: int = _setting(100_000, "longest text to compare or search with")
    sentence_words: int = _setting(200, "longest sentence to align")
    reads_per_second: float = _setting(50.0, "requests of one client that read, in the mean")
    writes_per_second: float = _setting(400.0, "articles of one client, in the mean")
    burst_seconds: float = _setting(2.0, "how much of a client's allowance may come at once")
    concurrent_reads: int = _setting(64, "requests that read at the same time; more are answered with 503")
    concurrent_writes: int = _setting(
        32, "requests that write at the same time, which take no places of those that read"
    )
    connections: int = _setting(
        1000, "open connections; beyond it the oldest that wait for their client are closed"
    )
    connections_per_client: int = _setting(
        100, "the same for each address, but those of server.trusted_proxies"
    )
    listeners: int = _setting(32, "clients that follow changes at the same time", zero=True)
    backlog: int = _setting(
        50_000, "articles that may wait to be made into events; more are refused with 503"
    )
    stalled_seconds: float = _setting(
        300.0, "time that an article may wait while nothing is written, before /ready says so with 503"
    )
    free_disk_mb: int = _setting(
        256, "room on the disk of an SQLite store; with less, /ready says so with 503", zero=True
    )


@dataclass(frozen=True)
class StreamSettings:
    """How articles become events."""

    window_days: float = _setting(10.0, "days after its last article at which a story ends")
    max_articles: int = _setting(200_000, "articles in the window at most")
    threshold: float = _setting(0.5, "probability from which clusters of two languages are one event")
    snapshot_every: int = _setting(5_000, "articles after which the state is saved, to start again from")


@dataclass(frozen=True)
class WorkerSettings:
    """The worker that makes events."""

    jobs: int = _setting(
        1,
        "processes that look at the words of articles; 1 for none beside the worker, 0 for one per core",
        zero=True,
    )
    dask_scheduler: str = _setting(
        "", "address of a Dask scheduler, such as tcp://host:8786, whose workers do that instead of jobs"
    )
    record_seconds: float = _setting(
        30.0,
        "CPU time that one article may take, and ten times that by the clock; an article that takes longer "
        "twice is quarantined, see isogloss doctor",
    )
    max_memory_mb: int = _setting(
        0,
        "memory of the worker and its processes; an article that takes more twice is quarantined; "
        "0 for four fifths of what the machine or its container has",
        zero=True,
    )

    @property
    def n_jobs(self) -> int:
        """The same as the library counts it: -1 for one per core."""
        return self.jobs or -1


@dataclass(frozen=True)
class ModelSettings:
    """Models that the service answers with."""

    similarity: str = _setting("", "a file of 'isogloss similar fit', or store:NAME for one in the store")
    report: str = _setting("", "a JSON file with the evaluation of the similarity model")
    nearest_in_database: bool = _setting(
        True, "PostgreSQL with pgvector looks for articles near a text; false for the memory of each service"
    )
    aligners: list[str] = field(
        default_factory=list, metadata={"said": "files of word aligners, named like en-de.isogloss"}
    )
    dictionaries: list[str] = field(
        default_factory=list, metadata={"said": "files of word pairs, named like en-de.tsv"}
    )


@dataclass(frozen=True)
class FeedSettings:
    """Feeds that ``isogloss watch`` visits."""

    urls: list[str] = field(default_factory=list, metadata={"said": "RSS and Atom feeds, and sitemaps"})
    minutes: float = _setting(10.0, "time between two visits of one feed")
    parse_seconds: float = _setting(10.0, "CPU time that parsing one feed may take; it is skipped after that")


@dataclass(frozen=True)
class Settings:
    """All settings.

    Examples
    --------
    >>> Settings().server.port
    8470
    >>> print(Settings().as_toml()[:98])
    # where the service listens, and who may ask
    [server]
    # address to listen on; another than this ...
    """

    server: ServerSettings = field(default_factory=ServerSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    stream: StreamSettings = field(default_factory=StreamSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    feeds: FeedSettings = field(default_factory=FeedSettings)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Settings:
        """Read a file; a value that is not there has its default.

        Raises
        ------
        SettingsError
            The file cannot be read, or has a name or a value that is not known.
        """
        place = Path(path)
        try:
            told = tomllib.loads(place.read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError(
                f"{place}: cannot be read ({error.strerror}); make one with isogloss init"
            ) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{place}: is not TOML ({error})") from error
        try:
            built: Settings = _build(cls, told, "")
        except SettingsError as error:
            raise SettingsError(f"{place}: {error}") from error
        return built

    def as_toml(self) -> str:
        """The file that says all of this, with a sentence for every value."""
        parts = []
        for section in dataclasses.fields(self):
            values = getattr(self, section.name)
            said = (type(values).__doc__ or "").strip().rstrip(".")
            lines = [f"# {said[:1].lower()}{said[1:]}", f"[{section.name}]"]
            for each in dataclasses.fields(values):
                lines += [f"# {each.metadata['said']}", f"{each.name} = {_toml(getattr(values, each.name))}"]
            parts.append("\n".join(lines))
        return "\n\n".join(parts) + "\n"


def _build(kind: Any, told: Any, where: str) -> Any:
    """A class of settings from a table; every name and kind of value is checked."""
    if not isinstance(told, dict):
        raise SettingsError(f"[{where}] is {told!r}; expected a table")
    told = {_present_name(_join(where, name), name, told): value for name, value in told.items()}
    known = {each.name: each for each in dataclasses.fields(kind)}
    for name in told:
        if name not in known:
            raise SettingsError(f"{_join(where, name)} is not a setting; expected one of {', '.join(known)}")
    values: dict[str, Any] = {}
    for name, value in told.items():
        default = getattr(kind(), name)
        if dataclasses.is_dataclass(default):
            values[name] = _build(type(default), value, name)
        else:
            values[name] = _value(
                value, default, _join(where, name), zero=known[name].metadata.get("zero", False)
            )
    return kind(**values)


def _present_name(where: str, name: str, told: dict[str, Any]) -> str:
    """The name of a setting today; an old name is understood, with a warning."""
    new = RENAMED.get(where, name)
    if new == name:
        return name
    if new in told:
        raise SettingsError(f"{where} is the old name of {new}, which is there too; remove {name}")
    logger.warning("the setting %s is called %s now; please rename it", where, new)
    return new


def _value(value: Any, default: Any, where: str, *, zero: bool) -> Any:
    """A value of the kind of its default; a whole number may stand for a broken one."""
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not type(default):
        raise SettingsError(f"{where} is {value!r}; expected a value such as {_toml(default)}")
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingsError(f"{where} is {value!r}; expected a finite number")
    number = isinstance(value, float | int) and not isinstance(value, bool)
    if number and (value < 0 or not (value or zero)):
        raise SettingsError(f"{where} is {value!r}; expected {'no less' if zero else 'more'} than 0")
    if isinstance(value, list) and not all(isinstance(each, str) for each in value):
        raise SettingsError(f"{where} is {value!r}; expected texts")
    return value


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
