r"""Tables 8.1-8.3 of Rupnik's dissertation: how often SUMCOR has a gap, local maxima and bad ones.

    python -m experiments.sumcor_tables [folder] [--instances N] [--starts N] [--quick] [--seed N]

For m = 3, 5 views of n = 1, 2, 3 features each, 100 problems of each of three generators (section 8.1.1) are
climbed from 1,000 random starts and certified. Values are those of x'Ax. Counted are, as in section 8.1.3,

* gap: problems whose best solution is more than 1 % below the SDP bound;
* local: problems with two solutions that differ by at least 10 % (of the larger; the source does not
  say of which) and by at least 0.1;
* below: problems with a solution below 2/pi of the SDP value.

The source leaves open whether it counts problems or solutions, so the shares of all solutions (those
locally converged: by the same measure worse than the best) stand beside the counts.

Of the random spectrum the source says 'uniformly from a simplex'. 'Table 8.2 again' is what a common
shortcut gives, uniform numbers divided by their sum, which are more alike.

'Horst' is algorithm 4.1 as printed (all views move together), 'block' the default of SumCor. Both climb
until a sweep moves a solution by less than 1e-6 of its length. A published share of 100 problems and ours are
called compatible when Fisher's exact test does not tell them apart at the 5 % level; of 54 pairs
about two then differ by chance.
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
METHODS = ("Horst", "block")
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

    gap: bool
    local: bool
    below: bool
    share_local: float
    share_below: float
    share_global: float


Results = dict[Cell, dict[str, list[Outcome]]]


def solutions(A: Array, sizes: Sequence[int], starts: Array) -> dict[str, Array]:
    """Values of x'Ax that every start reaches, by method."""
    X = unit_blocks(starts, block_slices(sizes), np.zeros((len(A), 0)))
    ascents = {
        "Horst": horst(A, sizes, X, sweep="jacobi", tol=TOL, max_iter=MAX_ITER),
        "block": block_ascent(A, sizes, X[:, :, np.newaxis], tol=TOL, max_iter=MAX_ITER),
    }
    return {name: len(sizes) + 2 * ascent.ends for name, ascent in ascents.items()}


def judge(values: Array, best: float, bound: float, lower: float) -> Outcome:
    """The events of section 8.1.3, given the best value known and the bounds of the relaxation."""
    high = float(values.max())
    local, below = high - values >= max(0.1 * high, 0.1), values < lower
    return Outcome(
        gap=high < 0.99 * bound,
        local=bool(local.any()),
        below=bool(below.any()),
        share_local=float(local.mean()),
        share_below=float(below.mean()),
        share_global=float(np.mean(values >= best * (1 - SAME))),
    )


def run_problem(cell: Cell, n_starts: int, rng: np.random.Generator) -> dict[str, Outcome]:
    """One problem of a cell."""
    sizes = [cell.n] * cell.m
    A = random_problem(cell.kind, sizes, rng)
    found = solutions(A, sizes, rng.standard_normal((len(A), n_starts)))
    certificate = certify(A, sizes, whitened=True, random_state=0)
    best = max(float(certificate.value), *(float(values.max()) for values in found.values()))
    lower = 2 / np.pi * certificate.relaxation_value
    return {name: judge(values, best, certificate.bound, lower) for name, values in found.items()}


def run(instances: int, n_starts: int, seed: int) -> Results:
    """All cells; each has a seed of its own, so that it does not depend on the others."""
    cells = [Cell(kind, m, n) for kind, m, n in product(KINDS, VIEWS, FEATURES)]
    results: Results = {}
    for number, cell in enumerate(track(cells, description="cells")):
        rng = np.random.default_rng([seed, number])
        problems = [run_problem(cell, n_starts, rng) for _ in range(instances)]
        results[cell] = {name: [problem[name] for problem in problems] for name in METHODS}
    return results


def counted(results: Results, cell: Cell, method: str, event: str) -> int:
    """In how many problems of a cell the event was seen."""
    return sum(getattr(outcome, event) for outcome in results[cell][method])


def mean_of(results: Results, cell: Cell, method: str, share: str) -> float:
    """A share of starts, on average over the problems of a cell."""
    return float(np.mean([getattr(outcome, share) for outcome in results[cell][method]]))


def compatible(results: Results, cell: Cell, event: str) -> bool:
    """Whether the count of Horst's algorithm can be a draw of the published share."""
    ours, total = counted(results, cell, "Horst", event), len(results[cell]["Horst"])
    published = cell.published(event)
    return bool(fisher_exact([[ours, total - ours], [published, 100 - published]]).pvalue >= 0.05)


def comparison(results: Results, kind: str) -> Table:
    """One published table, ours beside it, in per cent of problems."""
    rows = []
    for cell in (c for c in results if c.kind == kind):
        total = len(results[cell]["Horst"])
        row = [f"{cell.m}, {cell.n}"]
        for event in EVENTS:
            ours = [f"{100 * counted(results, cell, method, event) / total:.0f}" for method in METHODS]
            mark = "" if compatible(results, cell, event) else " *"
            row.append(" / ".join([str(cell.published(event)), *ours]) + mark)
        rows.append(row)
    return Table(f"{TITLES[kind]} (published / {' / '.join(METHODS)})", ["m, n", *EVENTS], rows)


def starts_table(results: Results, kind: str) -> Table:
    """Shares of starts, in per cent."""
    shares = {"share_local": "local", "share_below": "below", "share_global": "best reached"}
    rows = []
    for cell in (c for c in results if c.kind == kind):
        pairs = ([mean_of(results, cell, method, share) for method in METHODS] for share in shares)
        rows.append([f"{cell.m}, {cell.n}", *(" / ".join(f"{100 * v:.2f}" for v in pair) for pair in pairs)])
    return Table(f"Of all starts, per cent ({' / '.join(METHODS)})", ["m, n", *shares.values()], rows)


def draw(results: Results, folder: Path) -> None:
    """Published, Horst and block side by side, one panel per generator and event."""
    fig, axes = plt.subplots(len(KINDS), len(EVENTS), figsize=(11, 10), sharey="col")
    for (i, kind), (j, event) in product(enumerate(KINDS), enumerate(EVENTS)):
        cells = [cell for cell in results if cell.kind == kind]
        bars: dict[str, list[float]] = {"published": [cell.published(event) for cell in cells]}
        for method in METHODS:
            bars[method] = [
                100 * counted(results, cell, method, event) / len(results[cell][method]) for cell in cells
            ]
        for offset, (name, heights) in enumerate(bars.items()):
            axes[i, j].bar(np.arange(len(cells)) + 0.27 * (offset - 1), heights, 0.27, label=name)
        axes[i, j].set_xticks(range(len(cells)), [f"{cell.m}, {cell.n}" for cell in cells])
        axes[i, j].set(title=f"{kind}: {event}", ylabel="% of problems")
    for axis in axes[-1]:
        axis.set_xlabel("views, features each")
    axes[0, 0].legend(fontsize=8)
    save_figure(fig, folder / "tables.png")


def report(results: Results, header: str) -> list[str]:
    """The written comparison."""
    lines = ["# SUMCOR on random problems: tables 8.1-8.3 of Rupnik", "", header, ""]
    for kind in KINDS:
        tables = [comparison(results, kind), starts_table(results, kind)]
        for table in tables:
            table.show()
        lines += [
            f"## {TITLES[kind]}",
            "",
            "Per cent of problems; * marks a count that is not compatible.",
            "",
        ]
        lines += [*tables[0].markdown(), "", f"{tables[1].title}:", "", *tables[1].markdown(), ""]
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
    """The sentences of section 8.1.3."""
    pairs = [(cell, event) for cell in results if cell.kind != SCALED for event in EVENTS]
    alike = sum(compatible(results, cell, event) for cell, event in pairs)
    below = {n: 100 * _mean_below(results, n) for n in (2, 3)}
    rare = (
        f"'useful only when n = 1', else rarely: {below[2]:.4f} % of solutions are below for n = 2 "
        f"(published: less than 0.1), {below[3]:.4f} % for n = 3 (less than 0.01)"
    )
    return [
        f"- {alike} of {len(pairs)} published shares are compatible with ours",
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


def _mean_below(results: Results, n: int) -> float:
    cells = (cell for cell in results if cell.n == n and cell.kind != SCALED)
    return float(np.mean([mean_of(results, cell, "Horst", "share_below") for cell in cells]))


def _rises_with_views(results: Results, event: str) -> bool:
    pairs = [
        [counted(results, Cell(kind, m, n), "Horst", event) for m in (3, 5)]
        for kind, n in product(GENERATORS, FEATURES)
    ]
    return all(few <= many for few, many in pairs)


def _falls_with_features(results: Results, event: str) -> bool:
    rows = [
        [counted(results, Cell(kind, m, n), "Horst", event) for n in FEATURES]
        for kind, m in product(("gram", "spectrum"), VIEWS)
    ]
    return all(a <= b <= c for a, b, c in rows)


def _anomaly(results: Results, event: str) -> bool:
    three, two = (counted(results, Cell("structure", 5, n), "Horst", event) for n in (3, 2))
    return three > two


def figures(results: Results) -> list[dict[str, object]]:
    """What report.json holds: counts and shares of every cell."""
    return [
        {
            **cell._asdict(),
            "method": method,
            "problems": len(outcomes),
            **{event: counted(results, cell, method, event) for event in EVENTS},
            **{share: mean_of(results, cell, method, share) for share in Outcome._fields[3:]},
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
