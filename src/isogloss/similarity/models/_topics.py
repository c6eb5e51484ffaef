r"""Topic proportions of documents, from the polylingual topic model.

.. math:: \mathrm{sim}(d, e) = \sum_k \sqrt{\theta_{dk} \theta_{ek}}

with the proportions :math:`\theta_d` of topics in a document under topics that all languages share
(:class:`~isogloss.topics.PolylingualTopicModel`): one less the square of the Hellinger distance. Unlike the
other models this one is not linear: the proportions of a document are those that explain all its words
together.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from isogloss._estimator import POSITIVE_INT, Constraints, StrOptions
from isogloss.corpora import Corpus
from isogloss.engine import ENGINE_CONSTRAINTS, Engine
from isogloss.similarity.fitting import LanguageSpace
from isogloss.similarity.models._base import DocumentModel, FittedDirections, unit_rows
from isogloss.topics import PolylingualTopicModel
from isogloss.views import Matrix, Views

Single = NDArray[np.float32]


class TopicSimilarity(DocumentModel):
    """Documents as mixtures of topics that all languages share.

    Parameters
    ----------
    n_components : int
        Topics, and dimensions of the common space.
    geometry : {'hellinger', 'cosine'}
        Whether inner products are of the roots of proportions, or of proportions with length one.
    learning_method : {'gibbs', 'batch', 'online', 'map'}
        See :class:`~isogloss.topics.LatentDirichletAllocation`; 'map' is joint PLSA.
    max_iter : int
        Most sweeps over the documents.
    min_df, drop_top, max_features
        Which words count, see :class:`DocumentModel`.
    random_state : int, RandomState or None
        Seed of the start and of the draws.
    batch_rows : int
        Rows of a batch; the sampler's result depends on it.
    engine : Engine or None
        Where the sums over batches run; threads of this process by default.
    n_jobs : int or None
        Processes that read text, and threads over batches.

    Attributes
    ----------
    topic_model_ : PolylingualTopicModel
        The fitted topics, the most frequent ones first.
    spaces_ : dict of str to LanguageSpace
        Words of each language, unweighted.
    projectors_ : dict of str to float32 array (words x topics)
        Probabilities of words in topics.
    offsets_ : dict of str to float32 array (topics,)
        Zeros.
    strengths_ : array (topics,)
        Expected shares of topics in a document, divided by the first.

    Examples
    --------
    >>> TopicSimilarity(50).get_params()["geometry"]
    'hellinger'
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_components": [POSITIVE_INT],
        "geometry": [StrOptions({"hellinger", "cosine"})],
        "learning_method": PolylingualTopicModel._parameter_constraints["learning_method"],
        "max_iter": PolylingualTopicModel._parameter_constraints["max_iter"],
        **{
            name: DocumentModel._parameter_constraints[name]
            for name in ("min_df", "drop_top", "max_features")
        },
        "random_state": ["random_state"],
        **ENGINE_CONSTRAINTS,
    }

    power, drop_first, normalise = 0.0, 0, True
    topic_model_: PolylingualTopicModel

    def __init__(
        self,
        n_components: int = 200,
        *,
        geometry: str = "hellinger",
        learning_method: str = "gibbs",
        max_iter: int = 200,
        min_df: int = 1,
        drop_top: int = 0,
        max_features: int | None = None,
        random_state: int | None = None,
        batch_rows: int = 32_768,
        engine: Engine | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.geometry = geometry
        self.learning_method = learning_method
        self.max_iter = max_iter
        self.min_df = min_df
        self.drop_top = drop_top
        self.max_features = max_features
        self.random_state = random_state
        self.batch_rows = batch_rows
        self.engine = engine
        self.n_jobs = n_jobs

    def _space(self, corpus: Corpus, language: str) -> LanguageSpace:
        return LanguageSpace.learn(
            corpus,
            language,
            scheme="counts",
            norm=None,
            min_df=self.min_df,
            drop_top=self.drop_top,
            max_features=self.max_features,
        )

    def _solve(self, documents: Views) -> FittedDirections:
        model = PolylingualTopicModel(
            self.n_components,
            learning_method=self.learning_method,
            max_iter=self.max_iter,
            random_state=self.random_state,
            batch_rows=self.batch_rows,
            engine=self.engine,
            n_jobs=self.n_jobs,
        ).fit(documents)
        p = model.parameters_
        shares = model.transform(documents).mean(axis=0)
        order = np.argsort(-shares, kind="stable")
        words = np.ascontiguousarray(p.words[:, order])
        model.parameters_ = replace(p, words=words, doc_prior=p.doc_prior[order])
        self.topic_model_ = model.set_params(engine=None)
        directions = {name: topics.T for name, topics in zip(documents.names, model.topics_, strict=True)}
        means = {name: np.zeros(len(words)) for name, words in directions.items()}
        return FittedDirections(directions, means, shares[order] / shares[order[0]])

    def project_vectors(self, X: Matrix, lang: str) -> Single:
        """Counts of words to the roots of proportions of topics; zeros for a document without words."""
        self._check_language(lang)
        if X.shape[1] != len(self.projectors_[lang]):
            raise ValueError(
                f"vectors of {X.shape[1]} words; the model has {len(self.projectors_[lang])} in {lang!r}"
            )
        out = np.zeros((X.shape[0], self.n_components), dtype=np.float32)
        known = np.flatnonzero(np.diff(X.indptr))
        if len(known):
            theta = self.topic_model_.transform_view(X[known], lang)
            out[known] = (
                np.sqrt(theta) if self.geometry == "hellinger" else unit_rows(theta.astype(np.float32))
            )
        return out
