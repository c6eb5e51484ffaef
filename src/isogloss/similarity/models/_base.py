r"""The base of cross-lingual document models: text in, vectors of one common space out.

.. math::

    z = D\, W_i^\top (\phi_i(d) - \mu_i), \qquad
    \mathrm{sim}(d, e) = \frac{\langle z_d, z_e \rangle}{|z_d| |z_e|}

for a document d of language i, with :math:`\phi_i` the weighted counts of its words, the directions
:math:`W_i` of the model and a diagonal D that weighs components by the strength :math:`s_c` that the model
found for them: :math:`D_{cc} = s_c^{p/2}`, so that an inner product has the p-th power of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import N_JOBS, NON_NEGATIVE_INT, POSITIVE_INT, Constraints, Estimator, Interval
from isogloss.corpora import Corpus
from isogloss.similarity.fitting import LanguageSpace, weighted_views
from isogloss.similarity.models._proxy import ProxyMatrix
from isogloss.text import WEIGHTING_CONSTRAINTS, Scheme
from isogloss.views import Matrix

Array = NDArray[np.float64]
Single = NDArray[np.float32]

# Documents that are projected together: so many that a product is fast, so few that it needs little memory.
_BLOCK_DOCUMENTS = 8192


WordPulls: TypeAlias = list[tuple[str, float]]
"""Words and how far they move a document along a component."""


class FittedDirections(NamedTuple):
    """The result of a fit: directions, means and strengths of the components."""

    directions: dict[str, Array]
    means: dict[str, Array]
    """Centre that is subtracted from the vectors of each language. Shape (words,)."""
    strengths: Array
    """Agreement of the languages on each component. Shape (components,)."""


class TextModel:
    """Projects texts of many languages, and the documents of a corpus, into one space."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages of a fitted model."""
        raise NotImplementedError

    @property
    def words(self) -> DocumentModel:
        """The model that knows which words components are made of."""
        raise NotImplementedError

    def project(self, texts: Iterable[str], lang: str) -> Single:
        """Raw texts as points of the common space, one row for each."""
        raise NotImplementedError

    def project_corpus(self, corpus: Corpus, lang: str) -> Single:
        """The documents that a corpus has in a language, one row for each line of its matrix."""
        raise NotImplementedError


class DocumentModel(TextModel, Estimator):
    """A cross-lingual document model; subclasses implement ``_solve``.

    Parameters
    ----------
    n_components : int
        Dimensions of the common space.
    power : float
        How much components that languages agree on count more: the power of their strength in an inner
        product of two documents.
    drop_first : int
        Number of leading components that are left out of the projections; general words can dominate them.
    normalise : bool
        Whether projected documents have length one, so that inner products are cosines.
    scheme, min_df, drop_top, max_features
        Which words count and how much, see :class:`LanguageSpace`.
    n_jobs : int or None
        Processes that read text and threads that fit; -1 for all cores.

    Attributes
    ----------
    spaces_ : dict of str to LanguageSpace
        Words and weights of each language.
    projectors_ : dict of str to float32 array (words x components)
        ``W D`` of the formula above.
    offsets_ : dict of str to float32 array (components,)
        Where the mean document goes; it is subtracted.
    strengths_ : array (components,)
        What the power was taken of, before leading components were left out.
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "power": [Interval(Real, None, None, closed="neither")],
        "drop_first": [NON_NEGATIVE_INT],
        "normalise": ["boolean"],
        "scheme": WEIGHTING_CONSTRAINTS["scheme"],
        "min_df": [POSITIVE_INT],
        "drop_top": [NON_NEGATIVE_INT],
        "max_features": [POSITIVE_INT, None],
        "random_state": ["random_state"],
        "n_jobs": N_JOBS,
    }

    spaces_: dict[str, LanguageSpace]
    projectors_: dict[str, Single]
    offsets_: dict[str, Single]
    strengths_: Array

    n_components: int
    power: float
    drop_first: int
    normalise: bool
    scheme: Scheme
    min_df: int
    drop_top: int
    max_features: int | None
    n_jobs: int | None

    def fit(self, corpus: Corpus, y: object = None) -> Self:
        """Learn the common space from a comparable corpus.

        Parameters
        ----------
        corpus : Corpus
            Documents in several languages, one row per subject; any language may be missing.
        y : None
            Not used.
        """
        self._learn_words(corpus)
        self._keep(self._solve(self._documents(corpus)))
        return self

    def _learn_words(self, corpus: Corpus) -> None:
        """Words and weights of every language."""
        self._check_fit(corpus)
        self.spaces_ = {language: self._space(corpus, language) for language in corpus.languages}

    def _documents(self, corpus: Corpus) -> Any:
        """The weighted documents of all languages, in the form that ``_solve`` wants."""
        return weighted_views(corpus, self.spaces_)

    @abstractmethod
    def _solve(self, documents: Any) -> FittedDirections:
        """Find directions from the weighted documents of all languages."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages of a fitted model."""
        check_is_fitted(self)
        return tuple(self.projectors_)

    @property
    def words(self) -> DocumentModel:
        """The model itself."""
        return self

    def project(self, texts: Iterable[str], lang: str) -> Single:
        """Raw texts as points of the common space, one row for each.

        A text without a known word becomes a row of zeros, similar to nothing.

        Parameters
        ----------
        texts : iterable of str
            Texts of any length.
        lang : str
            Their language.
        """
        self._check_language(lang)
        return self.project_vectors(self.spaces_[lang].of_texts(texts, n_jobs=self.n_jobs), lang)

    def project_corpus(self, corpus: Corpus, lang: str) -> Single:
        """The documents that a corpus has in a language, one row for each line of its matrix."""
        self._check_language(lang)
        return self.project_vectors(self.spaces_[lang].of_corpus(corpus), lang)

    def project_vectors(self, X: Matrix, lang: str) -> Single:
        """Weighted counts of words, as ``spaces_[lang]`` makes them, to points of the common space."""
        self._check_language(lang)
        return project_weighted(X, self.projectors_[lang], self.offsets_[lang], lang, self.normalise)

    def strongest_words(
        self, lang: str, components: Sequence[int], n: int
    ) -> list[tuple[WordPulls, WordPulls]]:
        """The words that move documents most towards either end of each of some components, and how far.

        A word counts as much as a document that holds only this word would move: its weight in the projector
        times its weight in documents.
        """
        self._check_language(lang)
        space = self.spaces_[lang]
        pulls = np.asarray(
            self.projectors_[lang][:, components] * space.weighting.idf_[:, None], dtype=np.float64
        )
        words = space.vocabulary.words
        return [(_strongest(pull, words, n), _strongest(-pull, words, n)) for pull in pulls.T]

    def similarity(self, lang_a: str, lang_b: str) -> ProxyMatrix:
        """The bilinear form that compares documents of two languages, known by its factors."""
        for lang in (lang_a, lang_b):
            self._check_language(lang)
        words = [self.spaces_[lang].vocabulary.words for lang in (lang_a, lang_b)]
        return ProxyMatrix(lang_a, lang_b, self.projectors_[lang_a], self.projectors_[lang_b], *words)

    def _space(self, corpus: Corpus, language: str) -> LanguageSpace:
        return LanguageSpace.learn(
            corpus,
            language,
            scheme=self.scheme,
            min_df=self.min_df,
            drop_top=self.drop_top,
            max_features=self.max_features,
        )

    def _keep(self, solution: FittedDirections) -> None:
        """Store what projects: directions with the weights of components in them, in single precision."""
        if self.drop_first >= len(solution.strengths):
            raise ValueError(
                f"drop_first={self.drop_first} leaves none of the {len(solution.strengths)} components that "
                "were found; lower it"
            )
        self.strengths_ = solution.strengths
        self.projectors_, self.offsets_ = {}, {}
        for language in list(solution.directions):
            self._keep_language(language, solution.directions.pop(language), solution.means[language])

    def _keep_language(self, language: str, directions: Array, mean: Array) -> None:
        self.projectors_[language], self.offsets_[language] = self._projection(directions, mean)

    def _projection(self, directions: Array, mean: Array) -> tuple[Single, Single]:
        """``W D`` of the formula above, and where it takes the mean."""
        projector = (directions * component_weights(self.strengths_, self.power))[:, self.drop_first :]
        return projector.astype(np.float32), (mean @ projector).astype(np.float32)

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.drop_first >= self.n_components:
            raise ValueError(
                f"drop_first={self.drop_first}; expected less than n_components={self.n_components}"
            )

    def _check_fit(self, corpus: Corpus) -> None:
        """Refuse parameters, or a corpus, that the model cannot be fitted with."""
        self._validate_params()
        if len(corpus.languages) < 2:
            raise ValueError(f"the corpus has one language ({corpus.languages[0]}); expected two or more")
        for language, documents in zip(corpus.languages, corpus.presence.sum(axis=0), strict=True):
            if documents < 2:
                raise ValueError(f"{documents} documents in {language!r}; expected at least 2: leave it out")

    def _check_language(self, lang: str) -> None:
        if lang in getattr(self, "projectors_", ()):
            return
        check_is_fitted(self)
        if lang not in self.projectors_:
            known = ", ".join(self.projectors_)
            raise ValueError(f"the model does not know the language {lang!r}; it has {known}")


def project_weighted(X: Matrix, projector: Any, offset: Single, lang: str, normalise: bool) -> Single:
    """Project weighted documents of a language by a matrix, or by what takes its place in a product."""
    words, width = projector.shape
    if X.shape[1] != words:
        raise ValueError(f"vectors of {X.shape[1]} words; the model has {words} in {lang!r}")
    out = np.empty((X.shape[0], width), dtype=np.float32)
    for start in range(0, X.shape[0], _BLOCK_DOCUMENTS):
        part = X if X.shape[0] <= _BLOCK_DOCUMENTS else X[start : start + _BLOCK_DOCUMENTS]
        known = np.diff(part.indptr)[:, None] > 0
        out[start : start + _BLOCK_DOCUMENTS] = np.where(known, part @ projector - offset, np.float32(0))
    return unit_rows(out) if normalise else out


def _strongest(pull: Array, words: Sequence[str], n: int) -> WordPulls:
    best = np.argsort(-pull, kind="stable")[:n]
    return [(words[word], round(float(pull[word]), 6)) for word in best.tolist() if pull[word] > 0]


def component_weights(strengths: Array, power: float) -> Array:
    """Return the weight of each component on either side; zero where nothing was found."""
    found = strengths > 0
    return np.where(found, np.where(found, strengths, 1.0) ** (power / 2), 0.0)


def unit_rows(X: Single) -> Single:
    """Rows scaled to length one; rows of zeros stay."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.where(lengths > 0, lengths, 1), dtype=X.dtype)
