"""Settings from a TOML file and the environment.

``isogloss init`` writes a file with all defaults and comments. A variable such as ``ISOGLOSS_SERVER__PORT``
overrides ``port`` of the section ``[server]``.
"""

from __future__ import annotations

import difflib
import ipaddress
import logging
import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

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

logger = logging.getLogger(__name__)

PREFIX = "ISOGLOSS_"
DELIMITER = "__"

PositiveFloat = Annotated[FiniteFloat, Field(gt=0)]
NonNegativeFloat = Annotated[FiniteFloat, Field(ge=0)]


class _Section(BaseModel):
    """Section of the file: types are strict, unknown names are errors."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    renamed: ClassVar[dict[str, str]] = {}
    """Current names of settings by their former names."""

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, values: Any) -> Any:
        """Accept former names, with a warning."""
        if not isinstance(values, dict):
            return values
        for old, new in cls.renamed.items():
            if old not in values:
                continue
            if new in values:
                raise ValueError(f"has both {new} and {old}, its former name; remove {old}")
            logger.warning("the setting %s has been renamed to %s; please update it", old, new)
            values = {new if name == old else name: value for name, value in values.items()}
        return values


class ServerSettings(_Section):
    """Address of the service, and who may reach it."""

    host: str = Field(
        "127.0.0.1",
        description="address to listen on; an address that other hosts can reach requires a token",
    )
    port: NonNegativeInt = Field(8470, description="port to listen on")
    names: list[str] = Field(
        default_factory=list, description="further host names of the service; * accepts any name"
    )
    trusted_proxies: list[str] = Field(
        default_factory=list,
        description="addresses or networks of reverse proxies, such as 127.0.0.1 or 10.0.0.0/8, whose "
        "X-Forwarded-For and X-Forwarded-Proto headers are trusted",
    )
    public_read: bool = Field(True, description="allow reading without a token")
    stop_seconds: NonNegativeFloat = Field(
        8.0, description="seconds that open requests have to finish when the service stops"
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
    """Database, and retention of articles."""

    renamed = {"forget_hours": "prune_hours"}

    place: str = Field("isogloss.db", description="SQLite file, or postgresql://user@host/name")
    keep_days: NonNegativeInt = Field(
        0,
        description="days to keep a story after its last article, counted back from the newest article; "
        "0 keeps everything. Nothing is deleted before isogloss prune --yes has been run once",
    )
    prune_hours: NonNegativeFloat = Field(
        1.0, description="hours between scheduled prunings; 0 leaves pruning to isogloss prune"
    )
    prune_max_percent: NonNegativeFloat = Field(
        1.0,
        description="share of all articles that a scheduled pruning may delete without isogloss prune --yes",
    )
    prune_without_asking: bool = Field(
        False,
        description="let scheduled prunings delete up to half of the store without isogloss prune --yes",
    )


class LimitSettings(_Section):
    """Limits on requests, clients and articles."""

    renamed = {"concurrent": "concurrent_reads"}

    body_bytes: PositiveInt = Field(8 << 20, description="maximum size of a request body")
    body_seconds: PositiveFloat = Field(30.0, description="seconds in which a request body must arrive")
    batch: PositiveInt = Field(500, description="maximum number of articles in one request")
    title_characters: PositiveInt = Field(
        1_000, description="maximum length of a title; longer ones are truncated"
    )
    article_characters: PositiveInt = Field(
        1_000_000, description="maximum length of an article body; longer ones are truncated"
    )
    text_characters: PositiveInt = Field(
        100_000, description="maximum length of a text to compare or search with"
    )
    sentence_words: PositiveInt = Field(200, description="maximum number of words in a sentence to align")
    story_articles: PositiveInt = Field(
        500,
        description="maximum number of articles of an event that are read for its chapters and quantities",
    )
    reads_per_second: PositiveFloat = Field(50.0, description="mean rate of read requests per client")
    writes_per_second: PositiveFloat = Field(400.0, description="mean rate of articles per client")
    burst_seconds: PositiveFloat = Field(2.0, description="size of a burst, in seconds of the mean rate")
    concurrent_reads: PositiveInt = Field(
        64, description="maximum number of concurrent read requests; further ones get 503"
    )
    concurrent_writes: PositiveInt = Field(
        32, description="maximum number of concurrent write requests, counted separately"
    )
    connections: PositiveInt = Field(
        1000, description="maximum number of open connections; beyond it the oldest idle ones are closed"
    )
    connections_per_client: PositiveInt = Field(
        100, description="the same per address, except server.trusted_proxies"
    )
    listeners: NonNegativeInt = Field(32, description="maximum number of clients of the change feed")
    exports: PositiveInt = Field(2, description="maximum number of exports at a time; further ones get 503")
    export_seconds: PositiveFloat = Field(
        1800.0,
        description="seconds after which an export is broken off, because it holds a database snapshot",
    )
    backlog: PositiveInt = Field(
        50_000, description="maximum number of articles waiting for the worker; further ones get 503"
    )
    stalled_seconds: PositiveFloat = Field(
        300.0,
        description="seconds that an article may wait without any progress before /ready reports 503",
    )
    saved_searches: PositiveInt = Field(200, description="maximum number of saved searches of one token")
    free_disk_mb: NonNegativeInt = Field(
        256, description="free disk space of an SQLite store below which /ready reports 503"
    )


class StreamSettings(_Section):
    """Clustering and linking of articles into events."""

    window_days: PositiveFloat = Field(10.0, description="days after its last article until a story expires")
    max_articles: PositiveInt = Field(200_000, description="maximum number of articles in the window")
    threshold: PositiveFloat = Field(
        0.2, description="mean probability of links from which clusters are one event"
    )
    encoder: bool | str = Field(
        True,
        description="sentence encoder, more links but slower: true for the one of isogloss[encoder] if it is "
        "installed, false for none, or a model on disk such as onnx:/models/e5?languages=en,de",
    )
    snapshot_every: PositiveInt = Field(5_000, description="number of articles between two checkpoints")

    @property
    def encoder_name(self) -> str:
        """Name of the encoder for :func:`~isogloss.similarity.open_encoder`."""
        if isinstance(self.encoder, str):
            return self.encoder
        return "auto" if self.encoder else "off"


class WorkerSettings(_Section):
    """The worker that turns articles into events."""

    jobs: NonNegativeInt = Field(
        1,
        description="processes that analyse articles; 1 uses only the worker process, 0 one process per core",
    )
    dask_scheduler: str = Field(
        "",
        description="address of a Dask scheduler, such as tcp://host:8786, that analyses articles instead",
    )
    record_seconds: PositiveFloat = Field(
        30.0,
        description="CPU seconds that one article may take (ten times as many by the clock); an article that "
        "takes longer twice is quarantined, see isogloss doctor",
    )
    max_memory_mb: NonNegativeInt = Field(
        0,
        description="memory limit of the worker and its processes; an article that exceeds it twice is "
        "quarantined; 0 means four fifths of the memory of the machine or container",
    )

    @property
    def n_jobs(self) -> int:
        """Number of jobs as in scikit-learn: -1 for one per core."""
        return self.jobs or -1


class ModelSettings(_Section):
    """Models of the service."""

    similarity: str = Field(
        "",
        description="file of 'isogloss similar fit', folder of 'isogloss similar pack', or store:NAME for a "
        "model in the store",
    )
    concepts: str = Field("", description="folder of 'isogloss concepts build'; events are made with it")
    linker: str = Field(
        "",
        description="file of 'isogloss link train'; events are made with it instead of the built-in linker",
    )
    report: str = Field("", description="JSON file with the evaluation of the similarity model")
    nearest_in_database: bool = Field(
        True,
        description="search for similar articles in PostgreSQL with pgvector; false for an index in memory",
    )
    csls: int = Field(
        10,
        ge=0,
        le=1000,
        description="similar articles: neighbours that tell how near an article is to everything, which "
        "counts against it (CSLS); 0 for the order of cosines",
    )
    aligners: list[str] = Field(
        default_factory=list, description="word aligner files, named like en-de.isogloss"
    )
    dictionaries: list[str] = Field(
        default_factory=list, description="dictionary files, named like en-de.tsv"
    )
    translator: str = Field(
        "",
        description="folder of translation models for titles, packages of Argos Translate or models of "
        "CTranslate2; argos is the folder that Argos Translate installs packages in",
    )


class FeedSettings(_Section):
    """Feeds of ``isogloss watch``."""

    urls: list[str] = Field(default_factory=list, description="URLs of RSS and Atom feeds and sitemaps")
    file: str = Field("", description="file with further feeds: OPML, or text with one URL per line")
    max_feeds: PositiveInt = Field(10_000, description="maximum number of feeds")
    minutes: PositiveFloat = Field(10.0, description="minutes between two visits of a feed")
    user_agent: str = Field(
        "isogloss", description="User-Agent of requests; its part before a slash is looked up in robots.txt"
    )
    hosts: PositiveInt = Field(8, description="hosts that are asked at the same time, each by one request")
    host_pause_seconds: NonNegativeFloat = Field(
        1.0, description="seconds between two requests to a host; robots.txt may ask for up to 60"
    )
    fetch_seconds: PositiveFloat = Field(20.0, description="seconds that one request may take")
    fetch_bytes: PositiveInt = Field(10 << 20, description="maximum size of a feed, also decompressed")
    parse_seconds: PositiveFloat = Field(
        10.0, description="CPU seconds that parsing a feed may take before it is skipped"
    )
    pages: bool = Field(
        True, description="fetch the pages of articles; false takes the summaries that feeds contain"
    )
    pages_per_visit: PositiveInt = Field(
        50, description="maximum number of pages that one visit of a feed fetches, the newest"
    )
    visit_seconds: PositiveFloat = Field(
        600.0, description="seconds after which a visit of a feed begins no further page"
    )
    page_bytes: PositiveInt = Field(3 << 20, description="maximum size of a page, at most feeds.fetch_bytes")
    page_parse_seconds: PositiveFloat = Field(
        3.0, description="CPU seconds that the text of a page, or a robots.txt, may take"
    )
    full_text_characters: NonNegativeInt = Field(
        2_000,
        description="an entry with this much text in the feed is taken without its page; 0 for no entry",
    )
    robots_hours: PositiveFloat = Field(24.0, description="hours that a robots.txt is remembered")

    @field_validator("user_agent")
    @classmethod
    def _check_user_agent(cls, given: str) -> str:
        if not (given.strip() and given.isascii() and given.isprintable()):
            raise ValueError(f"is {given!r}; expected printable ASCII characters such as isogloss/1.0")
        return given


class AlertSettings(_Section):
    """Alerts by webhook and e-mail."""

    base_url: str = Field("", description="public URL of the service, for links in alerts")
    per_token: NonNegativeInt = Field(50, description="maximum number of alerts of one token; 0 allows none")
    waiting: PositiveInt = Field(
        1000, description="maximum number of undelivered changes of one alert; the oldest are given up"
    )
    keep_hours: PositiveFloat = Field(72.0, description="hours after which undelivered changes are given up")
    body_bytes: PositiveInt = Field(
        64 << 10, description="maximum size of a webhook or e-mail; titles are left out beyond it"
    )
    digest_changes: PositiveInt = Field(100, description="maximum number of changes in one e-mail")
    search_seconds: PositiveFloat = Field(30.0, description="seconds between two runs of a followed search")
    timeout_seconds: PositiveFloat = Field(5.0, description="seconds that one delivery may take")
    retry_seconds: PositiveFloat = Field(
        5.0, description="seconds after a failure until the next attempt; doubled with every failure"
    )
    retry_max_seconds: PositiveFloat = Field(3600.0, description="maximum of these seconds")
    concurrent: PositiveInt = Field(4, description="number of deliveries at a time")
    private_addresses: bool = Field(
        False, description="allow webhooks to addresses that are not on the public internet, such as 10.0.0.7"
    )
    ports: list[PositiveInt] = Field(
        default_factory=lambda: [80, 443], description="allowed ports of webhooks"
    )


class MailSettings(_Section):
    """Server that sends e-mail."""

    host: str = Field("", description="host name of an SMTP server; empty allows no alerts by e-mail")
    port: PositiveInt = Field(587, description="port of the server")
    security: Literal["starttls", "tls", "none"] = Field(
        "starttls", description="starttls, tls (from the first byte, usually port 465), or none"
    )
    user: str = Field("", description="user name; empty for none")
    password: str = Field(
        "", description="password; better set in the environment as ISOGLOSS_MAIL__PASSWORD"
    )
    sender: str = Field("", description="address that e-mail is sent from")


class Settings(BaseSettings):
    """All settings.

    Examples
    --------
    >>> Settings().server.port
    8470
    >>> print(Settings().as_toml()[:98])
    # address of the service, and who may reach it
    [server]
    # address to listen on; an address that ...
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
    alerts: AlertSettings = AlertSettings()
    mail: MailSettings = MailSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Ignore the environment; only :meth:`load` reads it."""
        return (init_settings,)

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Settings:
        """Read a file and the environment, which overrides the file.

        Raises
        ------
        SettingsError
            The file cannot be read, or a name or value is invalid.
        """
        sections = {} if path is None else _read(Path(path))
        for section, values in _Environment(cls)().items():
            if isinstance(values, dict) and isinstance(sections.setdefault(section, {}), dict):
                sections[section] = sections[section] | values
            else:
                sections[section] = values
        try:
            return cls(**sections)
        except ValidationError as error:
            raise SettingsError(_explain(error, path)) from error

    def as_toml(self) -> str:
        """Return a settings file with a comment for every value."""
        parts = []
        for section, values in self:
            title = (type(values).__doc__ or "").strip().rstrip(".")
            lines = [f"# {title[:1].lower()}{title[1:]}", f"[{section}]"]
            for name, field in type(values).model_fields.items():
                lines += [f"# {field.description}", f"{name} = {_toml(getattr(values, name))}"]
            parts.append("\n".join(lines))
        return "\n\n".join(parts) + "\n"


class _Environment(EnvSettingsSource):
    """Settings in environment variables."""

    def __call__(self) -> dict[str, Any]:
        """Return values by section and name; variables of unknown sections are errors."""
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
        """Keep invalid JSON as text, so that the validation error names the variable."""
        try:
            return super().decode_complex_value(field_name, field, value)
        except ValueError:
            return value


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise SettingsError(
            f"cannot read {path} ({error.strerror}); isogloss init writes a settings file"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML ({error})") from error


def _explain(invalid: ValidationError, path: str | os.PathLike[str] | None) -> str:
    """Describe the first error: where it is, what was found and what was expected."""
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
        return f"{where} has {value!r}; expected strings"
    if kind in ("greater_than", "greater_than_equal"):
        return f"{where} is {value!r}; expected {'more than 0' if kind == 'greater_than' else '0 or more'}"
    if kind == "finite_number":
        return f"{where} is {value!r}; expected a finite number"
    default = known[key[-1]].get_default(call_default_factory=True)
    return f"{where} is {value!r}; expected a value such as {_toml(default)}"


def _fields(section: str) -> dict[str, FieldInfo]:
    """Return the settings of a section, or the sections if it is unknown."""
    found = Settings.model_fields.get(section)
    return Settings.model_fields if found is None else type(found.default).model_fields


def _nearest(name: str, known: Iterable[str]) -> str:
    """Return the most similar name, or all names."""
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
