r"""Figures 8.1 and 8.2 of Rupnik's dissertation: how fast Horst's algorithm converges, and where to.

    python -m experiments.sumcor_convergence [folder] [--instances N] [--starts N] [--quick] [--seed N]

Problems are random Gram matrices of five views of two features. As in section 8.1.2, the change of a sweep is
log10 of the distance between the old and the new x over the length of x; algorithm 4.1 is run as printed (all
views move together). The slope of a path is that of the straight line fitted to its changes above 1e-12.

* Figure 8.1: 1,000 problems, one random start each.
* Figure 8.2: one problem, 1,000 random starts. The source does not give its problem; here it is the first
  drawn that has exactly two maxima, at least 1 % apart, each reached by a fifth of the starts or more.
  Whether what is said of it holds in general is looked at in further problems with two maxima.

Beside it: the distance of the objective from where it ends, for algorithm 4.1, the same with one view
after the other (Gauss-Seidel), and the block method, which is the default of SumCor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from rich.progress import track

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
from experiments._sumcor_problems import random_problem
from isogloss.multiview.solvers import block_ascent, block_slices, horst, unit_blocks

Array = NDArray[np.float64]

SIZES = (2, 2, 2, 2, 2)
METHODS = ("Horst", "Gauss-Seidel", "block")
SLOPES = {"best": -0.08, "other": -0.05}
SHARE = 0.65
SWEEPS, FLOOR, TOL, CLOSE = 400, 1e-12, 1e-20, 1e-10
APART, LEAST_SHARE = 0.01, 0.2


class Rates(NamedTuple):
    """Figure 8.1: changes (problems x sweeps), slopes, and distances from the end by method."""

    changes: Array
    slopes: Array
    distances: dict[str, list[Array]]


class TwoMaxima(NamedTuple):
    """Figure 8.2: a problem with two maxima, and which of its starts end in the better one."""

    A: Array
    starts: Array
    best: NDArray[np.bool_]
    values: tuple[float, float]

    @property
    def share(self) -> float:
        """Of starts that reach the better one."""
        return float(self.best.mean())


class Paths(NamedTuple):
    """The changes of starts of one problem with two maxima, and their slopes."""

    problem: TwoMaxima
    changes: Array
    slopes: Array

    def mean_slope(self, best: bool) -> float:
        """Of the starts that reach the better maximum, or of the others."""
        return float(self.slopes[self.problem.best == best].mean())


def changes_of(A: Array, start: Array, sweeps: int = SWEEPS) -> Array:
    """The change of every sweep of algorithm 4.1 from one start; NaN once it is below the floor."""
    x = unit_blocks(start[:, np.newaxis], block_slices(SIZES), np.zeros((len(A), 0)))
    changes = np.full(sweeps, np.nan)
    for sweep in range(sweeps):
        old, x = x, horst(A, SIZES, x, sweep="jacobi", tol=0.0, max_iter=1).X
        change = float(np.linalg.norm(old - x) / np.linalg.norm(x))
        if change < FLOOR:
            break
        changes[sweep] = np.log10(change)
    return changes


def slope_of(changes: Array) -> float:
    """The slope of the line through the changes, per sweep."""
    seen = np.flatnonzero(~np.isnan(changes))
    return float(np.polyfit(seen, changes[seen], 1)[0]) if seen.size > 1 else float("nan")


def distances_of(A: Array, start: Array) -> dict[str, Array]:
    """Distance of the objective from where it ends, relative to that, before and after every sweep."""
    x = unit_blocks(start[:, np.newaxis], block_slices(SIZES), np.zeros((len(A), 0)))
    ascents = {
        "Horst": horst(A, SIZES, x, sweep="jacobi", tol=TOL, max_iter=5_000),
        "Gauss-Seidel": horst(A, SIZES, x, tol=TOL, max_iter=5_000),
        "block": block_ascent(A, SIZES, x[:, :, np.newaxis], tol=TOL, max_iter=5_000),
    }
    return {name: (a.trace[-1] - a.trace) / abs(a.trace[-1]) for name, a in ascents.items()}


def rates(instances: int, rng: np.random.Generator) -> Rates:
    """Figure 8.1."""
    changes: list[Array] = []
    distances: dict[str, list[Array]] = {name: [] for name in METHODS}
    for _ in track(range(instances), description="problems"):
        A, start = random_problem("gram", SIZES, rng), rng.standard_normal(sum(SIZES))
        changes.append(changes_of(A, start))
        for name, distance in distances_of(A, start).items():
            distances[name].append(distance)
    return Rates(np.array(changes), np.array([slope_of(c) for c in changes]), distances)


def problems_with_two_maxima(n_starts: int, rng: np.random.Generator) -> Iterator[TwoMaxima]:
    """Problems whose starts end in exactly two values, APART or more, whatever the share of each."""
    while True:
        A, starts = random_problem("gram", SIZES, rng), rng.standard_normal((sum(SIZES), n_starts))
        ends = horst(A, SIZES, starts, sweep="jacobi", tol=1e-16, max_iter=5_000).ends
        high, low = float(ends.max()), float(ends.min())
        best, other = ends > high * (1 - 1e-6), ends < low * (1 + 1e-6)
        if high - low > APART * high and (best | other).all():
            yield TwoMaxima(A, starts, best, (high, low))


def paths_of(problem: TwoMaxima, most: int) -> Paths:
    """Changes from the first starts of each maximum, at most so many of each."""
    chosen = np.sort(np.concatenate([np.flatnonzero(problem.best == side)[:most] for side in (True, False)]))
    part = problem._replace(starts=problem.starts[:, chosen], best=problem.best[chosen])
    changes = np.array([changes_of(problem.A, start) for start in part.starts.T])
    return Paths(part, changes, np.array([slope_of(c) for c in changes]))


class Results(NamedTuple):
    """What the runs found."""

    rates: Rates
    shown: TwoMaxima
    paths: Paths
    others: list[tuple[float, Paths]]


def run(instances: int, n_starts: int, others: int, seed: int) -> Results:
    """Both figures; each has random numbers of its own."""
    first = timed("figure 8.1", lambda: rates(instances, np.random.default_rng([seed, 1])))
    drawn = problems_with_two_maxima(n_starts, np.random.default_rng([seed, 2]))
    shown = next(p for p in drawn if LEAST_SHARE <= p.share <= 1 - LEAST_SHARE)
    paths = timed("figure 8.2", lambda: paths_of(shown, n_starts))
    more = problems_with_two_maxima(min(n_starts, 200), np.random.default_rng([seed, 3]))
    further = timed("more of them", lambda: [(p.share, paths_of(p, 5)) for p in islice(more, others)])
    return Results(first, shown, paths, further)


def draw_figure_8_1(found: Rates, folder: Path) -> None:
    """Changes of all problems, and a histogram of their slopes."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
    left.plot(found.changes.T, color="C0", alpha=0.08, linewidth=0.6)
    left.set(xlabel="sweep", ylabel="log10 of the change", xlim=(0, 200))
    right.hist(found.slopes[~np.isnan(found.slopes)], bins=40)
    right.set(xlabel="slope of a path, per sweep", ylabel="problems")
    save_figure(fig, folder / "figure_8_1.png")


def draw_distances(found: Rates, folder: Path) -> None:
    """Median distance from the end, with the middle 80 % of problems."""
    fig, axis = plt.subplots(figsize=(7, 3.8))
    for name in METHODS:
        padded = np.full((len(found.distances[name]), 121), CLOSE / 1e4)
        for row, distance in zip(padded, found.distances[name], strict=True):
            row[: min(121, len(distance))] = np.maximum(distance[:121], CLOSE / 1e4)
        low, middle, high = np.quantile(padded, [0.1, 0.5, 0.9], axis=0)
        axis.plot(middle, label=name)
        axis.fill_between(np.arange(121), low, high, alpha=0.15)
    axis.set(yscale="log", xlabel="sweep", ylabel="distance of the objective from its end")
    axis.legend(fontsize=8)
    save_figure(fig, folder / "objective.png")


def draw_figure_8_2(paths: Paths, folder: Path) -> None:
    """Changes from all starts of one problem, coloured by where they end."""
    fig, axis = plt.subplots(figsize=(7, 3.8))
    for side, colour, label in ((True, "C0", "global maximum"), (False, "C3", "local maximum")):
        chosen = paths.changes[paths.problem.best == side]
        axis.plot(chosen.T, color=colour, alpha=0.08, linewidth=0.6)
        axis.plot([], color=colour, label=f"{label}: {len(chosen)} starts")
    axis.set(xlabel="sweep", ylabel="log10 of the change")
    axis.legend(fontsize=8)
    save_figure(fig, folder / "figure_8_2.png")


def sweeps_needed(distance: Array) -> int:
    """Sweeps until the objective stays within CLOSE of where it ends."""
    return int(np.flatnonzero(distance > CLOSE)[-1]) + 1 if (distance > CLOSE).any() else 0


def sweeps_table(found: Rates) -> Table:
    """Sweeps to the end, by method."""
    rows = []
    for name in METHODS:
        needed = np.array([sweeps_needed(d) for d in found.distances[name]])
        rows.append([name, *(f"{v:.0f}" for v in (*np.quantile(needed, [0.1, 0.5, 0.9]), needed.max()))])
    return Table(
        f"Sweeps until the objective is within {CLOSE:g}", ["", "10 %", "median", "90 %", "most"], rows
    )


def report(results: Results, header: str) -> list[str]:
    """The written comparison."""
    return [
        "# Convergence of Horst's algorithm: figures 8.1 and 8.2 of Rupnik",
        "",
        header,
        "",
        *_section_8_1(results.rates),
        *_section_8_2(results),
        *reading(__doc__, 4),
    ]


def _section_8_1(found: Rates) -> list[str]:
    slopes = found.slopes[~np.isnan(found.slopes)]
    low, middle, high = np.quantile(slopes, [0.05, 0.5, 0.95])
    straight = float(np.nanmedian([straightness(c) for c in found.changes]))
    table = sweeps_table(found)
    table.show()
    return [
        "## Figure 8.1: varying problems",
        "",
        "![figure 8.1](figure_8_1.png)",
        "",
        f"Slopes: median {middle:.3f}; the steepest 5 % are below {low:.3f}, the flattest above {high:.3f}, "
        f"{low / high:.1f} times less.",
        "",
        claim(
            straight > 0.98, f"'linear convergence': median squared correlation with a line {straight:.3f}"
        ),
        "",
        f"{table.title}:",
        "",
        *table.markdown(),
        "",
        "![objective](objective.png)",
        "",
    ]


def _section_8_2(results: Results) -> list[str]:
    paths, share = results.paths, results.shown.share
    best, other = paths.mean_slope(best=True), paths.mean_slope(best=False)
    faster = [p.mean_slope(best=True) < p.mean_slope(best=False) for _, p in results.others]
    shares = np.array([s for s, _ in results.others])
    return [
        "## Figure 8.2: varying starts",
        "",
        "![figure 8.2](figure_8_2.png)",
        "",
        "The maxima are {:.3f} and {:.3f} (sums of correlations).".format(*results.shown.values),
        f"{100 * share:.0f} % of the starts reach the global one (published: {100 * SHARE:.0f} % in another",
        f"problem). Mean slopes: {best:.3f} global, {other:.3f} local (published: {SLOPES['best']} and "
        f"{SLOPES['other']}).",
        "",
        claim(best < other, "'global solution paths tend to converge faster': in this problem"),
        claim(
            sum(faster) > 0.5 * len(faster),
            f"the same more often than not: {sum(faster)} of {len(faster)} further problems with two maxima",
        ),
        "",
        f"Share of starts that reach the global maximum in these: mean {100 * shares.mean():.0f} %, "
        f"between {100 * shares.min():.0f} and {100 * shares.max():.0f} %; more than half in "
        f"{int((shares > 0.5).sum())} of {len(shares)}.",
        "",
    ]


def straightness(changes: Array) -> float:
    """Squared correlation of the changes of a path with the number of the sweep."""
    seen = np.flatnonzero(~np.isnan(changes))
    return float(np.corrcoef(seen, changes[seen])[0, 1] ** 2) if seen.size > 2 else float("nan")


def figures(results: Results) -> dict[str, Any]:
    """What report.json holds."""
    return {
        "slopes": results.rates.slopes.tolist(),
        "sweeps": {name: [sweeps_needed(d) for d in ds] for name, ds in results.rates.distances.items()},
        "shown": {
            "maxima": results.shown.values,
            "share_global": results.shown.share,
            "slope_global": results.paths.mean_slope(best=True),
            "slope_local": results.paths.mean_slope(best=False),
        },
        "others": [
            {
                "share_global": s,
                "slope_global": p.mean_slope(best=True),
                "slope_local": p.mean_slope(best=False),
            }
            for s, p in results.others
        ],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiment and write the report."""
    parser = options_parser(__doc__)
    parser.add_argument("--instances", type=int, help="problems of figure 8.1 (1,000; 50 with --quick)")
    parser.add_argument("--starts", type=int, help="starts of figure 8.2 (1,000; 50 with --quick)")
    parser.add_argument("--others", type=int, help="further problems with two maxima (100; 5 with --quick)")
    options = parser.parse_args(arguments)
    instances = options.instances or (50 if options.quick else 1_000)
    starts = options.starts or (50 if options.quick else 1_000)
    others = options.others or (5 if options.quick else 100)
    folder = own_folder(options.folder, "sumcor_convergence")
    results = run(instances, starts, others, options.seed)
    draw_figure_8_1(results.rates, folder)
    draw_distances(results.rates, folder)
    draw_figure_8_2(results.paths, folder)
    header = f"{instances:,} problems, {starts:,} starts; seed {options.seed}."
    write_report(folder, report(results, header), figures(results))


if __name__ == "__main__":
    main()
