r"""Tables 8.1-8.3 of Rupnik's dissertation: how often SUMCOR has a gap, local maxima and bad ones.

    python -m experiments.sumcor_tables [folder] [--instances N] [--starts N] [--quick] [--seed N]

For m = 3, 5 views of n = 1, 2, 3 features each, 100 problems of each of three generators (section 8.1.1) are
climbed from 1,000 random starts and certified. As in section 8.1.3,

* gap: per cent of problems whose best solution is more than 1 % below the SDP bound (values of x'Ax);
* local: per cent of starts that end at least 10 %, and .1, below the best start, as sums of correlations;
* below: per cent of starts that end below 2/pi of the SDP value.

The source does not say what it counts. With starts that are not normalised, as in algorithm 4.1, shares
of starts, and 10 % of the sum of correlations, its figures are reproduced. With normalised starts (in the
tables), shares of problems, or 10 % of x'Ax they are not.

Of the random spectrum the source says 'uniformly from a simplex'. 'Table 8.2 again' is what a common
shortcut gives, uniform numbers divided by their sum, which are more alike.

'Horst' is algorithm 4.1 as printed (all views move together), 'block' the default of SumCor. Both climb
until a sweep moves a solution by less than 1e-6 of its length. A published gap and ours are called compatible
when Fisher's exact test does not tell them apart at the 5 % level; for shares of starts the difference is
given in points.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from rich.progress import track
from scipy.stats import fisher_exact

from experiments._report import (
    Table,
    claim,
    options_parser,
    own_folder,
    reading,
    save_figure,
    timed,
    write_report,
)
from experiments._sumcor_problems import GENERATORS, SCALED, random_problem
from isogloss.multiview import certify
from isogloss.multiview.solvers import block_ascent, block_slices, horst, unit_blocks

Array = NDArray[np.float64]

VIEWS, FEATURES = (5, 3), (3, 2, 1)
METHODS = ("Horst", "Horst, normalised", "block")
EVENTS = ("gap", "local", "below")
TITLES = {"gram": "Table 8.1: random Gram matrix", "spectrum": "Table 8.2: random spectrum"}
TITLES |= {
    "structure": "Table 8.3: random 1-dim structure",
    SCALED: "Table 8.2 again, uniform numbers scaled",
}
KINDS = (*GENERATORS, SCALED)
TOL, MAX_ITER, SAME = 1e-12, 20_000, 1e-6
# Per cent of 100 problems; rows are m = 5, 3 and columns n = 3, 2, 1.
PUBLISHED = {
    "gram": {
        "gap": [[0, 5, 17], [0, 0, 9]],
        "local": [[1, 5, 48], [0, 1, 26]],
        "below": [[0, 0, 14], [0, 0, 12]],
    },
    "spectrum": {
        "gap": [[0, 5, 36], [0, 1, 20]],
        "local": [[1, 3, 50], [0, 0, 31]],
        "below": [[0, 0, 15], [0, 0, 16]],
    },
    "structure": {
        "gap": [[24, 16, 23], [7, 4, 7]],
        "local": [[9, 6, 51], [0, 0, 31]],
        "below": [[0, 0, 13], [0, 0, 15]],
    },
}
PUBLISHED[SCALED] = PUBLISHED["spectrum"]


class Cell(NamedTuple):
    """One cell of the tables: a generator, m views and n features in each."""

    kind: str
    m: int
    n: int

    def published(self, event: str) -> int:
        """The published per cent."""
        return PUBLISHED[self.kind][event][VIEWS.index(self.m)][FEATURES.index(self.n)]


class Outcome(NamedTuple):
    """What the starts of one method came to on one problem."""

    gap: float
    """1 if the best solution is more than 1 % below the bound."""
    local: float
    """Share of starts that end far below the best."""
    below: float
    """Share of starts that end below the lower bound."""
    best: float
    """Share of starts that end in the best solution known."""


Results = dict[Cell, dict[str, list[Outcome]]]


def solutions(A: Array, sizes: Sequence[int], starts: Array) -> dict[str, Array]:
    """Values of x'Ax that every start reaches, by method."""
    X = unit_blocks(starts, block_slices(sizes), np.zeros((len(A), 0)))
    ascents = {
        # The first step of algorithm 4.1, which has starts of any length; horst() normalises them.
        "Horst": horst(A, sizes, A @ starts, sweep="jacobi", tol=TOL, max_iter=MAX_ITER),
        "Horst, normalised": horst(A, sizes, X, sweep="jacobi", tol=TOL, max_iter=MAX_ITER),
        "block": block_ascent(A, sizes, X[:, :, np.newaxis], tol=TOL, max_iter=MAX_ITER),
    }
    return {name: len(sizes) + 2 * ascent.ends for name, ascent in ascents.items()}


def judge(values: Array, m: int, best: float, bound: float, lower: float) -> Outcome:
    """The events of section 8.1.3, given the best value known and the bounds of the relaxation."""
    high, correlations = float(values.max()), (values - m) / 2
    most = float(correlations.max())
    return Outcome(
        gap=float(high < 0.99 * bound),
        local=float(np.mean(most - correlations >= max(0.1 * most, 0.1))),
        below=float(np.mean(values < lower)),
        best=float(np.mean(values >= best * (1 - SAME))),
    )


def run_problem(cell: Cell, n_starts: int, rng: np.random.Generator) -> dict[str, Outcome]:
    """One problem of a cell."""
    sizes = [cell.n] * cell.m
    A = random_problem(cell.kind, sizes, rng)
    found = solutions(A, sizes, rng.standard_normal((len(A), n_starts)))
    certificate = certify(A, sizes, whitened=True, random_state=0)
    best = max(float(certificate.value), *(float(values.max()) for values in found.values()))
    lower = 2 / np.pi * certificate.relaxation_value
    return {name: judge(values, cell.m, best, certificate.bound, lower) for name, values in found.items()}


def run(instances: int, n_starts: int, seed: int) -> Results:
    """All cells; each has a seed of its own, so that it does not depend on the others."""
    cells = [Cell(kind, m, n) for kind, m, n in product(KINDS, VIEWS, FEATURES)]
    results: Results = {}
    for number, cell in enumerate(track(cells, description="cells")):
        rng = np.random.default_rng([seed, number])
        problems = [run_problem(cell, n_starts, rng) for _ in range(instances)]
        results[cell] = {name: [problem[name] for problem in problems] for name in METHODS}
    return results


def percent(results: Results, cell: Cell, method: str, event: str) -> float:
    """Per cent of problems (gap) or of starts, on average over the problems of a cell."""
    return 100 * float(np.mean([getattr(outcome, event) for outcome in results[cell][method]]))


def difference(results: Results, cell: Cell, event: str) -> float:
    """How far Horst's algorithm as printed is from the published per cent, in points."""
    return abs(percent(results, cell, "Horst", event) - cell.published(event))


def same_gap(results: Results, cell: Cell) -> bool:
    """Whether the problems with a gap can be a draw of the published share."""
    total = len(results[cell]["Horst"])
    ours, published = round(percent(results, cell, "Horst", "gap") * total / 100), cell.published("gap")
    return bool(fisher_exact([[ours, total - ours], [published, 100 - published]]).pvalue >= 0.05)


def comparison(results: Results, kind: str) -> Table:
    """One published table, ours beside it, in per cent."""
    rows = []
    for cell in (c for c in results if c.kind == kind):
        row = [f"{cell.m}, {cell.n}"]
        for event in EVENTS:
            ours = [f"{percent(results, cell, method, event):.1f}" for method in METHODS]
            mark = " *" if event == "gap" and not same_gap(results, cell) else ""
            row.append(" / ".join([str(cell.published(event)), *ours]) + mark)
        reached = [f"{percent(results, cell, method, 'best'):.1f}" for method in METHODS]
        rows.append([*row, " / ".join(reached)])
    return Table(
        f"{TITLES[kind]} (published / {' / '.join(METHODS)})", ["m, n", *EVENTS, "best reached"], rows
    )


def draw(results: Results, folder: Path) -> None:
    """Published, Horst and block side by side, one panel per generator and event."""
    fig, axes = plt.subplots(len(KINDS), len(EVENTS), figsize=(11, 10), sharey="col")
    for (i, kind), (j, event) in product(enumerate(KINDS), enumerate(EVENTS)):
        cells = [cell for cell in results if cell.kind == kind]
        bars: dict[str, list[float]] = {"published": [cell.published(event) for cell in cells]}
        for method in METHODS:
            bars[method] = [percent(results, cell, method, event) for cell in cells]
        for offset, (name, heights) in enumerate(bars.items()):
            axes[i, j].bar(np.arange(len(cells)) + 0.2 * (offset - 1.5), heights, 0.2, label=name)
        axes[i, j].set_xticks(range(len(cells)), [f"{cell.m}, {cell.n}" for cell in cells])
        axes[i, j].set(title=f"{kind}: {event}", ylabel="%")
    for axis in axes[-1]:
        axis.set_xlabel("views, features each")
    axes[0, 0].legend(fontsize=8)
    save_figure(fig, folder / "tables.png")


def report(results: Results, header: str) -> list[str]:
    """The written comparison."""
    lines = ["# SUMCOR on random problems: tables 8.1-8.3 of Rupnik", "", header, ""]
    for kind in KINDS:
        table = comparison(results, kind)
        table.show()
        lines += [f"## {TITLES[kind]}", "", "Per cent; * marks a gap that is not compatible.", ""]
        lines += [*table.markdown(), ""]
    return [
        *lines,
        "![tables](tables.png)",
        "",
        "## What is claimed",
        "",
        *claims(results),
        "",
        *reading(__doc__, 4),
    ]


def claims(results: Results) -> list[str]:
    """The sentences of section 8.1.3, and how far the tables are reproduced."""
    cells = [cell for cell in results if cell.kind != SCALED]
    points = sorted(difference(results, cell, event) for cell in cells for event in ("local", "below"))
    alike = sum(same_gap(results, cell) for cell in cells)
    below = {
        n: float(np.mean([percent(results, c, "Horst", "below") for c in cells if c.n == n])) for n in (2, 3)
    }
    rare = (
        f"'useful only when n = 1', else rarely: {below[2]:.4f} % of solutions are below for n = 2 "
        f"(published: less than 0.1), {below[3]:.4f} % for n = 3 (less than 0.01)"
    )
    return [
        f"- the {len(points)} published shares of starts and ours differ by at most {points[-1]:.1f} points, "
        f"{sum(d <= 4 for d in points)} of them by at most 4, half by at most {np.median(points):.1f}",
        f"- {alike} of {len(cells)} published gaps are compatible with ours",
        claim(below[2] < 0.1 and below[3] < 0.01, rare),
        claim(
            _rises_with_views(results, "local"),
            "'local convergence increases as the number of views increases'",
        ),
        claim(_rises_with_views(results, "gap"), "the same for a gap"),
        claim(
            _falls_with_features(results, "local"),
            "'less likely as the dimensionality increases': Gram and spectrum",
        ),
        claim(
            _anomaly(results, "local"),
            "1-dim structure, m = 5: local convergence more likely for n = 3 than for 2",
        ),
        claim(_anomaly(results, "gap"), "1-dim structure, m = 5: a gap more likely for n = 3 than for 2"),
    ]


def _rises_with_views(results: Results, event: str) -> bool:
    pairs = [
        [percent(results, Cell(kind, m, n), "Horst", event) for m in (3, 5)]
        for kind, n in product(GENERATORS, FEATURES)
    ]
    return all(few <= many for few, many in pairs)


def _falls_with_features(results: Results, event: str) -> bool:
    rows = [
        [percent(results, Cell(kind, m, n), "Horst", event) for n in FEATURES]
        for kind, m in product(("gram", "spectrum"), VIEWS)
    ]
    return all(a <= b <= c for a, b, c in rows)


def _anomaly(results: Results, event: str) -> bool:
    three, two = (percent(results, Cell("structure", 5, n), "Horst", event) for n in (3, 2))
    return three > two


def figures(results: Results) -> list[dict[str, object]]:
    """What report.json holds: per cents of every cell."""
    return [
        {
            **cell._asdict(),
            "method": method,
            "problems": len(outcomes),
            **{event: percent(results, cell, method, event) for event in Outcome._fields},
        }
        for cell, methods in results.items()
        for method, outcomes in methods.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiment and write the report."""
    parser = options_parser(__doc__)
    parser.add_argument("--instances", type=int, help="problems per cell (100; 10 with --quick)")
    parser.add_argument("--starts", type=int, help="starts per problem (1,000; 100 with --quick)")
    options = parser.parse_args(arguments)
    instances = options.instances or (10 if options.quick else 100)
    starts = options.starts or (100 if options.quick else 1_000)
    folder = own_folder(options.folder, "sumcor_tables")
    results = timed("tables 8.1-8.3", lambda: run(instances, starts, options.seed))
    draw(results, folder)
    header = f"{instances} problems per cell, {starts:,} starts each; seed {options.seed}."
    write_report(folder, report(results, header), {"cells": figures(results)})


if __name__ == "__main__":
    main()
