r"""Figure 1 and Table 1 of the supplement to *Multilingual factor analysis*: EM and convergence.

    python -m experiments.dictionary_table1 [folder] [--data FOLDER] [--few N] [--many N] [--quick] [--seed N]

English, Italian and French. As in the paper, MBFA is fitted by plain EM (appendix E) to the words that have a
translation in every language, full noise, as many factors as a vector has dimensions, and stopped after few
(1,000) or many (20,000) steps; translations are the nearest posterior means, by cosine or by CSLS. Where the
paper is silent: EM starts at random, and vectors are scaled to unit length, centred, and scaled again.

Beside it: the same model from our start and with longer steps, run until a step gains less than 1e-4 per row;
two languages at a time (InterBatteryFA, closed form), once on the same words and once on all of their own
dictionary; and one model of the three languages on every pair of every dictionary, smoothed as
``dictionary_methods`` chose on validation words.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from experiments._report import (
    Table,
    claim,
    data_folder,
    options_parser,
    own_folder,
    reading,
    save_figure,
    timed,
    write_report,
)
from experiments.dictionary_data import (
    NOT_THE_PAPERS,
    VECTORS,
    Direction,
    Split,
    load_dictionaries,
    load_vectors,
    mean_difference,
    mean_precision,
    test_split,
    validation_split,
)
from isogloss.em import Iteration
from isogloss.factor import InterBatteryFA, MultiBatteryFA
from isogloss.lexicon import (
    BilingualDictionary,
    Evaluation,
    WordSpace,
    WordVectors,
    concept_table,
    evaluate_space,
)

LANGUAGES = ("en", "it", "fr")
SAME_WORDS, OWN_DICTIONARY = "IBFA per pair, same words", "IBFA per pair, own dictionary"
Results = dict[Direction, Evaluation]
Trace = Sequence[Iteration]


class Languages:
    """The vectors and dictionaries, and spaces fitted to them."""

    def __init__(self, vectors: Mapping[str, WordVectors], split: Split) -> None:
        self.vectors, self.split = vectors, split

    def complete(self, model: Any) -> WordSpace:
        """A model fitted to the inner join of the English dictionaries, plain posterior means."""
        return self._learn(model, LANGUAGES, self.english, rows="complete")

    def pairwise(self, dim: int, *, same_words: bool) -> list[WordSpace]:
        """A closed form for every two languages, fitted to the words of the join or to their dictionary."""
        seeds = self.joined_pairs() if same_words else self.split.train
        return [self._learn(InterBatteryFA(dim), pair, seeds) for pair in combinations(LANGUAGES, 2)]

    @property
    def english(self) -> list[BilingualDictionary]:
        """The dictionaries that are joined."""
        return [one for one in self.split.train if one.source == "en"]

    def joined_pairs(self) -> list[BilingualDictionary]:
        """The rows of the inner join, taken apart into a dictionary for every two languages."""
        table = concept_table(self.vectors, self.english, rows="complete", exclude=self.split.held)
        words = {
            name: [one.words[i] for i in column]
            for (name, one), column in zip(self.vectors.items(), table.T, strict=True)
        }
        return [
            BilingualDictionary(a, b, list(zip(words[a], words[b], strict=True)))
            for a, b in combinations(words, 2)
        ]

    def _learn(
        self, model: Any, languages: Sequence[str], seeds: Sequence[BilingualDictionary], **options: Any
    ) -> WordSpace:
        vectors = {name: self.vectors[name] for name in languages}
        plain_means = {"monolingual": 0, "weighting": 0.0, "smoothing": 0.0, "exclude": self.split.held}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return WordSpace.learn(vectors, seeds, model, **plain_means, **options)

    def missing(self) -> WordSpace:
        """The library's own way: every pair of every dictionary, smoothed as dictionary_methods chose."""
        return WordSpace.learn(self.vectors, self.split.train, smoothing=0.3, exclude=self.split.held)

    def ask(self, spaces: Sequence[WordSpace], rule: str) -> Results:
        """Evaluate in all directions, each in the space that knows its languages."""
        out: Results = {}
        for space in spaces:
            placed = space.place({name: self.vectors[name] for name in space.languages})
            known = [pair for pair in self.split.ask if set(pair) <= set(space.languages)]
            out |= {
                pair: evaluate_space(placed, self.split.ask[pair], rule=rule, reachable_only=True)
                for pair in known
            }
        return {pair: out[pair] for pair in self.split.ask}


def plain(steps: int, dim: int, seed: int) -> MultiBatteryFA:
    """The paper's algorithm, stopped after some steps."""
    return MultiBatteryFA(dim, init="random", accelerate=False, tol=0.0, max_iter=steps, random_state=seed)


def draw(traces: Mapping[str, Trace], path: Path) -> None:
    """Figure 1: negative log-likelihood by step, all of it and from step 100."""
    fig, axes = plt.subplots(2, 1, figsize=(7, 6))
    for ax, first in zip(axes, (0, 100), strict=True):
        for name, trace in traces.items():
            steps = np.array([line.index for line in trace])
            losses = np.array([-line.bound / line.rows for line in trace])
            shown = (steps >= first) & (steps <= 5000)
            ax.plot(
                steps[shown],
                losses[shown],
                label=f"{name}, {len(trace) - 1:,} steps",
                marker="," if first else "",
            )
        ax.set_ylabel("- log-likelihood per row")
        ax.set_title("from step 100" if first else "all steps", fontsize=9)
    axes[0].legend(fontsize=8)
    axes[1].set_xlabel("step")
    save_figure(fig, path)


def table(results: Mapping[str, Results]) -> Table:
    """Precision at one by direction, and the mean."""
    directions = list(next(iter(results.values())))
    rows = []
    for name, result in results.items():
        mean, error = mean_precision(result)
        each = [f"{100 * result[pair].precision():.1f}" for pair in directions]
        rows.append([name, *each, f"{mean:.1f} ± {error:.1f}"])
    names = ["-".join(pair).upper() for pair in directions]
    return Table("Table 1: precision at one", ["method", *names, "mean"], rows)


def verdicts(results: Mapping[str, Results], few: str, many: str) -> list[str]:
    """What the paper says of its table, and what is said of ours."""
    lines = []
    for rule in ("", "+CSLS"):
        gap, error = mean_difference(results[many + rule], results[few + rule])
        what = f"{few}{rule} and {many}{rule} are as good: {gap:+.1f} ± {error:.1f}"
        lines.append(claim(abs(gap) < max(1.0, 2 * error), what))
    for name in (few, many):
        gap, error = mean_difference(results[f"{name}+CSLS"], results[name])
        lines.append(claim(gap > 2 * error, f"CSLS adds to {name}: {gap:+.1f} ± {error:.1f}"))
    gap, error = mean_difference(results[f"{few}+CSLS"], results[f"{SAME_WORDS}+CSLS"])
    what = f"three languages jointly are better than pairs of the same words: {gap:+.1f} ± {error:.1f}"
    lines.append(claim(gap > 2 * error, what))
    for other in (f"{few}+CSLS", f"{OWN_DICTIONARY}+CSLS"):
        gap, error = mean_difference(results["MBFA, missing words+CSLS"], results[other])
        lines.append(claim(gap > 2 * error, f"missing words add to {other}: {gap:+.1f} ± {error:.1f}"))
    return lines


def main(arguments: Sequence[str] | None = None) -> Path:
    """Run the experiment and write the report."""
    parser = options_parser(__doc__, data="vectors and lexicon")
    parser.add_argument("--few", type=int, default=None, help="steps, 1,000 in the paper")
    parser.add_argument("--many", type=int, default=None, help="steps, 20,000 in the paper")
    options = parser.parse_args(arguments)
    few, many = (
        options.few or (30 if options.quick else 1_000),
        options.many or (90 if options.quick else 20_000),
    )
    folder, data = (
        own_folder(options.folder, "dictionary_table1"),
        load(data_folder(options.data, VECTORS), options.quick),
    )
    dim = data.vectors["en"].dim
    joint = {
        f"MBFA-{few}": timed(f"{few} steps", lambda: data.complete(plain(few, dim, options.seed))),
        f"MBFA-{many}": timed(f"{many} steps", lambda: data.complete(plain(many, dim, options.seed))),
        "MBFA, accelerated": timed("accelerated", lambda: data.complete(MultiBatteryFA(dim))),
        "MBFA, missing words": timed("missing words", data.missing),
    }
    spaces = {name: [space] for name, space in joint.items()} | {
        SAME_WORDS: data.pairwise(dim, same_words=True),
        OWN_DICTIONARY: data.pairwise(dim, same_words=False),
    }
    results = {
        name + mark: data.ask(some, rule)
        for rule, mark in (("cosine", ""), ("csls", "+CSLS"))
        for name, some in spaces.items()
    }
    draw(
        {name: joint[name].model.trace_ for name in (f"MBFA-{many}", "MBFA, accelerated")},
        folder / "figure1.png",
    )
    shown = table(results)
    shown.show()
    rows = {name: [space.n_rows for space in some] for name, some in spaces.items()}
    lines = ["# Table 1 and Figure 1", "", NOT_THE_PAPERS, "", *reading(__doc__, 4), f"Rows: {rows}.", ""]
    lines += [f"## {shown.title}", "", *shown.markdown(), "", "![Learning curve](figure1.png)", ""]
    lines += ["## What is said of it", "", *verdicts(results, f"MBFA-{few}", f"MBFA-{many}")]
    ends = {name: space.model.log_likelihood_ / space.n_rows for name, space in joint.items()}
    steps = {name: space.model.n_iter_ for name, space in joint.items()}
    means = {name: mean_precision(result) for name, result in results.items()}
    figures = {"mean_precision": means, "log_likelihood_per_row": ends, "rows": rows, "steps": steps}
    return write_report(folder, lines, figures)


def load(folder: Path, quick: bool) -> Languages:
    """Vectors, training and test words; with ``quick`` training words are asked for instead."""
    vectors = load_vectors(folder, LANGUAGES, 3_000 if quick else None)
    train = load_dictionaries(folder, LANGUAGES, "train")
    if quick:
        return Languages(vectors, validation_split(train))
    return Languages(vectors, test_split(train, load_dictionaries(folder, LANGUAGES, "test")))


if __name__ == "__main__":
    main()
