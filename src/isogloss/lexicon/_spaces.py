r"""One space for the words of all languages.

A model maps every language's vectors to common coordinates; four are at hand, behind one interface
(``fit(views)``, ``transform_view(X, language)``):

===============  ==================================================================================
``procrustes``   rotations onto the first language
``cca``          canonical correlation analysis, two languages
``ibfa``         inter-battery factor analysis, two languages
``mbfa``         multi-battery factor analysis, any number; one latent vector explains a concept's
                 words in every language, and words may be missing
===============  ==================================================================================

**Weights.** Coordinates in which languages agree should count for more. Under a factor model the posterior
mean :math:`\hat z = \mathrm E[z|x_v]` has covariance :math:`R_v = I - \mathrm{Cov}[z|x_v]`, the reliability
of what one word tells about the concept. Projections are :math:`\hat z\bar R^{q}`, with :math:`\bar R` the
mean over languages and ``q`` the ``weighting``. For two languages :math:`R` holds the canonical
correlations :math:`\rho`, posterior means are variates times :math:`\rho^{1/2}`, and :math:`q = 1/2`
multiplies variates by :math:`\rho`, which is what ``cca`` does for the same ``q``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, clone

from isogloss.factor import InterBatteryFA, MultiBatteryFA
from isogloss.lexicon._concepts import RowKind, concept_table, concept_views, single_words
from isogloss.lexicon._dictionaries import BilingualDictionary
from isogloss.lexicon._procrustes import Procrustes
from isogloss.lexicon._smoothing import smoothed
from isogloss.lexicon.vectors import Normaliser, WordVectors, fit_normaliser
from isogloss.multiview import CCA
from isogloss.views import Views

Array = NDArray[np.float64]
MODELS = ("procrustes", "cca", "ibfa", "mbfa")
NORMALISE = ("unit", "centre", "unit")
WEIGHTING = 0.5
SMOOTHING, SMOOTHING_RANGE = 6.0, (0.2, 10.0)
"""Strength of the smoothing times pairs per dimension, and what it may be."""
MONOLINGUAL_SHARE, MAX_MONOLINGUAL = 0.5, 20_000
"""Words of each language that are rows of their own: a share of the number of pairs, at most this many."""
FACTOR_MODELS = (InterBatteryFA, MultiBatteryFA)


@dataclass(frozen=True)
class WordSpace:
    """A fitted model of several languages; made by :meth:`learn`, saved with :func:`isogloss.io.save`.

    Attributes
    ----------
    languages : tuple of str
    model : estimator
        Fitted; its views are the languages.
    normalisers : tuple of Normaliser
        What is done to the vectors of each language first.
    weight : array (components, components)
        Multiplies what the model gives.
    n_rows : int
        Number of concepts the model was fitted on.
    """

    languages: tuple[str, ...]
    model: Any
    normalisers: tuple[Normaliser, ...]
    weight: Array
    n_rows: int

    @classmethod
    def learn(
        cls,
        vectors: Mapping[str, WordVectors],
        dictionaries: Iterable[BilingualDictionary],
        model: str | BaseEstimator = "mbfa",
        *,
        n_components: int | None = None,
        rows: RowKind = "pairs",
        monolingual: int | None = None,
        smoothing: float | None = None,
        normalise: Sequence[str] = NORMALISE,
        weighting: float = WEIGHTING,
        exclude: Iterable[BilingualDictionary] = (),
    ) -> WordSpace:
        """Fit a model to the concepts of some dictionaries.

        Parameters
        ----------
        vectors : mapping from language to WordVectors
            Two languages or more.
        dictionaries : iterable of BilingualDictionary
            Between any of them.
        model : {'mbfa', 'ibfa', 'cca', 'procrustes'} or estimator
            An estimator with ``fit(views)`` and ``transform_view(X, name)`` is cloned and fitted.
        n_components : int, optional
            Dimensions of the space, for models given by name; by default as many as the narrowest
            vectors have dimensions, and no more than a fifth of the pairs.
        rows, exclude
            How dictionaries are joined, see :func:`~isogloss.lexicon.concept_table`.
        monolingual : int, optional
            How many words of each language are rows of their own for ``'mbfa'``, which learns from them how
            the language's vectors are spread; other models have no use for them. By default half as many as
            there are pairs: more of them outweigh what the pairs say.
        smoothing : float, optional
            Strength of the rows of noise (module ``_smoothing``); they do not move rotations.
            By default six times the dimensions of the narrowest vectors over the pairs that two languages
            have, between 0.2 and 10: the fewer pairs, the more of what agrees in them does so by chance.
        normalise : sequence of {'unit', 'centre'}
            Steps applied to the vectors first.
        weighting : float
            The power ``q`` of the reliability; 0 for plain posterior means. Not used by rotations.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(200, 5))
        >>> words = [f"w{i}" for i in range(200)]
        >>> en = WordVectors(words, x, "en")
        >>> it = WordVectors(words, x @ rng.normal(size=(5, 5)) + 0.1 * rng.normal(size=(200, 5)), "it")
        >>> seed = BilingualDictionary("en", "it", [(w, w) for w in words[:100]])
        >>> space = WordSpace.learn({"en": en, "it": it}, [seed], "ibfa", n_components=4)
        >>> space.project("it", it.matrix).shape
        (200, 4)
        """
        takes_gaps = isinstance(model, MultiBatteryFA) and not isinstance(model, InterBatteryFA)
        table = concept_table(vectors, dictionaries, rows=rows, exclude=exclude)
        if model == "mbfa" or takes_gaps:
            scaled = min(int(MONOLINGUAL_SHARE * len(table)), MAX_MONOLINGUAL)
            alone = scaled if monolingual is None else monolingual
            table = np.vstack([table, single_words(vectors, alone)])
        normalisers = tuple(fit_normaliser(one.matrix, normalise) for one in vectors.values())
        matrices = {name: n.apply(vectors[name].matrix) for name, n in zip(vectors, normalisers, strict=True)}
        strength = _smoothing(vectors, table) if smoothing is None else smoothing
        views = smoothed(concept_views(matrices, table), strength)
        if isinstance(model, str):
            model = make_model(model, views, n_components or _most_components(vectors, table))
        fitted: Any = clone(model).fit(views)
        return cls(tuple(vectors), fitted, normalisers, _weight(fitted, views.names, weighting), len(table))

    def project(self, language: str, X: Any) -> Array:
        """Vectors of words of a language, as they come from its file, in the common space."""
        if language not in self.languages:
            raise ValueError(f"no language {language!r}; the space has {', '.join(self.languages)}")
        normalised = self.normalisers[self.languages.index(language)].apply(X)
        return np.asarray(self.model.transform_view(normalised, language) @ self.weight)

    def place(self, vectors: Mapping[str, WordVectors]) -> dict[str, WordVectors]:
        """All words of some languages in the common space."""
        return {
            name: WordVectors(one.words, self.project(name, one.matrix), name)
            for name, one in vectors.items()
        }

    def covariance(self, source: str, target: str) -> Array:
        """Return the covariance of the difference between the projections of a word and its translation.

        The sum of the two posterior covariances, for the rule ``'density'``; factor models only.
        """
        if not isinstance(self.model, FACTOR_MODELS):
            raise ValueError(f"{type(self.model).__name__} has no posterior; use another rule than 'density'")
        total = self.model.posterior_covariance([source]) + self.model.posterior_covariance([target])
        return np.asarray(self.weight.T @ total @ self.weight)


def make_model(name: str, views: Views, n_components: int) -> Any:
    """An unfitted model for some views."""
    if name not in MODELS:
        raise ValueError(f"model={name!r}; expected an estimator or one of {', '.join(MODELS)}")
    if name == "procrustes":
        return Procrustes()
    if name != "mbfa" and views.n_views != 2:
        raise ValueError(f"{name!r} is for two languages, {views.n_views} were given; use 'mbfa'")
    if name == "cca":
        return CCA(n_components)
    family = InterBatteryFA if name == "ibfa" else MultiBatteryFA
    return family(n_components, keep_moments=False)


def _most_components(vectors: Mapping[str, WordVectors], table: NDArray[np.int64]) -> int:
    """Default number of components: the smallest dimension of the vectors, at most a fifth of the pairs."""
    pairs = int(((table >= 0).sum(axis=1) > 1).sum())
    return max(1, min(pairs // 5, *(one.dim for one in vectors.values())))


def _smoothing(vectors: Mapping[str, WordVectors], table: NDArray[np.int64]) -> float:
    """Strength for as many pairs as there are for a set of languages, in the mean over these sets."""
    joint = (table >= 0)[(table >= 0).sum(axis=1) > 1]
    pairs = len(joint) / max(1, len({row.tobytes() for row in joint}))
    dim = min(one.dim for one in vectors.values())
    return float(np.clip(SMOOTHING * dim / max(pairs, 1.0), *SMOOTHING_RANGE))


def _weight(model: Any, languages: Sequence[str], weighting: float) -> Array:
    if isinstance(model, CCA):
        return np.asarray(np.diag(np.clip(model.correlations_, 0.0, 1.0) ** (0.5 + weighting)))
    if isinstance(model, FACTOR_MODELS):
        covariances = [model.posterior_covariance([name]) for name in languages]
        return _power(np.eye(len(covariances[0])) - np.mean(covariances, axis=0), weighting)
    width = model.transform_view(np.zeros((1, model.dims_[0])), 0).shape[1]
    return np.eye(width)


def _power(matrix: Array, exponent: float) -> Array:
    values, basis = eigh((matrix + matrix.T) / 2)
    return np.asarray((basis * np.maximum(values, 0.0) ** exponent) @ basis.T)
