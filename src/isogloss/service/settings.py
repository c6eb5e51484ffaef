"""Settings: one TOML file, every value with a name, a default and a sentence; the environment overrides it.

``isogloss init`` writes the file with every default, so that nothing has to be looked up. A variable such as
``ISOGLOSS_SERVER__PORT`` overrides ``port`` of the section ``[server]``.
"""

from __future__ import annotations

import difflib
import ipaddress
import logging
import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

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

PREFIX = "ISOGLOSS_"
DELIMITER = "__"

PositiveFloat = Annotated[FiniteFloat, Field(gt=0)]
NonNegativeFloat = Annotated[FiniteFloat, Field(ge=0)]


class _Section(BaseModel):
    """A table of the file: values of the right kind, and no others."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    renamed: ClassVar[dict[str, str]] = {}
    """Names of today, by those that settings had before."""

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, told: Any) -> Any:
        """Understand old names, with a warning."""
        if not isinstance(told, dict):
            return told
        for old, new in cls.renamed.items():
            if old not in told:
                continue
            if new in told:
                raise ValueError(f"has {old}, the old name of {new}, which is there too; remove {old}")
            logger.warning("the setting %s is called %s now; please rename it", old, new)
            told = {new if name == old else name: value for name, value in told.items()}
        return told


class ServerSettings(_Section):
    """Where the service listens, and who may ask."""

    host: str = Field(
        "127.0.0.1", description="address to listen on; another than this machine's own needs tokens"
    )
    port: NonNegativeInt = Field(8470, description="port to listen on")
    names: list[str] = Field(
        default_factory=list, description="further names that this service is asked for by; * for any name"
    )
    trusted_proxies: list[str] = Field(
        default_factory=list,
        description="addresses or networks of proxies, such as 127.0.0.1 or 10.0.0.0/8; only their "
        "X-Forwarded-For and X-Forwarded-Proto headers are believed",
    )
    public_read: bool = Field(True, description="whether reading needs no token")
    stop_seconds: NonNegativeFloat = Field(
        8.0, description="time that requests have to end when the service stops"
    )

    @field_validator("trusted_proxies")
    @classmethod
    def _check_networks(cls, given: list[str]) -> list[str]:
        for each in given:
            try:
                ipaddress.ip_network(each)
            except ValueError as error:
                raise ValueError(
                    f"has {each!r}; expected an address or a network such as 127.0.0.1 or 10.0.0.0/8 "
                    f"({error})"
                ) from error
        return given


class StoreSettings(_Section):
    """Where everything is kept, and for how long."""

    renamed = {"forget_hours": "prune_hours"}

    place: str = Field("isogloss.db", description="a file of SQLite, or postgresql://user@host/name")
    keep_days: NonNegativeInt = Field(
        0,
        description="days after its last article for which a story is kept, counted back from the newest "
        "article; 0 keeps everything. Old stories are deleted only after isogloss prune --yes",
    )
    prune_hours: NonNegativeFloat = Field(
        1.0, description="hours between two runs that delete old stories; 0 leaves it to isogloss prune"
    )
    prune_max_percent: NonNegativeFloat = Field(
        1.0, description="share of all articles that such a run may delete; more needs isogloss prune --yes"
    )
    prune_without_asking: bool = Field(
        False, description="delete up to half of the store without isogloss prune --yes, whatever the share"
    )


class LimitSettings(_Section):
    """What one request, one client and all of them together may cost."""

    renamed = {"concurrent": "concurrent_reads"}

    body_bytes: PositiveInt = Field(8 << 20, description="largest body of a request")
    body_seconds: PositiveFloat = Field(
        30.0, description="time that the body of a request may take to arrive"
    )
    batch: PositiveInt = Field(500, description="most articles in one request")
    title_characters: PositiveInt = Field(
        1_000, description="longest title of an article; the rest of a longer one is cut"
    )
    article_characters: PositiveInt = Field(
        1_000_000, description="longest body of an article; the rest of a longer one is cut"
    )
    text_characters: PositiveInt = Field(100_000, description="longest text to compare or search with")
    sentence_words: PositiveInt = Field(200, description="longest sentence to align")
    reads_per_second: PositiveFloat = Field(50.0, description="requests of one client that read, in the mean")
    writes_per_second: PositiveFloat = Field(400.0, description="articles of one client, in the mean")
    burst_seconds: PositiveFloat = Field(2.0, description="how much of a client's allowance may come at once")
    concurrent_reads: PositiveInt = Field(
        64, description="requests that read at the same time; more are answered with 503"
    )
    concurrent_writes: PositiveInt = Field(
        32, description="requests that write at the same time, which take no places of those that read"
    )
    connections: PositiveInt = Field(
        1000, description="open connections; beyond it the oldest that wait for their client are closed"
    )
    connections_per_client: PositiveInt = Field(
        100, description="the same for each address, but those of server.trusted_proxies"
    )
    listeners: NonNegativeInt = Field(32, description="clients that follow changes at the same time")
    backlog: PositiveInt = Field(
        50_000, description="articles that may wait to be made into events; more are refused with 503"
    )
    stalled_seconds: PositiveFloat = Field(
        300.0,
        description="time that an article may wait while nothing is written, before /ready says so with 503",
    )
    free_disk_mb: NonNegativeInt = Field(
        256, description="room on the disk of an SQLite store; with less, /ready says so with 503"
    )


class StreamSettings(_Section):
    """How articles become events."""

    window_days: PositiveFloat = Field(10.0, description="days after its last article at which a story ends")
    max_articles: PositiveInt = Field(200_000, description="articles in the window at most")
    threshold: PositiveFloat = Field(
        0.5, description="probability from which clusters of two languages are one event"
    )
    snapshot_every: PositiveInt = Field(
        5_000, description="articles after which the state is saved, to start again from"
    )


class WorkerSettings(_Section):
    """The worker that makes events."""

    jobs: NonNegativeInt = Field(
        1,
        description="processes that look at the words of articles; 1 for none beside the worker, "
        "0 for one per core",
    )
    dask_scheduler: str = Field(
        "",
        description="address of a Dask scheduler, such as tcp://host:8786, whose workers do that instead",
    )
    record_seconds: PositiveFloat = Field(
        30.0,
        description="CPU time that one article may take, and ten times that by the clock; an article that "
        "takes longer twice is quarantined, see isogloss doctor",
    )
    max_memory_mb: NonNegativeInt = Field(
        0,
        description="memory of the worker and its processes; an article that takes more twice is "
        "quarantined; 0 for four fifths of what the machine or its container has",
    )

    @property
    def n_jobs(self) -> int:
        """The same as the library counts it: -1 for one per core."""
        return self.jobs or -1


class ModelSettings(_Section):
    """Models that the service answers with."""

    similarity: str = Field(
        "", description="a file of 'isogloss similar fit', or store:NAME for one in the store"
    )
    report: str = Field("", description="a JSON file with the evaluation of the similarity model")
    nearest_in_database: bool = Field(
        True,
        description="PostgreSQL with pgvector looks for articles near a text; "
        "false for the memory of each service",
    )
    aligners: list[str] = Field(
        default_factory=list, description="files of word aligners, named like en-de.isogloss"
    )
    dictionaries: list[str] = Field(
        default_factory=list, description="files of word pairs, named like en-de.tsv"
    )


class FeedSettings(_Section):
    """Feeds that ``isogloss watch`` visits."""

    urls: list[str] = Field(default_factory=list, description="RSS and Atom feeds, and sitemaps")
    minutes: PositiveFloat = Field(10.0, description="time between two visits of one feed")
    parse_seconds: PositiveFloat = Field(
        10.0, description="CPU time that parsing one feed may take; it is skipped after that"
    )


class Settings(BaseSettings):
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

    model_config = SettingsConfigDict(
        strict=True, frozen=True, extra="forbid", env_prefix=PREFIX, env_nested_delimiter=DELIMITER
    )

    server: ServerSettings = ServerSettings()
    store: StoreSettings = StoreSettings()
    limits: LimitSettings = LimitSettings()
    stream: StreamSettings = StreamSettings()
    worker: WorkerSettings = WorkerSettings()
    models: ModelSettings = ModelSettings()
    feeds: FeedSettings = FeedSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only :meth:`load` looks at the environment: what a program asks for by itself is what it gets."""
        return (init_settings,)

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Settings:
        """Read a file and the environment, which overrides it; what neither has is as by default.

        Raises
        ------
        SettingsError
            The file cannot be read, or there is a name or a value that is not known.
        """
        told = {} if path is None else _read(Path(path))
        variables = _Environment(cls)
        for section, values in variables().items():
            if isinstance(values, dict) and isinstance(told.setdefault(section, {}), dict):
                told[section] = told[section] | values
            else:
                told[section] = values
        try:
            return cls(**told)
        except ValidationError as error:
            raise SettingsError(_explain(error, path)) from error

    def as_toml(self) -> str:
        """The file that says all of this, with a sentence for every value."""
        parts = []
        for section, values in self:
            said = (type(values).__doc__ or "").strip().rstrip(".")
            lines = [f"# {said[:1].lower()}{said[1:]}", f"[{section}]"]
            for name, field in type(values).model_fields.items():
                lines += [f"# {field.description}", f"{name} = {_toml(getattr(values, name))}"]
            parts.append("\n".join(lines))
        return "\n\n".join(parts) + "\n"


class _Environment(EnvSettingsSource):
    """Variables of the environment that are settings."""

    def __call__(self) -> dict[str, Any]:
        """Return values by section and name; refuse a variable of a section that is not there."""
        for name in os.environ:
            section, delimiter, _ = name.upper().removeprefix(PREFIX).partition(DELIMITER)
            known = [each.upper() for each in self.settings_cls.model_fields]
            if name.upper().startswith(PREFIX) and delimiter and section not in known:
                raise SettingsError(
                    f"{name} is not a setting; expected {PREFIX}SECTION{DELIMITER}NAME with "
                    f"{_nearest(section, known)}"
                )
        return super().__call__()

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:
        """Leave what is not JSON as it is: the validation names the variable."""
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            return value


def _read(place: Path) -> dict[str, Any]:
    try:
        with place.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise SettingsError(
            f"{place}: cannot be read ({error.strerror}); make one with isogloss init"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{place}: is not TOML ({error})") from error


def _explain(invalid: ValidationError, path: str | os.PathLike[str] | None) -> str:
    """Say in a sentence where the first mistake is, what came and what was expected."""
    error = invalid.errors()[0]
    section, *names = map(str, error["loc"])
    key = [section, *names[:1]]
    variable = PREFIX + DELIMITER.join(key).upper()
    where = variable if variable in map(str.upper, os.environ) else ".".join(key)
    if path is not None and where != variable:
        where = f"{path}: {where}"
    kind, value, known = error["type"], error["input"], _fields(section)
    if kind == "extra_forbidden":
        return f"{where} is not a setting; expected {_nearest(key[-1], known)}"
    if kind == "value_error":
        return f"{where} {error['ctx']['error']}"
    if kind == "model_type":
        return f"{where} is {value!r}; expected a table"
    if len(names) > 1:
        return f"{where} has {value!r}; expected texts"
    if kind in ("greater_than", "greater_than_equal"):
        return f"{where} is {value!r}; expected {'more' if kind == 'greater_than' else 'no less'} than 0"
    if kind == "finite_number":
        return f"{where} is {value!r}; expected a finite number"
    default = known[key[-1]].get_default(call_default_factory=True)
    return f"{where} is {value!r}; expected a value such as {_toml(default)}"


def _fields(section: str) -> dict[str, FieldInfo]:
    """The settings of a section, or the sections if there is no such one."""
    found = Settings.model_fields.get(section)
    return Settings.model_fields if found is None else type(found.default).model_fields


def _nearest(name: str, known: Iterable[str]) -> str:
    """The name that was probably meant, or all there are."""
    near = difflib.get_close_matches(name, known, 1)
    return near[0] if near else f"one of {', '.join(known)}"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_toml(each) for each in value) + "]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)
