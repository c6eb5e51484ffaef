"""The alignment models as steps for the one EM loop, both directions at once.

The bound of two directions that train on their own is the sum of theirs, and never falls. Under agreement
each direction's counts are those on which the other one agrees; that is no longer EM of any one likelihood,
so the trace then shows the likelihood of both directions and may fall a little.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment.models._jumps import first_jumps, jump_shape, log_prior, solve_jumps
from isogloss.alignment.models._lexical import (
    NULL_PSEUDO,
    LexicalPrior,
    null_lexicon,
    solve_lexicon,
    uniform_lexicon,
)
from isogloss.alignment.models._pairs import IndexedBitext, PairTable
from isogloss.alignment.models._positions import PositionLayout
from isogloss.em import EMModel
from isogloss.kernels import expect_links
from isogloss.stats import ExpectedCounts

Array = NDArray[np.float64]
Single = NDArray[np.float32]

MODELS = {"1": 0, "2": 1, "diagonal": 1, "hmm": 2}
"""The models by name, and the kind of the compiled loop that runs each."""

TABLED = ("2", "diagonal")
"""Models with a table of positions."""

AGREEMENTS = {None: 0, "product": 1, "mutual": 2}
"""Kinds of agreement between the directions, and their numbers in the kernel."""

VALUES_PER_BLOCK = 1 << 16
"""Numbers whose logarithms are taken at a time."""

DIRECTIONS = ("forward", "backward")


@dataclasses.dataclass(frozen=True)
class TrainingSettings:
    """Everything that stays fixed while one model is trained."""

    model: str = "hmm"
    """The model of positions: 1, 2, diagonal or hmm."""
    agreement: str | None = None
    """Directions on their own; counts that are products of posteriors; or each direction read again with
    its links weighed by the other's posterior.
    """
    null: float | None = 0.1
    """Chance that a word comes from nothing; None makes NULL one more position (Model 1 only)."""
    uniform: float = 0.1
    """Share of jumps to anywhere, in the HMM."""
    jump_pseudo: float = 1.0
    """Pseudo-jumps per class, spread like the first guess."""
    lexical: LexicalPrior = dataclasses.field(default_factory=LexicalPrior)
    """Pseudo-counts of the lexicon."""
    threads: int = 1
    """Threads of the compiled loop; the result does not depend on them."""
    pseudo_jumps: tuple[Array, Array] | None = None
    """Pseudo-jumps forward and backward, by class and width, instead of ``jump_pseudo``."""
    interpolate: float = 0.0
    """Share of the old lexicon in the new one. The bound never falls for it: it is concave in the lexicon,
    so on the way from the old one to the best one it only rises.
    """

    @property
    def null_pseudo(self) -> float:
        """Pseudo-count of every word that may come from nothing; none for Model 1 as first described."""
        return 0.0 if self.null is None and self.agreement is None else NULL_PSEUDO

    def numbers(self) -> tuple[int, int, float, float]:
        """Return the arguments of the kernel."""
        null = -1.0 if self.null is None else self.null
        return MODELS[self.model], AGREEMENTS[self.agreement], null, self.uniform

    def jumps_before(self, direction: int, reach: int) -> Array:
        """The pseudo-jumps of one direction."""
        if self.pseudo_jumps is None:
            return self.jump_pseudo * jump_shape(reach)
        return self.pseudo_jumps[direction]


@dataclasses.dataclass(frozen=True)
class AlignmentParameters:
    """Lexica, jumps and position tables of both directions.

    ``lexicon`` has a row per pair of the table and a column per direction. Jumps have a row per word class
    and one for the start. What a model does not use stays as it was and is there for the next one.
    """

    lexicon: Single
    null_forward: Single
    null_backward: Single
    jumps_forward: Array
    jumps_backward: Array
    table_forward: Single
    table_backward: Single
    tension: Array
    posterior: Array


def start(
    table: PairTable, layout: PositionLayout | None, reach: int, classes: tuple[int, int]
) -> AlignmentParameters:
    """Parameters that know nothing: every pair alike, short steps forward, near the diagonal."""
    none = np.empty(0, dtype=np.float32)
    tables = (none, none) if layout is None else layout.uniform()
    return AlignmentParameters(
        lexicon=uniform_lexicon(table),
        null_forward=np.full(table.shape[1], 1 / max(table.shape[1], 1), dtype=np.float32),
        null_backward=np.full(table.shape[0], 1 / max(table.shape[0], 1), dtype=np.float32),
        jumps_forward=first_jumps(classes[0], reach),
        jumps_backward=first_jumps(classes[1], reach),
        table_forward=tables[0],
        table_backward=tables[1],
        tension=np.full(2, 4.0),
        posterior=np.empty((0, 2)),
    )


def alignment_model(
    settings: TrainingSettings,
    table: PairTable,
    classes: tuple[NDArray[np.int32], NDArray[np.int32]],
    layout: PositionLayout | None = None,
) -> EMModel[AlignmentParameters]:
    """The steps of one model over a pair table; ``classes`` are those of source and of target words."""
    return EMModel(
        expect=partial(expect, settings, classes),
        solve=partial(solve, settings, table, layout),
        expected_log_joint=partial(expected_log_joint, settings),
        log_prior=partial(_log_prior, settings, table) if settings.agreement is None else None,
        climbs=settings.agreement is None,
    )


def side(p: AlignmentParameters, direction: int, classes: NDArray[np.int32]) -> tuple[Any, ...]:
    """Return the arguments of the compiled loop for one direction."""
    name = DIRECTIONS[direction]
    jumps = np.ascontiguousarray(getattr(p, f"jumps_{name}"), dtype=np.float32)
    return getattr(p, f"null_{name}"), jumps, classes, getattr(p, f"table_{name}")


def expect(
    settings: TrainingSettings,
    classes: tuple[NDArray[np.int32], NDArray[np.int32]],
    batch: IndexedBitext,
    p: AlignmentParameters,
) -> ExpectedCounts:
    """The E-step of one stretch of text."""
    forward, backward = (side(p, d, classes[d]) for d in (0, 1))
    sums = _zero_sums(*forward), _zero_sums(*backward)
    counts = np.zeros((len(p.lexicon), 2))
    numbers = settings.numbers()
    for _, text in batch.blocks():
        expect_links(text, p.lexicon, numbers, forward, backward, *sums, settings.threads, counts)
    tables = {"links": counts}
    for name, one in zip(DIRECTIONS, sums, strict=True):
        tables |= {f"{kind}_{name}": values for kind, values in zip(SUMS, one, strict=True)}
    words = (batch.bitext.target.offsets[-1], batch.bitext.source.offsets[-1])
    tables["words"] = np.array(words, dtype=np.float64)
    likelihood = sum(float(one[4][4]) for one in sums)
    found = ExpectedCounts(tables, rows=float(sum(words)), entropy=0.0, log_likelihood=likelihood)
    if settings.agreement is None:
        found.entropy = likelihood - expected_log_joint(settings, found, p)
    return found


SUMS = ("null", "jumps", "reached", "table", "scalars")
"""Sums of the kernel per direction, in its order."""


def _zero_sums(null: Single, jumps: Single, _: Any, table: Single) -> tuple[Array, ...]:
    reached = (jumps.shape[0], jumps.shape[1] + 1)
    return np.zeros(len(null)), np.zeros(jumps.shape), np.zeros(reached), np.zeros(len(table)), np.zeros(6)


def solve(
    settings: TrainingSettings,
    table: PairTable,
    layout: PositionLayout | None,
    found: ExpectedCounts,
    p: AlignmentParameters,
) -> AlignmentParameters:
    """The M-step: lexica in full or part of the way, jumps by one tangent step, positions in full."""
    lexicon, posterior = solve_lexicon(table, found["links"], settings.lexical)
    if settings.interpolate:
        lexicon += np.float32(settings.interpolate) * (p.lexicon - lexicon)
    out = dataclasses.replace(
        p,
        lexicon=lexicon,
        posterior=posterior,
        null_forward=null_lexicon(found["null_forward"], settings.null_pseudo),
        null_backward=null_lexicon(found["null_backward"], settings.null_pseudo),
    )
    if settings.model == "hmm":
        forward, backward = (_solve_jumps(settings, found, p, d) for d in (0, 1))
        return dataclasses.replace(out, jumps_forward=forward, jumps_backward=backward)
    if settings.model == "1" or layout is None:
        return out
    counts = [found[f"table_{name}"] for name in DIRECTIONS]
    if settings.model == "2":
        tables = layout.solve_free(counts)
        return dataclasses.replace(out, table_forward=tables[0], table_backward=tables[1])
    tension = layout.solve_tension(counts, p.tension)
    tables = layout.diagonal(tension)
    return dataclasses.replace(out, tension=tension, table_forward=tables[0], table_backward=tables[1])


def _solve_jumps(
    settings: TrainingSettings, found: ExpectedCounts, p: AlignmentParameters, direction: int
) -> Array:
    name = DIRECTIONS[direction]
    weights: Array = getattr(p, f"jumps_{name}")
    pseudo = settings.jumps_before(direction, weights.shape[1] // 2)
    return solve_jumps(found[f"jumps_{name}"], found[f"reached_{name}"], weights, pseudo)


def expected_log_joint(settings: TrainingSettings, found: ExpectedCounts, p: AlignmentParameters) -> float:
    """Return the expected complete log-likelihood, from the sums alone.

    Under agreement the sums are not those of a posterior, and the log-likelihood stands in.
    """
    if settings.agreement is not None:
        return 0.0 if found.log_likelihood is None else found.log_likelihood
    total = _sum_xlogy(found["links"], p.lexicon)
    for d, name in enumerate(DIRECTIONS):
        jumped, log_norm, drifted, log_length, _, null = found[f"scalars_{name}"]
        total += _sum_xlogy(found[f"null_{name}"], getattr(p, f"null_{name}"))
        if settings.null is not None:
            total += _log(settings.null) * null + _log(1 - settings.null) * (found["words"][d] - null)
        if settings.model == "hmm":
            jumps = getattr(p, f"jumps_{name}").astype(np.float32)
            total += _sum_xlogy(found[f"jumps_{name}"], jumps) - log_norm - log_length
            total += _log(1 - settings.uniform) * jumped + _log(settings.uniform) * drifted
        elif settings.model == "1":
            total -= log_length
        else:
            total += _sum_xlogy(found[f"table_{name}"], getattr(p, f"table_{name}"))
    return total


def _log_prior(settings: TrainingSettings, table: PairTable, p: AlignmentParameters) -> float:
    lexical = settings.lexical
    out = lexical.log_density(table, p.lexicon, p.posterior)
    if settings.null_pseudo:
        out += settings.null_pseudo * float(np.log(p.null_forward).sum() + np.log(p.null_backward).sum())
    if settings.model == "hmm":
        for d, weights in enumerate((p.jumps_forward, p.jumps_backward)):
            out += log_prior(weights, settings.jumps_before(d, weights.shape[1] // 2))
    return out


def _sum_xlogy(x: Array, y: NDArray[Any]) -> float:
    """The sum of x log y, where x is 0 for every y that is, in stretches that stay near the processor."""
    x, y, total = x.ravel(), y.ravel(), 0.0
    for k in range(0, len(x), VALUES_PER_BLOCK):
        part = np.log(np.maximum(y[k : k + VALUES_PER_BLOCK], 1e-30), dtype=np.float64)
        total += float(np.multiply(part, x[k : k + VALUES_PER_BLOCK], out=part).sum())
    return total


def _log(value: float) -> float:
    return float(np.log(max(value, 1e-300)))
