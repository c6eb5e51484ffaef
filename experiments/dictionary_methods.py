r"""Which map between languages finds most translations: one for each pair, or one for all with missing words.

    python -m experiments.dictionary_methods [folder] [--data FOLDER] [--quick] [--seed N]

Five languages, nine dictionaries between them, sixteen directions. Four methods:

* Procrustes: a rotation for each pair.
* InterBatteryFA: a factor model for each pair.
* MultiBatteryFA, complete: one model for all, fitted to the concepts that have a word in every language (the
  inner join of the English dictionaries), as in the paper.
* MultiBatteryFA, missing words: one model for all, fitted to every pair of every dictionary and to every word
  of every language, whatever is missing.

A fifth of the training words of every dictionary is the validation part; smoothing and weighting of each
method are chosen there by mean precision at one with CSLS; all have as many components as a vector has
dimensions, and models that iterate take at most 100 steps. Then each method is fitted to all training words
and asked for the test words, once (with --quick another part of the training words is asked for instead).
No row of a joint model holds both words of a pair that is asked for, not even by way of a third language.
Standard errors are over queries.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
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
    LANGUAGES,
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
from isogloss.factor import InterBatteryFA, MultiBatteryFA
from isogloss.lexicon import Evaluation, Procrustes, WordSpace, WordVectors, evaluate_space

Results = dict[Direction, Evaluation]
Settings = dict[str, Any]
STEPS = 100
BEST = "MultiBatteryFA, missing words"
SMOOTHINGS, WEIGHTINGS = (0.0, 0.3, 0.6), (0.0, 0.5)


def ask(
    space: WordSpace, vectors: Mapping[str, WordVectors], split: Split, pairs: Sequence[Direction]
) -> Results:
    """Evaluate a space in some directions."""
    placed = space.place(vectors)
    return {pair: evaluate_space(placed, split.ask[pair], reachable_only=True) for pair in pairs}


def per_pair(
    make: Callable[..., Any], vectors: Mapping[str, WordVectors], split: Split, settings: Settings
) -> Results:
    """A model of its own for every two languages."""
    out: Results = {}
    for a, b in sorted({(min(pair), max(pair)) for pair in split.ask}):
        two = {name: vectors[name] for name in (a, b)}
        seeds = [one for one in split.train if {one.source, one.target} == {a, b}]
        space = learn(make, two, seeds, split, settings)
        out |= ask(space, two, split, [pair for pair in split.ask if set(pair) == {a, b}])
    return out


def joint(
    make: Callable[..., Any], vectors: Mapping[str, WordVectors], split: Split, settings: Settings
) -> Results:
    """One model for all languages."""
    return ask(learn(make, vectors, split.train, split, settings), vectors, split, list(split.ask))


def learn(
    make: Callable[..., Any],
    vectors: Mapping[str, WordVectors],
    seeds: Sequence[Any],
    split: Split,
    settings: Settings,
) -> WordSpace:
    """Fit a space with some settings."""
    dim = min(one.dim for one in vectors.values())
    options = {} if make is Procrustes else {"n_components": dim, "max_iter": STEPS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return WordSpace.learn(vectors, seeds, make(**options), exclude=split.held, **settings)


def grid(**fixed: Any) -> list[Settings]:
    """All settings of a factor model."""
    return [{"smoothing": s, "weighting": q, **fixed} for s, q in product(SMOOTHINGS, WEIGHTINGS)]


METHODS: dict[str, tuple[Callable[..., Results], Callable[..., Any], list[Settings]]] = {
    "Procrustes": (per_pair, Procrustes, [{}]),
    "InterBatteryFA": (per_pair, InterBatteryFA, grid()),
    "MultiBatteryFA, complete": (joint, MultiBatteryFA, grid(rows="complete", monolingual=0)),
    BEST: (joint, MultiBatteryFA, grid()),
}


def choose(
    name: str, vectors: Mapping[str, WordVectors], split: Split, quick: bool
) -> tuple[Settings, float]:
    """The settings that do best on the validation part, and how well."""
    run, make, candidates = METHODS[name]
    scores = []
    for settings in candidates[:: 5 if quick else 1]:
        scores.append(mean_precision(run(make, vectors, split, settings))[0])
        print(f"  {name}, {settings}: {scores[-1]:.1f}", flush=True)
    best = max(range(len(scores)), key=scores.__getitem__)
    return candidates[:: 5 if quick else 1][best], scores[best]


def draw(results: Mapping[str, Results], path: Path) -> None:
    """Precision by direction."""
    fig, ax = plt.subplots(figsize=(11, 4))
    directions = list(next(iter(results.values())))
    for number, (name, result) in enumerate(results.items()):
        at = [i + 0.2 * (number - 1.5) for i in range(len(directions))]
        heights = [100 * result[pair].precision() for pair in directions]
        errors = [100 * result[pair].standard_error() for pair in directions]
        ax.bar(at, heights, 0.2, yerr=errors, label=name, error_kw={"lw": 0.8})
    ax.set_xticks(range(len(directions)), ["-".join(pair) for pair in directions], rotation=45)
    ax.set_ylabel("precision at 1, %")
    ax.legend(fontsize=8, ncols=2)
    save_figure(fig, path)


def tables(results: Mapping[str, Results], chosen: Mapping[str, tuple[Settings, float]]) -> list[Table]:
    """The means, and every direction."""
    means = []
    for name, result in results.items():
        gap = mean_difference(results[BEST], result)
        ends = (mean_precision(result, 1), mean_precision(result, 10))
        settings = ", ".join(f"{key} {value}" for key, value in chosen[name][0].items()) or "none"
        shown = [f"{mean:.1f} ± {error:.1f}" for mean, error in ends]
        means.append([name, *shown, f"{gap[0]:+.1f} ± {gap[1]:.1f}", f"{chosen[name][1]:.1f}", settings])
    header = ["method", "P@1, test", "P@10, test", "gain of the last", "P@1, validation", "settings chosen"]
    names = list(results)
    rows = [
        ["-".join(pair), str(results[BEST][pair].n_queries)]
        + [f"{100 * results[name][pair].precision():.1f}" for name in names]
        for pair in results[BEST]
    ]
    return [
        Table("Mean over directions, CSLS", header, means),
        Table("P@1 by direction", ["direction", "queries", *names], rows),
    ]


def main(arguments: Sequence[str] | None = None) -> Path:
    """Run the experiment and write the report."""
    parser = options_parser(__doc__, data="vectors and lexicon")
    options = parser.parse_args(arguments)
    data, folder = data_folder(options.data, VECTORS), own_folder(options.folder, "dictionary_methods")
    languages = LANGUAGES[:3] if options.quick else LANGUAGES
    vectors = load_vectors(data, languages, 3_000 if options.quick else None)
    train = load_dictionaries(data, languages, "train")
    validation = validation_split(train)
    if options.quick:
        final = validation_split(validation.train)
    else:
        final = test_split(train, load_dictionaries(data, languages, "test"))
    chosen = {
        name: timed(name, lambda name=name: choose(name, vectors, validation, options.quick))
        for name in METHODS
    }
    results = {name: run(make, vectors, final, chosen[name][0]) for name, (run, make, _) in METHODS.items()}
    draw(results, folder / "directions.png")
    shown = tables(results, chosen)
    lines = [
        "# One map for all languages, or one for each pair",
        "",
        NOT_THE_PAPERS,
        "",
        *reading(__doc__, 4),
    ]
    for table in shown:
        table.show()
        lines += [f"## {table.title}", "", *table.markdown(), ""]
    lines += ["![Precision by direction](directions.png)", "", "## What it must show", ""]
    for name in list(results)[:-1]:
        gain, error = mean_difference(results[BEST], results[name])
        lines.append(claim(gain > 2 * error, f"missing words above {name}: {gain:+.1f} ± {error:.1f}"))
    figures = {
        name: {"-".join(pair): one.as_dict() for pair, one in result.items()}
        for name, result in results.items()
    }
    return write_report(
        folder, lines, {"settings": {name: s for name, (s, _) in chosen.items()}, "results": figures}
    )


if __name__ == "__main__":
    main()
