r"""IBM Models 3, 4 and 5 as steps for the one EM loop, both directions at once.

A word :math:`e_i` has a fertility :math:`\phi_i`, the number of words it generates; NULL generates
:math:`\phi_0` more, one beside each of the others with probability :math:`p_1`:

.. math:: p(f, a \mid e) = \binom{J - \phi_0}{\phi_0} p_1^{\phi_0} (1 - p_1)^{J - 2 \phi_0}
          \prod_i n(\phi_i \mid e_i) \prod_j t(f_j \mid e_{a_j}) \; D(a),

where :math:`D` is the distortion: :math:`\prod_i \phi_i! \prod_{a_j > 0} d(j \mid a_j, I, J)` in Model 3, and
a product of displacements in Models 4 and 5 (module ``_distortion``). Equations (32), (46) and
(50) of Brown, Della Pietra, Della Pietra and Mercer (Computational Linguistics 19, 1993).

There are too many alignments to sum over. The E-step climbs from a given alignment to the best one that is
within reach of moves (of a word to another cept) and swaps (of two words), and sums over that one and
its neighbours. The trace shows the probability of these alignments, which is below the likelihood and may
fall a little. For very short sentences all alignments can be enumerated instead.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.alignment.models._distortion import even_displacements, solve_displacements, solve_places
from isogloss.alignment.models._lexical import LexicalPrior, null_lexicon, solve_lexicon
from isogloss.alignment.models._pairs import IndexedBitext, PairTable
from isogloss.alignment.models._positions import PositionLayout
from isogloss.alignment.models._steps import DIRECTIONS, AlignmentParameters
from isogloss.em import EMModel
from isogloss.kernels import expect_fertility
from isogloss.stats import ExpectedCounts

Array = NDArray[np.float64]
Single = NDArray[np.float32]
Indices = NDArray[np.int32]

FERTILITY_MODELS = {"3": 3, "4": 4, "5": 5}
"""The models by name, and the kind of the compiled loop that runs each."""

MODES = {"given": 0, "neighbours": 1, "all": 2}
"""Alignments that are summed over: the given one, a neighbourhood, or all there are."""

SUM_NAMES = ("null", "fertility", "places", "heads", "heads_reached", "others", "others_reached", "scalars")
"""Sums of the kernel per direction, in its order."""

MIN_PROBABILITY = 1e-12
"""Probabilities count as no smaller than this, so that every alignment can be compared."""


@dataclasses.dataclass(frozen=True)
class FertilitySettings:
    """Everything that stays fixed while one model is trained."""

    model: str = "4"
    search: str = "neighbours"
    """The alignments of the E-step."""
    null: float | None = None
    """The chance :math:`p_1` of a word from nothing; None learns it."""
    fertility_pseudo: float = 20.0
    distortion_pseudo: float = 25.0
    """Pseudo-counts per word and per context, spread like the average over all."""
    lexical: LexicalPrior = dataclasses.field(default_factory=LexicalPrior)
    """Pseudo-counts of the lexicon."""
    threads: int = 1
    """Threads of the compiled loop; the result does not depend on them."""
    before: Mapping[str, Array] = dataclasses.field(default_factory=dict)
    """Sums that another text has left, of any of the tables but ``links``, to be added to those of this
    one.
    """


@dataclasses.dataclass(frozen=True)
class FertilityParameters:
    """Lexicon, fertilities and distortion of both directions.

    What a model does not use stays as it was and is there for the next one. ``null_share`` holds
    :math:`p_1` forward and backward.
    """

    lexicon: Single
    null_forward: Single
    null_backward: Single
    fertility_forward: Array
    fertility_backward: Array
    places_forward: Array
    places_backward: Array
    heads_forward: Array
    heads_backward: Array
    others_forward: Array
    others_backward: Array
    null_share: Array


@dataclasses.dataclass(frozen=True)
class FertilityText:
    """A stretch of text, and the alignment of each direction from which to climb (-1 is NULL)."""

    text: IndexedBitext
    starts: tuple[Indices, Indices]


@dataclasses.dataclass(frozen=True)
class WordClasses:
    """Classes of source and of target words, and how many there are."""

    of: tuple[Indices, Indices]
    n: tuple[int, int]


def first_parameters(
    known: AlignmentParameters, table: PairTable, layout: PositionLayout, classes: WordClasses, most: int
) -> FertilityParameters:
    """The lexicon of a simpler model, and nothing known of fertilities and distortion."""
    even = {}
    for d, name in enumerate(DIRECTIONS):
        even[f"fertility_{name}"] = np.full((table.shape[d], most + 1), 1 / (most + 1))
        even[f"places_{name}"] = solve_places(layout, np.zeros(layout.size), d, 1.0)
        even[f"heads_{name}"] = even_displacements((classes.n[d] + 1) * classes.n[1 - d])
        even[f"others_{name}"] = even_displacements(classes.n[1 - d])
    return FertilityParameters(
        known.lexicon, known.null_forward, known.null_backward, null_share=np.full(2, 0.1), **even
    )


def fertility_model(
    settings: FertilitySettings, table: PairTable, layout: PositionLayout, classes: WordClasses
) -> EMModel[FertilityParameters]:
    """The steps of one model over a pair table."""
    return EMModel(
        expect=partial(expect, settings, classes),
        solve=partial(solve, settings, table, layout),
        expected_log_joint=_expected_log_joint,
        climbs=False,
    )


def expect(
    settings: FertilitySettings, classes: WordClasses, batch: FertilityText, p: FertilityParameters
) -> ExpectedCounts:
    """The E-step of one stretch of text."""
    tables, likelihood, _ = _read(settings, classes, batch, p)
    words = sum(float(tables[f"scalars_{name}"][2]) for name in DIRECTIONS)
    return ExpectedCounts(tables, rows=words, entropy=0.0, log_likelihood=float(likelihood.sum()))


def climb(
    settings: FertilitySettings, classes: WordClasses, batch: FertilityText, p: FertilityParameters
) -> tuple[Indices, Indices]:
    """The best alignment of each direction that the search finds."""
    return _read(settings, classes, batch, p)[2]


def log_probabilities(
    settings: FertilitySettings, classes: WordClasses, batch: FertilityText, p: FertilityParameters
) -> Array:
    r"""Log-probability of the alignments looked at, a row per direction and a column per sentence pair.

    With ``search='given'`` it is :math:`\log p(f, a \mid e)` of the given alignments, with ``'all'`` the
    log-likelihood.
    """
    return _read(settings, classes, batch, p)[1]


def link_probabilities(
    settings: FertilitySettings, classes: WordClasses, batch: FertilityText, p: FertilityParameters
) -> tuple[Array, Array]:
    """Probability of every cell forward and backward, over the alignments looked at.

    Each cell is given a place of its own in the lexicon, so that the sums by pair are sums by cell.
    """
    text, pairs = batch.text.apart()
    lexicon = np.where(pairs[:, None] >= 0, p.lexicon[pairs], np.float32(0))
    apart = dataclasses.replace(p, lexicon=np.ascontiguousarray(lexicon))
    links = _read(settings, classes, dataclasses.replace(batch, text=text), apart)[0]["links"]
    return links[:, 0], links[:, 1]


def handed_on(p: FertilityParameters, solved: FertilityParameters, *, first: bool) -> FertilityParameters:
    """Parameters with which a model begins: what is new in it as ``solved`` from given alignments."""
    kinds = ("fertility", "places", "heads", "others") if first else ("heads", "others")
    new = {f"{kind}_{name}": getattr(solved, f"{kind}_{name}") for kind in kinds for name in DIRECTIONS}
    share = solved.null_share if first else p.null_share
    return dataclasses.replace(p, null_share=share, **new)


def solve(
    settings: FertilitySettings,
    table: PairTable,
    layout: PositionLayout,
    found: ExpectedCounts,
    p: FertilityParameters,
) -> FertilityParameters:
    """The M-step: everything in full, but the weights of Model 5 by one tangent step."""
    found = _with_before(found, settings.before)
    lexicon, _ = solve_lexicon(table, found["links"], settings.lexical)
    new: dict[str, Any] = {}
    for d, name in enumerate(DIRECTIONS):
        new[f"null_{name}"] = null_lexicon(found[f"null_{name}"])
        new[f"fertility_{name}"] = _solve_fertility(found[f"fertility_{name}"], settings.fertility_pseudo)
        new |= _solve_distortion(settings, layout, found, p, d)
    shares = [_null_share(settings.null, *found[f"scalars_{name}"][:2]) for name in DIRECTIONS]
    return dataclasses.replace(p, lexicon=lexicon, null_share=np.array(shares), **new)


def _with_before(found: ExpectedCounts, before: Mapping[str, Array]) -> ExpectedCounts:
    tables = {name: table + before[name] if name in before else table for name, table in found.tables.items()}
    return ExpectedCounts(tables, rows=found.rows, entropy=found.entropy, log_likelihood=found.log_likelihood)


def _solve_distortion(
    settings: FertilitySettings,
    layout: PositionLayout,
    found: ExpectedCounts,
    p: FertilityParameters,
    direction: int,
) -> dict[str, Array]:
    name, pseudo = DIRECTIONS[direction], settings.distortion_pseudo
    if settings.model == "3":
        return {f"places_{name}": solve_places(layout, found[f"places_{name}"], direction, pseudo)}
    new = {}
    for part in (f"heads_{name}", f"others_{name}"):
        kind, _, _ = part.partition("_")
        reached = found[f"{kind}_reached_{name}"] if settings.model == "5" else None
        new[part] = solve_displacements(found[part], reached, getattr(p, part), pseudo)
    return new


def _solve_fertility(counts: Array, pseudo: float) -> Array:
    """Fertilities per word, drawn towards those of all words together."""
    total = counts.sum(axis=0) + MIN_PROBABILITY
    full = counts + (pseudo + MIN_PROBABILITY) * total / total.sum()
    return np.asarray(full / full.sum(axis=1, keepdims=True))


def _null_share(fixed: float | None, null: float, rest: float) -> float:
    return (
        float(np.clip(null / max(null + rest, MIN_PROBABILITY), 1e-6, 1 - 1e-6)) if fixed is None else fixed
    )


def _expected_log_joint(found: ExpectedCounts, _: FertilityParameters) -> float:
    """The log-probability of the alignments that were summed over stands in."""
    return 0.0 if found.log_likelihood is None else found.log_likelihood


def _read(
    settings: FertilitySettings, classes: WordClasses, batch: FertilityText, p: FertilityParameters
) -> tuple[dict[str, Array], Array, tuple[Indices, Indices]]:
    """Sums, log-probability by direction and sentence pair, and best alignments."""
    tables = {"links": np.zeros((len(p.lexicon), 2))}
    likelihood = np.zeros((2, len(batch.text.bitext)))
    best = batch.starts[0].copy(), batch.starts[1].copy()
    kind, mode = FERTILITY_MODELS[settings.model], MODES[settings.search]
    sides = batch.text.bitext.target, batch.text.bitext.source
    for d, name in enumerate(DIRECTIONS):
        sums = _zero_sums(p, name)
        numbers = d, kind, mode, float(p.null_share[d])
        model = _logs(p, d, classes)
        for rows, text in batch.text.blocks():
            here = slice(*sides[d].offsets[[rows.start, rows.stop]])
            args = text, model, numbers, settings.threads, best[d][here], likelihood[d][rows]
            expect_fertility(*args, tables["links"], tuple(sums))
        tables |= {f"{part}_{name}": values for part, values in zip(SUM_NAMES, sums, strict=True)}
    return tables, likelihood, best


def _zero_sums(p: FertilityParameters, name: str) -> list[Array]:
    null, fertility, places, heads, others = (
        getattr(p, f"{kind}_{name}") for kind in ("null", "fertility", "places", "heads", "others")
    )
    wider = [(len(weights), weights.shape[1] + 1) for weights in (heads, others)]
    shapes = null.shape, fertility.shape, places.shape, heads.shape, wider[0], others.shape, wider[1], (3,)
    return [np.zeros(shape) for shape in shapes]


def _logs(p: FertilityParameters, d: int, classes: WordClasses) -> tuple[Any, ...]:
    """Return the arguments of the compiled loop for one direction."""
    name = DIRECTIONS[d]
    words = _log(p.lexicon[:, d]).astype(np.float32), _log(getattr(p, f"null_{name}")).astype(np.float32)
    tables = _log(getattr(p, f"fertility_{name}")), _log(getattr(p, f"places_{name}"))
    displacements: list[Array] = []
    for part in ("heads", "others"):
        weights = np.maximum(getattr(p, f"{part}_{name}"), MIN_PROBABILITY)
        running = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(weights, axis=1)], axis=1)
        displacements += [np.log(weights), running]
    kinds = classes.of[d], classes.of[1 - d], classes.n[d], classes.n[1 - d]
    return *words, *tables, *displacements, *kinds


def _log(values: NDArray[Any]) -> Array:
    return np.asarray(np.log(np.maximum(values, MIN_PROBABILITY).astype(np.float64)))
