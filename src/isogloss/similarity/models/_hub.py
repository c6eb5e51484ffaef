r"""Hub CCA of documents: many languages, each tied to a hub language by the documents it shares with it.

:class:`~isogloss.multiview.HubCCA` on weighted counts of words (thesis, section 6.8), with two choices that
the thesis leaves open and retrieval depends on:

* a ridge in units of documents. A document of length one adds :math:`1/n` to the variance of its own
  direction, so directions that only one of n documents has look like signal of that size. The ridge is that
  number times ``ridge``;
* components weighted by the power of their correlation, root mean square over the other languages, because
  what the languages hardly agree on is noise at full length otherwise.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import NON_NEGATIVE, POSITIVE_INT, Constraints, StrOptions
from isogloss.corpora import Corpus
from isogloss.engine import Engine, EngineMixin
from isogloss.linalg import check_count
from isogloss.multiview import HubCCA
from isogloss.similarity.fitting import (
    FitPlan,
    Shards,
    Star,
    fit_consensus,
    fit_star,
    predict_fit,
    predict_sizes,
    scarce_directions,
    shards_of,
    shared_documents,
    weighted_views,
)
from isogloss.similarity.models._base import DocumentModel, FittedDirections
from isogloss.similarity.models._extra_views import ExtraView, ViewProjection, with_views
from isogloss.text import Scheme
from isogloss.views import Matrix

Array = NDArray[np.float64]
logger = logging.getLogger(__name__)

# Directions of step 1: few components want a choice too, and many more cost memory and overfit.
_DIRECTIONS = 500
# With fewer documents than components only a ridge keeps the directions of a language from fitting them all.
_LEAST_RIDGE = 0.1


class HubSimilarity(EngineMixin, DocumentModel):
    """Documents of many languages in one space, from a corpus in which most rows have the hub language.

    Parameters
    ----------
    n_components : int
        Dimensions of the common space. With ``agreement="hub"`` it has fewer, and a warning says so, if a
        language has fewer directions in common with the hub.
    hub : str or None
        The language that others share documents with; the one with most documents by default.
    agreement : {'all', 'hub'}
        What components are to agree with: all languages (``fitting/_consensus.py``), or the hub,
        as in the thesis.
    ridge : float
        Shrinkage in documents: see above.
    n_directions : int or None
        Directions of each language that step 1 keeps; by default 500, or the components when they are more.
    power, drop_first, normalise, scheme, min_df, drop_top, max_features
        See :class:`DocumentModel`.
    batch_rows : int or None
        Rows that are read and weighted at a time, anew in every pass, for a corpus larger than memory; by
        default documents of all rows are kept. Memory: see :meth:`plan_fit`.
    random_state : int, RandomState or None
        Seed of the randomised SVD.
    engine : Engine or None
        Where the sums of a fit run, for example :class:`~isogloss.engine.dask.DaskEngine`, with blocks of
        ``batch_rows``; threads of this process by default.
    n_jobs : int or None
        Processes that read text and threads over blocks; -1 for all cores.

    Attributes
    ----------
    spaces_, projectors_, offsets_, strengths_
        See :class:`DocumentModel`; strengths are correlations with the hub, root mean square over languages.
    hub_ : str
        The hub language.
    shared_ : dict of str to int
        Documents that each language shares with the hub.
    anchor_ : HubCCA
        The hub alone, to which :meth:`add_language` ties more languages.

    Notes
    -----
    A language that shares no more documents with the hub than there are components gets its directions from
    all of its words instead of a few directions (:mod:`~isogloss.similarity.fitting._scarce`).

    Blocks and engines change the order of sums and nothing else: cosines of projected documents agree with
    those of a fit in memory to about 1e-5.

    Examples
    --------
    >>> from isogloss.corpora import InMemoryCorpus
    >>> from isogloss.text import Tokeniser
    >>> en = ["sun and sea", "sea and ship", "snow and sun", "ship and port", "snow and ice", "port and sea"]
    >>> de = ["sonne und meer", "meer und schiff", "schnee und sonne", "schiff und hafen", "schnee und eis",
    ...       "hafen und meer"]
    >>> corpus = InMemoryCorpus({"en": en, "de": de}, {code: Tokeniser(code) for code in ("en", "de")})
    >>> model = HubSimilarity(2, min_df=1, random_state=0).fit(corpus)
    >>> cosines = model.project(["sea and ship"], "en") @ model.project(["schiff im hafen", "eis"], "de").T
    >>> (cosines > 0.5).tolist()
    [[True, False]]
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **DocumentModel._parameter_constraints,
        "hub": [str, None],
        "agreement": [StrOptions({"all", "hub"})],
        "ridge": [NON_NEGATIVE],
        "n_directions": [POSITIVE_INT, None],
        "batch_rows": [POSITIVE_INT, None],
        "engine": [Engine, None],
    }

    hub_: str
    shared_: dict[str, int]
    anchor_: HubCCA

    def __init__(
        self,
        n_components: int = 500,
        *,
        hub: str | None = None,
        agreement: Literal["all", "hub"] = "all",
        ridge: float = 2.0,
        n_directions: int | None = None,
        power: float = 2.0,
        drop_first: int = 0,
        normalise: bool = True,
        scheme: Scheme = "bm25",
        min_df: int = 1,
        drop_top: int = 0,
        max_features: int | None = None,
        batch_rows: int | None = None,
        random_state: int | None = None,
        engine: Engine | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.hub = hub
        self.agreement = agreement
        self.ridge = ridge
        self.n_directions = n_directions
        self.power = power
        self.drop_first = drop_first
        self.normalise = normalise
        self.scheme = scheme
        self.min_df = min_df
        self.drop_top = drop_top
        self.max_features = max_features
        self.batch_rows = batch_rows
        self.random_state = random_state
        self.engine = engine
        self.n_jobs = n_jobs

    def plan_fit(self, corpus: Corpus) -> FitPlan:
        """Memory and time that :meth:`fit` will take on a corpus, from its sizes alone."""
        self._check_fit(corpus)
        words = tuple(len(self._space(corpus, name).vocabulary) for name in corpus.languages)
        entries = sum(int(corpus.matrix(name).nnz) for name in corpus.languages)
        hub = corpus.languages.index(_find_hub(corpus.languages, corpus.presence, self.hub))
        rows = corpus.presence.sum(axis=0).tolist()
        blocks = 1 if self.batch_rows is None else -(-len(corpus) // self.batch_rows)
        sizes = (rows, words, entries, hub, self.n_components, self._directions())
        return predict_sizes(*sizes, n_blocks=blocks, agreement=self.agreement)

    def fit_with(self, corpus: Corpus, extra: Mapping[str, ExtraView]) -> dict[str, ViewProjection]:
        """Learn the common space from the words of a corpus and from other vectors of its rows.

        The hub is a language. The model is one of words alone, with what they learned from the others.

        Parameters
        ----------
        corpus : Corpus
            Documents in several languages, one row per subject; held in memory.
        extra : mapping of str to ExtraView
            More views by names that no language has.

        Returns
        -------
        dict of str to ViewProjection
            How vectors of each of these views are projected.
        """
        self._learn_words(corpus)
        solution = self._solve(with_views(self._documents(corpus), extra))
        others = {name: (solution.directions.pop(name), solution.means.pop(name)) for name in extra}
        self._keep(solution)
        for name in extra:
            del self.shared_[name]
        return {name: ViewProjection(*self._projection(*found)) for name, found in others.items()}

    def _documents(self, corpus: Corpus) -> Shards:
        return shards_of(corpus, self.spaces_, self.batch_rows, self.engine)

    def _solve(self, documents: Shards) -> FittedDirections:
        self.hub_ = _find_hub(tuple(self.spaces_), documents.present[:, : len(self.spaces_)], self.hub)
        self.shared_ = _shared_rows(documents.names, documents.present, self.hub_)
        if logger.isEnabledFor(logging.INFO):
            sizes = (documents, self.hub_, self.n_components, self._directions())
            logger.info("%s", predict_fit(*sizes, agreement=self.agreement))
        if self.agreement == "all":
            return self._with_all(documents)
        return self._with_hub(documents)

    def _with_all(self, documents: Shards) -> FittedDirections:
        rows = int((documents.present.sum(axis=1) > 1).sum())
        check_count(self.n_components, "n_components", 1, rows, f"{rows} rows have two languages or more")
        star = fit_consensus(documents, self.hub_, self.n_components, ridge=self.ridge, **self._effort())
        self.anchor_ = self._anchor(star)
        return FittedDirections(star.directions, star.means, star.eigenvalues)

    def _with_hub(self, documents: Shards) -> FittedDirections:
        plenty = [name for name in documents.names if self.shared_[name] > self._enough()]
        if plenty == [self.hub_]:
            raise ValueError(
                f"no language shares more than {self._enough()} documents with the hub {self.hub_!r} "
                f"({self.shared_}); n_components={self.n_components} needs more: lower it"
            )
        large = documents.only(plenty)
        star = fit_star(large, self.hub_, self.n_components, ridge=self._ridge(), **self._effort())
        self.anchor_ = self._anchor(star)
        directions, means = star.directions, star.means
        for name in documents.names:
            if name not in plenty:
                pair = shared_documents(documents, self.hub_, name)
                directions[name], means[name] = self._scarce(pair, name)
        strengths = np.sqrt(np.clip(star.eigenvalues / (len(plenty) - 1), 0.0, 1.0))
        return FittedDirections(directions, means, strengths)

    def add_language(self, lang: str, corpus: Corpus) -> Self:
        """Add a language by the documents it shares with the hub; the others stay as they are.

        Parameters
        ----------
        lang : str
            Code of the new language.
        corpus : Corpus
            Rows in the hub language and the new one; other languages are not looked at.
        """
        check_is_fitted(self)
        if lang in self.projectors_:
            raise ValueError(f"the model has {lang!r} already; the languages are {', '.join(self.languages)}")
        pair = corpus.select(languages=[self.hub_, lang])
        space = self._space(pair, lang)
        spaces = {self.hub_: self.spaces_[self.hub_], lang: space}
        views = weighted_views(pair, spaces)
        shared = _shared_rows(views.names, views.present, self.hub_)[lang]
        if shared > self._enough():
            grown = copy(self.anchor_).add_view(lang, views)
            directions, mean = grown.weights_[1], grown.means_[1]
        else:
            directions, mean = self._scarce(tuple(views.shared(0, 1)), lang)
        self.spaces_[lang], self.shared_[lang] = space, shared
        self._keep_language(lang, directions * self._scale(), mean)
        return self

    def _scale(self) -> Array:
        """Deviations of the hub's components: what directions of unit variance lack to be like the others."""
        if self.agreement == "hub":
            return np.ones(len(self.strengths_))
        coefficients = self.anchor_.bases_[0].T @ self.anchor_.weights_[0]
        variances = np.einsum(
            "ic,ij,jc->c", coefficients, self.anchor_.hub_covariance_, coefficients, optimize=True
        )
        return np.asarray(np.sqrt(np.maximum(variances, 0.0)))

    def _enough(self) -> int:
        """Shared documents above which a language takes part in the fit itself."""
        return self.n_components

    def _directions(self) -> int:
        if self.n_directions is not None:
            return self.n_directions
        return max(self.n_components, _DIRECTIONS)

    def _ridge(self) -> float:
        return min(1.0, self.ridge / self.shared_[self.hub_])

    def _effort(self) -> dict[str, Any]:
        return {
            "n_directions": self._directions(),
            "random_state": self.random_state,
            "engine": self._engine(),
        }

    def _anchor(self, star: Star) -> HubCCA:
        """The hub as a hub CCA without other views, which is all that more views need."""
        found = len(star.eigenvalues)
        hub = HubCCA(found, n_directions=self._directions(), ridge=self._ridge(), n_jobs=self.n_jobs)
        hub.hub_, hub.view_names_, hub.dims_ = 0, (self.hub_,), (len(star.basis),)
        hub.weights_, hub.means_ = [star.directions[self.hub_]], [star.means[self.hub_]]
        hub.bases_, hub.hub_covariance_ = [star.basis], star.covariance
        hub.counts_, hub.shrinkage_ = np.array([[self.shared_[self.hub_]]]), np.zeros(1)
        hub.correlations_ = np.ones((found, 1, 1))
        hub.eigenvalues_ = star.eigenvalues
        return hub

    def _scarce(self, pair: tuple[Matrix, ...], name: str) -> tuple[Array, Array]:
        """Directions and mean of a language with few documents, from the rows that it shares with the hub."""
        hub, new = pair
        logger.info("%r shares %d documents with the hub: directions from all words", name, new.shape[0])
        targets = self.anchor_.transform_view(hub, 0)
        return scarce_directions(new, targets, ridge=max(self.ridge, _LEAST_RIDGE))


class CCASimilarity(HubSimilarity):
    """Canonical correlation analysis of a pair of languages (thesis, section 6.7).

    With one language beside the hub the problem of hub CCA is that of CCA, so this is
    :class:`HubSimilarity` for exactly two languages, with the same parameters and attributes.

    Examples
    --------
    >>> CCASimilarity(100).get_params()["ridge"]
    2.0
    """

    def _solve(self, documents: Shards) -> FittedDirections:
        if len(documents.names) != 2:
            raise ValueError(
                f"CCA compares two languages and the corpus has {', '.join(documents.names)}; choose two "
                "with corpus.select(languages=[...]), or use HubSimilarity"
            )
        return super()._solve(documents)


def _find_hub(names: Sequence[str], present: NDArray[np.bool_], hub: str | None) -> str:
    if hub is None:
        return names[int(present.sum(axis=0).argmax())]
    if hub not in names:
        raise ValueError(f"hub={hub!r} is not a language of the corpus; it has {', '.join(names)}")
    return hub


def _shared_rows(names: Sequence[str], present: NDArray[np.bool_], hub: str) -> dict[str, int]:
    """Rows that each language has together with the hub; for the hub, its own."""
    together = present & present[:, [names.index(hub)]]
    shared = dict(zip(names, together.sum(axis=0).tolist(), strict=True))
    for name, rows in shared.items():
        if rows < 2:
            raise ValueError(
                f"{name!r} shares {rows} documents with the hub {hub!r}; expected at least 2: "
                "choose another hub, or leave the language out"
            )
    return shared
