"""Machine translation of titles by models that are already on disk; nothing is downloaded.

Models run in CTranslate2 and SentencePiece, which the operator installs. A folder may have two kinds:

- packages of Argos Translate: ``metadata.json`` with ``from_code`` and ``to_code``, ``model/model.bin`` and
  ``sentencepiece.model``;
- models that ``ct2-transformers-converter`` made of OPUS-MT: a folder named like ``de-en`` with
  ``model.bin``, ``source.spm`` and ``target.spm``.
"""

from __future__ import annotations

import importlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

from isogloss.exceptions import SettingsError
from isogloss.extras import has_module
from isogloss.text import language

MAX_LOADED = 4
"""Models in memory, each some hundred megabytes; the least recently used one is dropped."""

MAX_CACHED = 2048
"""Translations that are kept."""

MAX_TRANSLATED_CHARS = 400
"""Titles are cut to this length."""

_MAX_TOKENS = 256
_ARGOS = "argos"


class TitleTranslator(Protocol):
    """Translates titles, such as :class:`LocalTranslator`."""

    def translate(self, text: str, source: str, target: str) -> str | None:
        """Return the translation of a text; None if there is no model for the two languages."""


class LocalTranslator:
    """Translates with the models of a folder.

    ``pairs`` has the model of each pair of languages.
    """

    def __init__(self, folder: Path) -> None:
        self.pairs = dict(_find_models(folder))
        self._lock = threading.Lock()
        self._loaded: OrderedDict[tuple[str, str], Callable[[str], str]] = OrderedDict()
        self._known: OrderedDict[tuple[str, str, str], str] = OrderedDict()

    def translate(self, text: str, source: str, target: str) -> str | None:
        """Return the translation of a text; None if there is no model for the two languages."""
        if (source, target) not in self.pairs or not text.strip():
            return None
        key = text[:MAX_TRANSLATED_CHARS], source, target
        with self._lock:
            if key not in self._known:
                self._known[key] = self._model(source, target)(key[0])
            self._known.move_to_end(key)
            if len(self._known) > MAX_CACHED:
                self._known.popitem(last=False)
            return self._known[key]

    def _model(self, source: str, target: str) -> Callable[[str], str]:
        pair = source, target
        if pair not in self._loaded:
            self._loaded[pair] = _load(self.pairs[pair])
        self._loaded.move_to_end(pair)
        if len(self._loaded) > MAX_LOADED:
            self._loaded.popitem(last=False)
        return self._loaded[pair]


def open_translator(name: str) -> LocalTranslator | None:
    """Open the translator of the setting ``models.translator``; None if it is empty.

    It is a folder of models, or ``argos`` for the folder into which Argos Translate installs its packages.
    Raises SettingsError if a library is not installed or the folder has no model.
    """
    if not name:
        return None
    missing = [module for module in ("ctranslate2", "sentencepiece") if not has_module(module)]
    if missing:
        raise SettingsError(
            f"models.translator: needs {' and '.join(missing)}, which "
            f"{'is' if len(missing) == 1 else 'are'} not installed; pip install {' '.join(missing)}"
        )
    folder = _argos_folder() if name == _ARGOS else Path(name)
    translator = LocalTranslator(folder)
    if not translator.pairs:
        raise SettingsError(
            f"models.translator: {folder} has no translation model; expected packages of Argos Translate, or "
            "folders named like de-en with model.bin, source.spm and target.spm"
        )
    return translator


def _argos_folder() -> Path:
    """Return the folder of packages of Argos Translate, as its documentation gives it."""
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return Path(os.environ.get("ARGOS_PACKAGES_DIR") or data / "argos-translate" / "packages")


def _find_models(folder: Path) -> Iterator[tuple[tuple[str, str], Path]]:
    """Yield the languages and the folder of each model."""
    for each in sorted(folder.iterdir()) if folder.is_dir() else ():
        pair = _languages(each)
        if pair is not None:
            yield pair, each


def _languages(folder: Path) -> tuple[str, str] | None:
    try:
        if (folder / "sentencepiece.model").is_file() and (folder / "model" / "model.bin").is_file():
            about = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
            source, target = about["from_code"], about["to_code"]
        elif all((folder / name).is_file() for name in ("model.bin", "source.spm", "target.spm")):
            source, target = folder.name.split("-")
        else:
            return None
        return language(source).code, language(target).code
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _load(folder: Path) -> Callable[[str], str]:
    """Load a model; return the function that translates a sentence."""
    ctranslate2 = importlib.import_module("ctranslate2")
    is_package = (folder / "metadata.json").is_file()
    model = folder / "model" if is_package else folder
    translator = ctranslate2.Translator(str(model), device="cpu", inter_threads=1, intra_threads=1)
    encoder = _pieces(folder / ("sentencepiece.model" if is_package else "source.spm"))
    decoder = encoder if is_package else _pieces(folder / "target.spm")

    def translate(text: str) -> str:
        tokens = encoder.encode(" ".join(text.split()), out_type=str)[:_MAX_TOKENS]
        found = translator.translate_batch([tokens], beam_size=2, max_decoding_length=_MAX_TOKENS)
        return str(decoder.decode(found[0].hypotheses[0])).strip()

    return translate


def _pieces(path: Path) -> Any:
    return importlib.import_module("sentencepiece").SentencePieceProcessor(model_file=str(path))
