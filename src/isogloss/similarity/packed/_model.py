"""A folder with a file for each language of a model, opened when a text of this language comes."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from isogloss import io
from isogloss.corpora import Corpus
from isogloss.exceptions import ModelFileError
from isogloss.similarity.fitting import LanguageSpace
from isogloss.similarity.models import DocumentModel, TextModel, WordPulls, project_weighted
from isogloss.similarity.models._proxy import ProxyMatrix
from isogloss.similarity.packed._language import PackedLanguage, PackedProjector, PackedStorage
from isogloss.views import Matrix

T = TypeVar("T")
Single = NDArray[np.float32]

MANIFEST = "model.isogloss"
"""The file of a folder that tells of the others."""


@dataclass(frozen=True, eq=False)
class PackedManifest:
    """What a folder of a packed model holds.

    Attributes
    ----------
    storage : str
        How projectors are kept: float16 or int8.
    files, digests : dict of str to str
        The file of each language in the folder, and its SHA-256.
    strengths : array (components,)
        See :class:`DocumentModel`.
    normalise : bool
        Whether projected documents have length one.
    params : dict
        Parameters that the model was fitted with.
    """

    storage: str
    files: dict[str, str]
    digests: dict[str, str]
    strengths: NDArray[np.float64]
    normalise: bool
    params: dict[str, Any]


class PackedSimilarity(TextModel):
    """A model that projects texts like the one it was packed from, without holding its projectors in memory.

    The file of a language is mapped when a text of it comes, and a text reads the rows of its words. All
    processes on a machine share what was read, and the system drops it when it needs the memory.

    Parameters
    ----------
    folder : path
        What :func:`pack_model` wrote.

    Attributes
    ----------
    projectors_, offsets_, spaces_ : mapping of str
        As :class:`DocumentModel` has them, opened when they are asked for.
    strengths_ : array (components,)
        How much languages agree on each component.

    Raises
    ------
    ModelFileError
        The folder has no packed model, or lacks a file of it.

    Examples
    --------
    >>> import tempfile
    >>> from isogloss.corpora import InMemoryCorpus
    >>> from isogloss.similarity import HubSimilarity
    >>> from isogloss.text import Tokeniser
    >>> en = ["sun and sea", "sea and ship", "snow and sun"]
    >>> de = ["sonne und meer", "meer und schiff", "schnee und sonne"]
    >>> corpus = InMemoryCorpus({"en": en, "de": de}, {code: Tokeniser(code) for code in ("en", "de")})
    >>> model = HubSimilarity(2, random_state=0).fit(corpus)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     packed = pack_model(model, f"{folder}/packed")
    ...     float(np.abs(packed.project(["sea"], "en") - model.project(["sea"], "en")).max()) < 0.01
    True
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / MANIFEST).is_file():
            raise ModelFileError(
                f"{self.folder}: has no {MANIFEST}; expected a folder that 'isogloss similar pack' wrote"
            )
        self.manifest = io.load(self.folder / MANIFEST, expected=PackedManifest)
        for name in self.manifest.files.values():
            if Path(name).name != name or not (self.folder / name).is_file():
                raise ModelFileError(
                    f"{self.folder}: has no file {name!r}, which {MANIFEST} names; copy the folder again"
                )
        self.strengths_, self.normalise = self.manifest.strengths, self.manifest.normalise
        self.drop_first = 0
        self._language = lru_cache(maxsize=None)(self._open)
        self.projectors_: Mapping[str, PackedProjector] = _Opened(self, lambda one: one.projector)
        self.offsets_: Mapping[str, Single] = _Opened(self, lambda one: one.offset)
        self.spaces_: Mapping[str, LanguageSpace] = _Opened(self, PackedLanguage.space)

    def __reduce__(self) -> tuple[type, tuple[Path]]:
        """Open the folder again in another process."""
        return type(self), (self.folder,)

    def __repr__(self) -> str:
        return f"PackedSimilarity({len(self.languages)} languages as {self.manifest.storage})"

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages."""
        return tuple(self.manifest.files)

    @property
    def words(self) -> DocumentModel:
        """The model itself, which has what is asked of the words of a model."""
        return cast("DocumentModel", self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters that the model was fitted with."""
        return dict(self.manifest.params)

    def project(self, texts: Iterable[str], lang: str) -> Single:
        """Raw texts as points of the common space, one row for each."""
        return self.project_vectors(self.spaces_[lang].of_texts(texts), lang)

    def project_corpus(self, corpus: Corpus, lang: str) -> Single:
        """The documents that a corpus has in a language, one row for each line of its matrix."""
        return self.project_vectors(self.spaces_[lang].of_corpus(corpus), lang)

    def project_vectors(self, X: Matrix, lang: str) -> Single:
        """Weighted counts of words, as ``spaces_[lang]`` makes them, to points of the common space."""
        return project_weighted(X, self.projectors_[lang], self.offsets_[lang], lang, self.normalise)

    def similarity(self, lang_a: str, lang_b: str) -> ProxyMatrix:
        """The bilinear form that compares documents of two languages; it reads both projectors as a whole."""
        left, right = (self.projectors_[lang].toarray() for lang in (lang_a, lang_b))
        words = [self.spaces_[lang].vocabulary.words[:] for lang in (lang_a, lang_b)]
        return ProxyMatrix(lang_a, lang_b, left, right, *words)

    def strongest_words(
        self, lang: str, components: Sequence[int], n: int
    ) -> list[tuple[WordPulls, WordPulls]]:
        """The words that move documents most towards either end of each of some components, and how far."""
        one = self._language(lang)
        return [one.ends_of(component, n) for component in components]

    def verify(self) -> None:
        """Read all files, and raise ModelFileError if one of them is not as it was written."""
        for lang, name in self.manifest.files.items():
            if _digest(self.folder / name) != self.manifest.digests[lang]:
                raise ModelFileError(
                    f"{self.folder / name}: was changed or damaged; copy the file or pack the model again"
                )

    def _open(self, lang: str) -> PackedLanguage:
        if lang not in self.manifest.files:
            known = ", ".join(self.languages)
            raise ValueError(f"the model does not know the language {lang!r}; it has {known}")
        found = io.load(self.folder / self.manifest.files[lang], expected=PackedLanguage, mapped=True)
        if found.lang != lang:
            raise ModelFileError(
                f"{self.folder}: the file of {lang!r} holds {found.lang!r}; pack the model again"
            )
        return found


class _Opened(Mapping[str, T]):
    """Something of each language, made when it is asked for."""

    def __init__(self, model: PackedSimilarity, make: Callable[[PackedLanguage], T]) -> None:
        self._model, self._make = model, make
        self._made: dict[str, T] = {}

    def __getitem__(self, lang: str) -> T:
        if lang not in self._made:
            self._made[lang] = self._make(self._model._language(lang))
        return self._made[lang]

    def __contains__(self, lang: object) -> bool:
        return lang in self._model.manifest.files

    def __len__(self) -> int:
        return len(self._model.languages)

    def __iter__(self) -> Iterator[str]:
        return iter(self._model.languages)


def pack_model(
    model: DocumentModel,
    folder: str | Path,
    *,
    storage: PackedStorage = "int8",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> PackedSimilarity:
    """Write a fitted model as a folder of mapped files, a language at a time.

    Parameters
    ----------
    model : DocumentModel
        Fitted. Models with other views, such as :class:`EncodedHub`, cannot be packed.
    folder : path
        A folder that does not exist yet. It is there as a whole or not at all.
    storage : {'int8', 'float16'}
        Bytes of a weight: one, with a scale for each word, or two.
    progress : callable
        Called with the number of languages that are written, and of all of them.
    """
    if getattr(type(model), "project", None) is not DocumentModel.project:
        raise TypeError(
            f"got a {type(model).__name__}; expected a model that projects words alone, as HubSimilarity"
        )
    languages = ((lang, PackedLanguage.of(model, lang, storage)) for lang in model.languages)
    strengths, params = model.strengths_[model.drop_first :], model.get_params(deep=False)
    plain = {name: value for name, value in params.items() if isinstance(value, bool | int | float | str)}
    return write_packed(
        folder,
        languages,
        strengths,
        normalise=model.normalise,
        storage=storage,
        params=plain,
        progress=lambda done: progress(done, len(model.languages)),
    )


def write_packed(
    folder: str | Path,
    languages: Iterable[tuple[str, PackedLanguage]],
    strengths: NDArray[np.float64],
    *,
    normalise: bool,
    storage: PackedStorage,
    params: Mapping[str, Any],
    progress: Callable[[int], None] = lambda done: None,
) -> PackedSimilarity:
    """Write a folder from its languages, which may be made one after the other."""
    if storage not in get_args(PackedStorage):
        raise ValueError(f"storage={storage!r}; expected one of {', '.join(get_args(PackedStorage))}")
    place = Path(folder)
    if place.exists():
        raise ModelFileError(f"{place}: exists already; give the name of a new folder")
    with tempfile.TemporaryDirectory(prefix=f".{place.name}.", dir=place.parent) as made:
        new = Path(made, "new")
        new.mkdir()
        files, digests = {}, {}
        for number, (lang, one) in enumerate(languages):
            files[lang] = f"{lang}.isogloss"
            io.save(one, new / files[lang])
            digests[lang] = _digest(new / files[lang])
            progress(number + 1)
        manifest = PackedManifest(storage, files, digests, np.asarray(strengths), normalise, dict(params))
        io.save(manifest, new / MANIFEST)
        new.rename(place)
    return PackedSimilarity(place)


def load_model(path: str | Path) -> TextModel:
    """Load a model file, or open a folder of :func:`pack_model`."""
    return PackedSimilarity(path) if Path(path).is_dir() else io.load(path, expected=TextModel)


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
