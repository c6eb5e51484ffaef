"""``isogloss demo models``: the models at work on data made on the spot."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from isogloss.cli._console import Console
from isogloss.cli._options import Json, RandomState
from isogloss.cli._output import echo_json, not_stdout, program
from isogloss.cli._progress import EMProgress
from isogloss.cli.demo._report import write_report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isogloss.em import Recorder
    from isogloss.mixture import GaussianMixture

VARIANTS: dict[str, dict[str, Any]] = {
    "EM": {},
    "sparse EM": {"algorithm": "sparse"},
    "accelerated EM": {"accelerate": True},
    "generalised EM": {"algorithm": "generalised"},
    "incremental EM": {"algorithm": "incremental", "batch_rows": 2000},
}
COMPONENTS = 6


def models(
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="Output folder for pictures and the model file.", callback=not_stdout
        ),
    ] = Path("demo-output"),
    random_state: RandomState = 0,
    rows: Annotated[int, typer.Option(help="Number of rows in the mixture.", min=100)] = 20_000,
    as_json: Json = False,
) -> None:
    """Fit a mixture in five ways, merge incomplete views, find what three views share, and draw it."""
    output.mkdir(parents=True, exist_ok=True)

    import numpy as np

    from isogloss import io
    from isogloss.em import Recorder
    from isogloss.extras import has_module

    console = Console(quiet=as_json)
    pictures = has_module("matplotlib.figure")
    if not pictures:
        console.print(escape("No pictures: matplotlib is not installed; pip install 'isogloss[plot]'\n"))
    rng = np.random.default_rng(random_state)
    x = _islands(rng, rows)
    recorder: Recorder[Any] = Recorder()
    fits = _fit_variants(x, recorder, console)
    results = {
        "mixture": {name: _summary(mixture, seconds) for name, (mixture, seconds) in fits.items()},
        "moments": _add_up(rng),
        "gaps": _fill_gaps(rng),
        "views": _find_agreement(rng),
    }
    _print(results, console)
    traces = {name: mixture.trace_ for name, (mixture, _) in fits.items()}
    files = [output / "mixture.isogloss"]
    io.save(fits["EM"][0], files[0])
    console.print(f"\nThe model is in {files[0]}: {program()} model info {files[0]}")
    if pictures:
        files += write_report(output, x, recorder, traces)
        console.print(f"Pictures are in {files[-1]}")
    if as_json:
        echo_json(results | {"files": [str(path) for path in files]}, indent=2)


def _islands(rng: np.random.Generator, rows: int) -> NDArray[np.float64]:
    """Six stretched islands in the plane, some of which touch."""
    import numpy as np

    angle = np.linspace(0.0, 2 * np.pi, COMPONENTS, endpoint=False)
    centres = 8.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    labels = rng.choice(COMPONENTS, size=rows, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    along = rng.normal(size=rows) * 1.5
    across = rng.normal(size=rows) * 0.5
    turn = angle[labels] + np.pi / 3
    offset = np.column_stack(
        [along * np.cos(turn) - across * np.sin(turn), along * np.sin(turn) + across * np.cos(turn)]
    )
    return np.asarray(centres[labels] + offset)


def _fit_variants(
    x: NDArray[np.float64], recorder: Recorder[Any], console: Console
) -> dict[str, tuple[GaussianMixture, float]]:
    """The same mixture from the same start, by every variant of EM."""
    import numpy as np

    from isogloss.mixture import EMVariants, GaussianMixture

    variants = EMVariants(step=0.7)
    start = x[np.random.default_rng(2).choice(len(x), COMPONENTS, replace=False)]
    fits = {}
    for name, options in VARIANTS.items():
        mixture = GaussianMixture(
            COMPONENTS,
            means_init=start,
            tol=1e-7,
            max_iter=1000,
            random_state=0,
            variants=variants,
            **options,
        )
        began = time.perf_counter()
        with EMProgress(name, mixture.max_iter, console=console) as progress:
            mixture.fit(x, callbacks=[progress, *([recorder] if name == "EM" else [])])
        fits[name] = mixture, time.perf_counter() - began
    return fits


def _summary(mixture: GaussianMixture, seconds: float) -> dict[str, Any]:
    kinds = [line.kind for line in mixture.trace_]
    return {
        "steps": mixture.n_iter_,
        "sparse_steps": kinds.count("sparse"),
        "bound_per_row": mixture.lower_bound_,
        "converged": mixture.converged_,
        "seconds": round(seconds, 3),
    }


def _add_up(rng: np.random.Generator) -> dict[str, Any]:
    """Moments of three views with gaps, in one pass and as a sum of seven parts."""
    import numpy as np

    from isogloss.stats import ViewMoments
    from isogloss.views import Views

    latent = rng.normal(size=(5000, 4))
    data = [latent @ rng.normal(size=(4, p)) + rng.normal(size=(5000, p)) for p in (30, 20, 10)]
    views = Views(dict(zip(("en", "de", "sl"), data, strict=True)), present=rng.random((5000, 3)) < 0.7)
    whole = ViewMoments(views.dims).update(views)
    parts = ViewMoments(views.dims)
    for rows in np.array_split(rng.permutation(5000), 7):
        parts.merge(ViewMoments(views.dims).update(views[rows]))
    difference = np.abs(whole.joint_covariance() - parts.joint_covariance()).max()
    return {"rows_shared": whole.counts.tolist(), "largest_difference": float(difference)}


def _fill_gaps(rng: np.random.Generator) -> dict[str, float]:
    """Hide a fifth of the values of a correlated mixture, fit what is left, and guess what was hidden."""
    import numpy as np

    from isogloss.mixture import GaussianMixture

    labels = rng.integers(3, size=3000)
    x = 3.0 * rng.normal(size=(3, 6))[labels] + rng.normal(size=(3000, 2)) @ rng.normal(size=(2, 6))
    x += 0.3 * rng.normal(size=x.shape)
    hidden = rng.random(x.shape) < 0.2
    hidden[hidden.all(axis=1)] = False
    seen = np.where(hidden, np.nan, x)
    mixture = GaussianMixture(3, missing="marginalise", random_state=0, max_iter=300).fit(seen)
    error = float(np.sqrt(((mixture.impute(seen) - x)[hidden] ** 2).mean()))
    naive = float(np.sqrt(((np.nanmean(seen, axis=0) - x)[hidden] ** 2).mean()))
    return {"error_of_mixture": error, "error_of_mean": naive}


def _find_agreement(rng: np.random.Generator) -> dict[str, Any]:
    """Recover the signal that three noisy views share, and bound what a better solution could gain."""
    from isogloss.multiview import SumCor
    from isogloss.views import Views

    latent = rng.normal(size=(1000, 2))
    names = ("en", "de", "sl")
    data = [latent @ rng.normal(size=(2, p)) + rng.normal(size=(1000, p)) for p in (12, 9, 15)]
    model = SumCor(1, random_state=0).fit(Views(dict(zip(names, data, strict=True))))
    certificate = model.certificate_
    return {
        "sum_of_correlations": model.objective_,
        "upper_bound": certificate.correlations(certificate.bound),
        "globally_optimal": certificate.globally_optimal,
    }


def _print(results: dict[str, Any], console: Console) -> None:
    table = Table(title="One mixture, five ways", title_justify="left")
    for column in ("algorithm", "steps", "of them sparse", "bound per row", "seconds"):
        table.add_column(column, justify="left" if column == "algorithm" else "right")
    for name, fit in results["mixture"].items():
        table.add_row(
            name,
            str(fit["steps"]),
            str(fit["sparse_steps"]),
            f"{fit['bound_per_row']:.6f}",
            f"{fit['seconds']:.2f}",
        )
    console.print(table)
    moments, gaps, views = results["moments"], results["gaps"], results["views"]
    console.print(
        f"Sums add: moments of three incomplete views in seven shuffled parts differ from one pass by "
        f"{moments['largest_difference']:.1e}."
    )
    console.print(
        f"Missing values: a fifth of the numbers hidden and guessed back with an error of "
        f"{gaps['error_of_mixture']:.2f} (guessing the mean: {gaps['error_of_mean']:.2f})."
    )
    verdict = "proven to be the global maximum" if views["globally_optimal"] else "not proven to be the best"
    console.print(
        f"Three views: a direction in each, with correlations that sum to {views['sum_of_correlations']:.4f} "
        f"of 3; {verdict} (no other choice exceeds {views['upper_bound']:.4f})."
    )
