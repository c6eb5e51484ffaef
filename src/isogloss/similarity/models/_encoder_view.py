r"""An encoder as one more view of hub CCA, from which languages that it does not cover borrow.

A row of a comparable corpus is one thing told in several languages. Its vector in the view of the encoder is
the mean of the vectors of its documents in the languages that the encoder covers, scaled to length one,
because they all tell of the same; rows without such a document lack the view. Hub CCA then looks for
components on which the words of all languages *and* the encoder agree. A language that the encoder has never
seen is tied to these components by its own words, through the rows it shares with others, and in this way
gets what the encoder knows.

A text in a covered language has two projections into the common space, that of its words and that of its
vector, and their weighted mean is better than either; a text in another language has the first one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import SHARE, Constraints, Estimator
from isogloss.corpora import Corpus
from isogloss.similarity.models._base import TextModel, unit_rows
from isogloss.similarity.models._encoder import (
    ENCODER_CONSTRAINTS,
    PIECE,
    Encoder,
    UniversalEncoder,
    encode_documents,
)
from isogloss.similarity.models._extra_views import ExtraView, ViewProjection
from isogloss.similarity.models._hub import HubSimilarity

Single = NDArray[np.float32]

# No language has such a code.
_VIEW = "(encoder)"


class EncodedHub(TextModel, Estimator):
    """Hub CCA of the words of all languages and of the vectors of an encoder.

    Parameters
    ----------
    hub : HubSimilarity or None
        Settings of the model; :class:`HubSimilarity` with its defaults by default. The corpus is held in
        memory, so it has neither ``batch_rows`` nor an ``engine``.
    encoder : Encoder or None
        The encoder; :class:`UniversalEncoder` by default.
    share : float
        Weight of the encoder when texts of languages that it covers are projected, from 0 (words alone)
        to 1 (the encoder alone).
    piece : int or None
        See :class:`EncoderSimilarity`.

    Attributes
    ----------
    hub_model_ : HubSimilarity
        The words of all languages, with what they learned from the encoder; a model of its own.
    projector_ : float32 array (dimension x components)
        From vectors of the encoder to the common space.
    offset_ : float32 array (components,)
        Where the mean vector goes; it is subtracted.
    rows_ : int
        Rows of the corpus that had a vector.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "hub": [HubSimilarity, None],
        "share": [SHARE],
        **ENCODER_CONSTRAINTS,
    }

    hub_model_: HubSimilarity
    projector_: Single
    offset_: Single
    rows_: int

    def __init__(
        self,
        hub: HubSimilarity | None = None,
        encoder: Encoder | None = None,
        *,
        share: float = 0.5,
        piece: int | None = PIECE,
    ) -> None:
        self.hub = hub
        self.encoder = encoder
        self.share = share
        self.piece = piece

    def fit(
        self, corpus: Corpus, y: object = None, *, texts: Mapping[str, Sequence[str | None]] | None = None
    ) -> Self:
        """Learn the common space.

        Parameters
        ----------
        corpus : Corpus
            Rows told in several languages, any of which may be missing.
        y : None
            Not used.
        texts : mapping of str to sequence of str or None
            The texts themselves, which a corpus does not keep: for languages that the encoder covers, one
            for each row of the corpus, None where it is missing.
        """
        self._validate_params()
        view = encoder_rows(self._encoder(), texts or {}, len(corpus), piece=self.piece)
        self.rows_ = int(view.present.sum())
        if not self.rows_:
            raise ValueError(
                "no row has a text that the encoder can read; expected texts of rows of the corpus"
            )
        self.hub_model_ = HubSimilarity() if self.hub is None else clone(self.hub)
        found = self.hub_model_.fit_with(corpus, {_VIEW: view})[_VIEW]
        self.projector_, self.offset_ = found
        return self

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages of the corpus, then of those that only the encoder has."""
        check_is_fitted(self)
        known = self.hub_model_.languages
        return (*known, *(code for code in self._covered() if code not in known))

    @property
    def words(self) -> HubSimilarity:
        """The words of all languages, a model of its own."""
        check_is_fitted(self)
        return self.hub_model_

    def project(self, texts: Iterable[str], lang: str) -> Single:
        """Raw texts as points of the common space, one row for each.

        Parameters
        ----------
        texts : iterable of str
            Texts of any length.
        lang : str
            Their language: of the corpus, of the encoder, or of both.
        """
        check_is_fitted(self)
        read = list(texts)
        if lang in self.hub_model_.languages:
            words = self.hub_model_.project(read, lang)
            if self.share == 0 or not self._covers(lang):
                return words
            return unit_rows((1 - self.share) * words + self.share * self._project_encoded(read, lang))
        if self._covers(lang):
            return self._project_encoded(read, lang)
        raise ValueError(
            f"neither corpus nor encoder know the language {lang!r}: {', '.join(self.languages)}"
        )

    def project_corpus(self, corpus: Corpus, lang: str) -> Single:
        """The documents of a corpus by their words alone, because it does not keep the texts."""
        check_is_fitted(self)
        return self.hub_model_.project_corpus(corpus, lang)

    def _project_encoded(self, texts: Sequence[str], lang: str) -> Single:
        """Project texts one by one: in a batch, the last bits of a point depend on the other texts."""
        view, encoder = ViewProjection(self.projector_, self.offset_), self._encoder()
        points = [view.project(encode_documents(encoder, [text], lang, piece=self.piece)) for text in texts]
        return np.concatenate([np.empty((0, len(self.offset_)), np.float32), *points])

    def _covered(self) -> tuple[str, ...]:
        return self._encoder().languages or ()

    def _covers(self, lang: str) -> bool:
        covered = self._encoder().languages
        return covered is None or lang in covered

    def _encoder(self) -> Encoder:
        return UniversalEncoder() if self.encoder is None else self.encoder


def encoder_rows(
    encoder: Encoder,
    texts: Mapping[str, Sequence[str | None]],
    n_rows: int,
    *,
    piece: int | None = PIECE,
) -> ExtraView:
    """The view of an encoder: a vector for each row that has a text it can read, and which rows those are.

    Each language has one text for each row; languages that the encoder does not cover are not read. Returns
    means over languages, of length one, and zeros where there is none. For ``piece`` see
    :func:`encode_documents`.
    """
    covered = [lang for lang in texts if encoder.languages is None or lang in encoder.languages]
    if not covered:
        raise ValueError(
            f"texts in {', '.join(texts) or 'no language'}, and the encoder knows "
            f"{', '.join(encoder.languages or ())}; expected texts in one of its languages at least"
        )
    sums = np.zeros((n_rows, encoder.dimension), dtype=np.float32)
    for lang in covered:
        column: Any = texts[lang]
        if len(column) != n_rows:
            raise ValueError(
                f"{len(column)} texts in {lang!r} and {n_rows} rows; expected one for each, or None"
            )
        here = [row for row, text in enumerate(column) if text is not None]
        sums[here] += encode_documents(encoder, [column[row] for row in here], lang, piece=piece)
    return ExtraView(unit_rows(sums), np.asarray(sums.any(axis=1)))
