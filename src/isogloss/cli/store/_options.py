"""Options that the commands of a store share: settings file, store, JSON output."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from isogloss.cli._console import Console
from isogloss.exceptions import SettingsError, StoreError
from isogloss.io import atomic_write

if TYPE_CHECKING:
    from isogloss.service.settings import Settings
    from isogloss.store import Store

DEFAULT_CONFIG = Path("isogloss.toml")

Config = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", help="The settings file; by default isogloss.toml in this folder, if it exists."
    ),
]
StorePlace = Annotated[
    str | None,
    typer.Option("--store", help="A SQLite file or postgresql://...; by default the store in the settings."),
]
Events = Annotated[bool, typer.Option(help="Find events now, unless a service or worker does.")]


def load_settings(config: Path | None, store: str | None = None) -> Settings:
    """Load the settings of a file, of ``isogloss.toml`` in this folder, or the defaults.

    Environment variables override the file. Relative paths in the settings are relative to the settings file.
    """
    if store == "-":
        raise typer.BadParameter("a store cannot be standard output; give a file name")
    from isogloss.service.settings import Settings

    path = config or (DEFAULT_CONFIG if DEFAULT_CONFIG.exists() else None)
    settings = Settings.load(path)
    if path is not None:
        settings = resolve_paths(settings, path.parent)
    if store is not None:
        settings = settings.model_copy(update={"store": settings.store.model_copy(update={"place": store})})
    return settings


def make_folder(folder: Path) -> None:
    """Create a folder and check that it is writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise SettingsError(
            f"{folder}: cannot create or write to this folder ({error.strerror}); choose another"
        ) from error


def check_no_settings(path: Path) -> None:
    """Refuse a settings file that exists."""
    if path.exists():
        raise SettingsError(f"{path}: already exists; edit it, or remove it first")


def write_settings(path: Path, settings: Settings) -> None:
    """Write a settings file that must not exist yet."""
    check_no_settings(path)
    with atomic_write(path, SettingsError) as file:
        file.write(settings.as_toml().encode())


def warn_of_clock(store: Store) -> None:
    """Warn on standard error if the clock of this machine looks wrong."""
    from isogloss.service.worker import clock_warning

    if warning := clock_warning(store):
        Console(stderr=True).print(f"[yellow]warning:[/] {escape(warning)}", highlight=False)


def open_store(settings: Settings, *, new: bool = False) -> Store:
    """Open the store of the settings; create it only if ``new``."""
    from isogloss.store import Store

    place = settings.store.place
    if not new and not is_url(place) and not Path(place).exists():
        raise StoreError(f"{place}: no such store; create one with isogloss init, or choose one with --store")
    return Store(place)


def resolve_paths(settings: Settings, folder: Path) -> Settings:
    """Return the settings with their relative paths resolved against a folder."""

    def resolve(name: str) -> str:
        return name if not name or is_url(name) or name.startswith("store:") else str(folder / name)

    models = settings.models
    paths = {
        "similarity": resolve(models.similarity),
        "concepts": resolve(models.concepts),
        "linker": resolve(models.linker),
        "report": resolve(models.report),
        "aligners": [resolve(each) for each in models.aligners],
        "dictionaries": [resolve(each) for each in models.dictionaries],
        "translator": models.translator if models.translator == "argos" else resolve(models.translator),
    }
    store = settings.store.model_copy(update={"place": resolve(settings.store.place)})
    feeds = settings.feeds.model_copy(update={"file": resolve(settings.feeds.file)})
    updated = {"store": store, "models": models.model_copy(update=paths), "feeds": feeds}
    return settings.model_copy(update=updated)


def is_url(place: str) -> bool:
    """Return whether a name is a URL rather than a file name."""
    return "://" in place
