"""Where the store and its settings are: options that several commands share."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer

from isogloss.exceptions import SettingsError, StoreError

if TYPE_CHECKING:
    from isogloss.service.settings import Settings
    from isogloss.store import Store

__all__ = [
    "DEFAULT",
    "Config",
    "JsonOutput",
    "StorePlace",
    "beside",
    "load_settings",
    "make_folder",
    "open_store",
]

DEFAULT = Path("isogloss.toml")

Config = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", help="The settings file; by default isogloss.toml in this folder, if it exists."
    ),
]
StorePlace = Annotated[
    str | None,
    typer.Option("--store", help="A SQLite file or postgresql://...; by default that of the settings."),
]
JsonOutput = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def load_settings(config: Path | None, store: str | None = None) -> Settings:
    """The settings of a file, of the file in this folder, or the defaults; the environment overrides them.

    Files that the settings name are looked for beside the file of settings, wherever the command runs.
    """
    if store == "-":
        raise typer.BadParameter("a store cannot be standard output; give a file name")
    from isogloss.service.settings import Settings

    path = config or (DEFAULT if DEFAULT.exists() else None)
    settings = Settings.load(path)
    if path is not None:
        settings = beside(settings, path.parent)
    if store is not None:
        settings = settings.model_copy(update={"store": settings.store.model_copy(update={"place": store})})
    return settings


def make_folder(folder: Path) -> None:
    """Make a folder, or say that it cannot be made or written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise SettingsError(
            f"{folder}: cannot create or write to this folder ({error.strerror}); choose another"
        ) from error


def open_store(settings: Settings, *, new: bool = False) -> Store:
    """The store of the settings; one that is not there is made only where that is wanted."""
    from isogloss.store import Store

    place = settings.store.place
    if not new and not _remote(place) and not Path(place).exists():
        raise StoreError(f"{place}: no such store; create one with isogloss init, or choose one with --store")
    return Store(place)


def beside(settings: Settings, folder: Path) -> Settings:
    """Settings whose files are looked for in a folder."""

    def there(name: str) -> str:
        return name if not name or _remote(name) or name.startswith("store:") else str(folder / name)

    models = settings.models
    named = {
        "similarity": there(models.similarity),
        "report": there(models.report),
        "aligners": [there(each) for each in models.aligners],
        "dictionaries": [there(each) for each in models.dictionaries],
    }
    store = settings.store.model_copy(update={"place": there(settings.store.place)})
    return settings.model_copy(update={"store": store, "models": models.model_copy(update=named)})


def _remote(place: str) -> bool:
    return "://" in place
