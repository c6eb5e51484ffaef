"""The sample news in a store of their own, served."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from isogloss.cli._console import Console
from isogloss.cli._progress import progress_bar
from isogloss.cli.store._make_events import make_events
from isogloss.cli.store._options import DEFAULT_CONFIG, make_folder, resolve_paths
from isogloss.exceptions import SettingsError
from isogloss.io import atomic_write

if TYPE_CHECKING:
    from isogloss.events.ingest import SampleNews
    from isogloss.service.settings import Settings
    from isogloss.similarity import DocumentModel

MODEL, REPORT = "similarity.isogloss", "evaluation.json"


def check_serving(folder: Path | None, port: int) -> None:
    """Refuse what would keep the demo from being served, before anything is learned.

    Raises ModuleNotFoundError if the service is not installed, and SettingsError if the port is taken, or the
    folder has a store or cannot be written to.
    """
    from isogloss.cli._serve import check_service
    from isogloss.service.settings import ServerSettings, Settings

    check_service(Settings(server=ServerSettings(port=port)))
    if folder is not None:
        if (folder / DEFAULT_CONFIG).exists() or (folder / Settings().store.place).exists():
            raise SettingsError(f"{folder}: already has a store; choose another folder for the demo")
        make_folder(folder)


def serve_sample(news: SampleNews, model: DocumentModel, folder: Path | None, port: int) -> None:
    """Fill a new store with the sample news and serve it until Ctrl-C.

    The store, the model and the settings go to the folder, where ``isogloss serve`` serves them again.
    Without one they are gone when the service stops.
    """
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="isogloss-demo-") as temporary:
            _serve(news, model, Path(temporary), port)
    else:
        _serve(news, model, folder, port)


def _serve(news: SampleNews, model: DocumentModel, folder: Path, port: int) -> None:
    from isogloss.cli._serve import run_service
    from isogloss.service import log_to_stderr
    from isogloss.store import Store

    with Console().status("learning dictionaries of five languages and evaluating the common space"):
        settings = _settings(folder, model, port)
    with Store(settings.store.place) as store:
        store.add(news.articles)
        with progress_bar() as progress:
            make_events(store, settings, progress)
        log_to_stderr()
        run_service(settings, store)


def _settings(folder: Path, model: DocumentModel, port: int) -> Settings:
    """The settings of a demo, written to a file beside its models."""
    from isogloss import io
    from isogloss.cli.demo._words import evaluation, learn_words
    from isogloss.service.settings import ModelSettings, ServerSettings, Settings

    io.save(model, folder / MODEL)
    with atomic_write(folder / REPORT) as file:
        file.write(json.dumps(evaluation(model), ensure_ascii=False, indent=1).encode())
    aligners, dictionaries = learn_words(folder, model.languages)
    settings = Settings(
        server=ServerSettings(port=port),
        models=ModelSettings(similarity=MODEL, report=REPORT, aligners=aligners, dictionaries=dictionaries),
    )
    with atomic_write(folder / DEFAULT_CONFIG) as file:
        file.write(settings.as_toml().encode())
    # The environment must not override these: it may name a store that is in use.
    return resolve_paths(settings, folder)
