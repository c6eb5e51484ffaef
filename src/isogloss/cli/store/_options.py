"""Options that the commands of a store share: settings file, store, JSON output."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer

from isogloss.exceptions import SettingsError, StoreError
from isogloss.service.settings import Settings

if TYPE_CHECKING:
    from isogloss.store import Store

__all__ = [
    "DEFAULT_CONFIG",
    "Config",
    "JsonOutput",
    "StorePlace",
    "load_settings",
    "make_folder",
    "open_store",
]

DEFAULT_CONFIG = Path("isogloss.toml")

Config = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", help="Settings file; default: isogloss.toml in this folder, if it exists."
    ),
]
StorePlace = Annotated[
    str | None,
    typer.Option("--store", help="SQLite file or postgresql://...; default: that of the settings."),
]
JsonOutput = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def load_settings(config: Path | None, store: str | None = None) -> Settings:
    """Load the settings of a file, of ``isogloss.toml`` in this folder, or the defaults.

    Relative paths in the settings are relative to the settings file.
    """
    if store == "-":
        raise typer.BadParameter("a store cannot be standard output; give a file name")
    path = config or (DEFAULT_CONFIG if DEFAULT_CONFIG.exists() else None)
    settings = _resolve_paths(Settings.load(path), path.parent) if path is not None else Settings()
    if store is not None:
        settings = dataclasses.replace(settings, store=dataclasses.replace(settings.store, place=store))
    return settings


def make_folder(folder: Path) -> None:
    """Create a folder and check that it is writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise SettingsError(
            f"{folder}: the folder cannot be created or written to ({error.strerror}); name another"
        ) from error


def open_store(settings: Settings, *, new: bool = False) -> Store:
    """Open the store of the settings; create it only if ``new``."""
    from isogloss.store import Store

    place = settings.store.place
    if not new and not _is_url(place) and not Path(place).exists():
        raise StoreError(f"{place}: no such store; create one with isogloss init, or name one with --store")
    return Store(place)


def _resolve_paths(settings: Settings, folder: Path) -> Settings:
    def resolve(name: str) -> str:
        return name if not name or _is_url(name) or name.startswith("store:") else str(folder / name)

    models = settings.models
    return dataclasses.replace(
        settings,
        store=dataclasses.replace(settings.store, place=resolve(settings.store.place)),
        models=dataclasses.replace(
            models,
            similarity=resolve(models.similarity),
            report=resolve(models.report),
            aligners=[resolve(each) for each in models.aligners],
            dictionaries=[resolve(each) for each in models.dictionaries],
        ),
    )


def _is_url(place: str) -> bool:
    return "://" in place
