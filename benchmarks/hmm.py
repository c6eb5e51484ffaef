"""Baum-Welch on 4,000 sequences of 50 symbols, 16 states, 500 symbols, 5 passes: ours and hmmlearn's.

Both start from the same probabilities; hmmlearn uses its faster ("scaling") implementation. Accuracy is the
log-likelihood of the sequences after the passes. The details hold the difference of the log-likelihoods at
the start, relative, and the ratio for other shapes: few states, many states, one long sequence.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Result, compare, need
from isogloss.graphical import Sequences
from isogloss.sequences import DiscreteHMM

PASSES = 5
SHAPES = {
    "2 states, 2,000 x 50": (2, 6, 2_000, 50),
    "4 states, 10,000 x 10": (4, 50, 10_000, 10),
    "50 states, 500 x 50": (50, 1_000, 500, 50),
    "16 states, 1 x 50,000": (16, 100, 1, 50_000),
}


def main() -> Result:
    """Compare them."""
    peer = need("hmmlearn.hmm", package="hmmlearn")
    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    problem = Problem(peer, 16, 500, 4_000, 50)
    return compare(
        "hmm",
        ours=problem.ours,
        peer=problem.peers,
        peer_name="hmmlearn",
        accuracy=lambda hmm: float(hmm.score_samples(problem.text).sum()),
        accuracy_of_peer=lambda hmm: float(hmm.score(problem.column, problem.lengths)),
        repeats=3,
        details={"difference": problem.difference()}
        | {f"ratio, {name}": Problem(peer, *shape).ratio() for name, shape in SHAPES.items()}
        | {f"difference, {name}": Problem(peer, *shape).difference() for name, shape in SHAPES.items()},
    )


class Problem:
    """Random sequences, and a chain to start from."""

    def __init__(self, peer: Any, states: int, symbols: int, sequences: int, length: int) -> None:
        rng = np.random.default_rng(0)
        self.peer, self.symbols = peer, symbols
        self.start = rng.dirichlet(np.ones(states))
        self.transition = rng.dirichlet(np.ones(states), states)
        self.emission = rng.dirichlet(np.ones(symbols), states)
        self.lengths = [length] * sequences
        codes = rng.integers(0, symbols, sequences * length)
        self.column = codes[:, None]
        self.text = Sequences.from_lengths(codes, self.lengths)

    def ours(self, passes: int = PASSES) -> DiscreteHMM:
        """As many passes of ours."""
        known = {"start_init": self.start, "transition_init": self.transition, "emission_init": self.emission}
        hmm = DiscreteHMM(len(self.start), symbols=self.symbols, tol=-np.inf, max_iter=passes, **known)
        return hmm.fit(self.text)

    def peers(self, passes: int = PASSES) -> Any:
        """As many passes of theirs."""
        hmm = self.peer.CategoricalHMM(
            len(self.start), n_iter=passes, tol=-np.inf, init_params="", implementation="scaling"
        )
        hmm.startprob_, hmm.transmat_, hmm.emissionprob_ = self.start, self.transition, self.emission
        hmm.n_features = self.symbols
        return hmm.fit(self.column, self.lengths) if passes else hmm

    def difference(self) -> float:
        """Of the log-likelihoods under the same probabilities, relative to their size."""
        ours = float(self.ours(0).score_samples(self.text).sum())
        theirs = float(self.peers(0).score(self.column, self.lengths))
        return abs(ours - theirs) / abs(theirs)

    def ratio(self) -> float:
        """Least CPU seconds of three runs each, ours over the peer's."""
        self.ours(), self.peers()
        return min(_seconds(self.ours) for _ in range(3)) / min(_seconds(self.peers) for _ in range(3))


def _seconds(run: Callable[[], Any]) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began
