r"""Learning the probabilities of a network: counts when nothing is hidden, EM when something is.

.. math:: \theta_{v, c, s} = \frac{n(c, s) + \alpha}{\sum_{s'} n(c, s') + \alpha}

for state :math:`s` of variable :math:`v` in configuration :math:`c` of its parents, with
:math:`n` the counts, or their expectations under the current parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from isogloss._estimator import NON_NEGATIVE, POSITIVE_INT, Constraints, Estimator
from isogloss.em import EM_CONSTRAINTS, Callback, EMMixin, EMResult, FullExpectation, OnDecrease, best_of
from isogloss.engine import BatchesMixin, Engine, Source
from isogloss.graphical._rows import Codes, encode
from isogloss.graphical._structure import Graph
from isogloss.graphical.inference import Inference, Relevance
from isogloss.graphical.learning._em_steps import Collapsed, NetworkParameters, collapse, network_model
from isogloss.graphical.learning._family_counts import FamilyCounts
from isogloss.graphical.learning._layout import Layout
from isogloss.graphical.network import BayesianNetwork

Array = NDArray[np.float64]


class NetworkLearner(EMMixin, BatchesMixin, Estimator):
    r"""Learn the conditional probabilities of a given graph from rows.

    Complete rows are counted. Rows with missing cells, and variables that no row observes, are learned by EM:
    expected counts come from exact inference, over distinct cases of what the hidden variables touch.

    Parameters
    ----------
    structure : Structure or BayesianNetwork
        The graph, hidden variables and their states included. Of a network only the graph is used, unless
        ``warm_start``.
    smoothing : float
        Added to every count (a symmetric Dirichlet prior): 0 is maximum likelihood, 1 is Laplace's rule.
    hidden : sequence of str
        Variables to treat as never observed, whatever the rows hold. Columns that rows lack are hidden as
        well, without being named here.
    n_init : int
        EM starts; the one with the highest bound is kept.
    tol : float
        Smallest gain of the bound per row and step worth another step.
    max_iter : int
        Most EM steps.
    accelerate : bool
        SQUAREM extrapolation of the EM steps.
    on_decrease : {'raise', 'warn', 'revert'}
        What to do when the bound falls, which it cannot.
    warm_start : bool
        Begin EM at the probabilities of ``structure``, which is a network.
    random_state : int, RandomState or None
        For the starts.
    batch_rows : int
        Rows per batch.
    engine : Engine, optional
        Where the sums are taken; threads of this process by default.

    Attributes
    ----------
    network_ : BayesianNetwork
        The graph with the learned probabilities. A configuration of the parents that was never seen has a
        uniform distribution, or that of the start after EM.
    log_likelihood_ : float
        Of all rows, missing cells summed out.
    counts_ : FamilyCounts
        The counts, if all rows were complete.
    trace_ : tuple of :class:`~isogloss.em.Iteration`
        What each EM step found; empty when there was nothing to iterate.
    converged_ : bool
        Whether EM reached the tolerance.
    n_iter_ : int
        EM steps of the best start.
    n_rows_ : int
        Rows seen.

    Notes
    -----
    Time of a step grows with the number of *distinct* cases, not of rows. With complete rows memory is the
    size of the tables; :meth:`partial_fit` takes in more rows, in any number of pieces, with the same result.

    Examples
    --------
    >>> from isogloss.graphical import Structure, Variable
    >>> rain, wet = Variable("rain", ["no", "yes"]), Variable("wet", ["no", "yes"])
    >>> graph = Structure([rain, wet], {"wet": ["rain"]})
    >>> rows = {"rain": ["no", "no", "yes", "yes", None], "wet": ["no", "no", "yes", "no", "yes"]}
    >>> learner = NetworkLearner(graph).fit(rows)
    >>> learner.network_.cpd("wet").values.round(3)
    array([[1.   , 0.   ],
           [0.333, 0.667]])
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "structure": [Graph],
        "smoothing": [NON_NEGATIVE],
        "hidden": [list, tuple, set, frozenset],
        "n_init": [POSITIVE_INT],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "batch_rows": [POSITIVE_INT],
        "engine": [Engine, None],
        **EM_CONSTRAINTS,
    }

    network_: BayesianNetwork
    counts_: FamilyCounts

    def __init__(
        self,
        structure: Graph,
        *,
        smoothing: float = 0.0,
        hidden: Sequence[str] = (),
        n_init: int = 1,
        tol: float = 1e-6,
        max_iter: int = 1000,
        accelerate: bool = False,
        on_decrease: OnDecrease = "raise",
        warm_start: bool = False,
        random_state: Any = None,
        batch_rows: int = 65_536,
        engine: Engine | None = None,
    ) -> None:
        self.structure = structure
        self.smoothing = smoothing
        self.hidden = hidden
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.accelerate = accelerate
        self.on_decrease = on_decrease
        self.warm_start = warm_start
        self.random_state = random_state
        self.batch_rows = batch_rows
        self.engine = engine

    def fit(self, rows: Any, y: Any = None, *, callbacks: Iterable[Callback] = ()) -> Self:
        """Learn from rows.

        Parameters
        ----------
        rows : list of dicts, dict of columns, DataFrame, array of codes, or Source
            What :func:`~isogloss.graphical.encode` takes, or a source of batches of such rows.
        y : None
            Not used.
        callbacks : iterable of callables
            Called as ``callback(iteration, parameters)`` after every E-step; a true answer stops.
        """
        self._validate_params()
        engine, layout = self._engine(), Layout.of(self.structure)
        encoded = self._encoded(checked=not isinstance(rows, Source))
        source = engine.persist(self._source(rows))
        counts = engine.map_reduce(partial(_count_complete, encoded), _merge_complete, source, layout)
        if counts is not None:
            return self._take_counts(counts)
        relevance = Relevance(self.structure)
        collapsed = engine.map(partial(_collapse, encoded), source, layout, relevance)
        return self._take(best_of(self._climbs(collapsed, layout, relevance, tuple(callbacks))))

    def partial_fit(self, rows: Any, y: Any = None) -> Self:
        """Add complete rows to those seen so far.

        Expected counts of rows seen under old parameters do not add to those under new ones, so rows with
        missing cells are refused: give :meth:`fit` a source of all batches instead.
        """
        self._validate_params()
        counts = self.counts_ if hasattr(self, "counts_") else FamilyCounts(self.structure)
        return self._take_counts(counts.update(self._encoded()(rows)))

    def score(self, rows: Any, y: Any = None) -> float:
        """Mean log-likelihood of rows; cells of ``hidden`` variables are summed out."""
        check_is_fitted(self, "network_")
        return float(Inference(self.network_).log_likelihood(self._encoded()(rows)).mean())

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.warm_start and not isinstance(self.structure, BayesianNetwork):
            raise TypeError("warm_start=True begins at the probabilities of a network; structure has none")

    def _encoded(self, *, checked: bool = False) -> _Encoded:
        hidden = tuple(self.structure.index(name) for name in self.hidden)
        return _Encoded(None if checked else self.structure, hidden)

    def _source(self, rows: Any) -> Source[Any]:
        if isinstance(rows, Source):
            return rows
        codes = encode(self.structure, rows)
        if not len(codes):
            raise ValueError("there are no rows; expected at least one")
        return self._batches(codes)

    def _climbs(
        self,
        collapsed: Source[Collapsed],
        layout: Layout,
        relevance: Relevance,
        callbacks: tuple[Callback, ...],
    ) -> Iterator[EMResult[NetworkParameters]]:
        """EM from every start."""
        engine = self._engine()
        model = network_model(layout, relevance, self.smoothing)
        known = engine.map_reduce(_known_counts, np.add, collapsed)
        rng = check_random_state(self.random_state)
        for number in range(1 if self.warm_start else self.n_init):
            start = self._start(layout, known, rng, number)
            yield self._run_em(model, FullExpectation(model, collapsed, engine), start, callbacks)

    def _start(
        self, layout: Layout, known: Array, rng: np.random.RandomState, number: int
    ) -> NetworkParameters:
        """Frequencies of what was observed, at random where nothing was; later starts are about them."""
        if self.warm_start and isinstance(self.structure, BayesianNetwork):
            return NetworkParameters(layout.vector([cpd.values for cpd in self.structure.cpds]))
        totals = layout.totals(known)
        noise = rng.standard_exponential(layout.size)
        weight = np.where(totals > 0, 0.0 if number == 0 else 0.2 * totals, 1.0)
        return NetworkParameters(layout.normalise(known + np.where(totals > 0, 1.0, 0.0) + weight * noise))

    def _take_counts(self, counts: FamilyCounts) -> Self:
        vector = counts.vector.astype(np.float64)
        theta = counts.layout.normalise(vector + self.smoothing)
        used = vector > 0
        self.counts_, self.n_rows_ = counts, counts.rows
        self.log_likelihood_ = float(vector[used] @ np.log(theta[used]))
        self.trace_, self.converged_, self.n_iter_ = (), True, 0
        self.network_ = counts.layout.network(self.structure, theta)
        return self

    def _take(self, result: EMResult[NetworkParameters]) -> Self:
        layout = Layout.of(self.structure)
        self.__dict__.pop("counts_", None)
        self.network_ = layout.network(self.structure, layout.normalise(result.parameters.theta))
        self.n_rows_ = int(result.statistic.rows)
        self.log_likelihood_ = float(result.statistic.log_likelihood or 0.0)
        self._keep_trace(result)
        return self


class _Encoded:
    """Rows as codes, with hidden variables left out; rows that are codes already need no graph."""

    def __init__(self, graph: Graph | None, hidden: tuple[int, ...]) -> None:
        self.graph, self.hidden = graph, hidden

    def __call__(self, rows: Any) -> Codes:
        codes: Codes = rows if self.graph is None else encode(self.graph, rows)
        if not self.hidden:
            return codes
        codes = codes.copy()
        codes[:, self.hidden] = -1
        return codes


def _count_complete(encoded: _Encoded, batch: Any, layout: Layout) -> FamilyCounts | None:
    """Counts of complete rows; None if a cell is missing."""
    codes = encoded(batch)
    return None if codes.size and codes.min() < 0 else FamilyCounts(layout).update(codes)


def _merge_complete(left: FamilyCounts | None, right: FamilyCounts | None) -> FamilyCounts | None:
    return None if left is None or right is None else left.merge(right)


def _collapse(encoded: _Encoded, batch: Any, layout: Layout, relevance: Relevance) -> Collapsed:
    return collapse(encoded(batch), layout, relevance)


def _known_counts(batch: Collapsed) -> Array:
    return batch.known.copy()
