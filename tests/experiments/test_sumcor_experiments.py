"""The experiments on SUMCOR count what they say they count, and write their reports at toy size."""

import gzip
import json
from itertools import groupby

import numpy as np
import pytest
from scipy import sparse

from experiments import sumcor_convergence, sumcor_documents, sumcor_tables
from experiments._report import Table, claim
from experiments._sumcor_problems import NOISE, one_dimensional_structure, random_problem
from isogloss.stats import ViewMoments
from isogloss.views import Views
from tests.oracles.sumcor import brute_force

LANGUAGES = ("en", "es", "de")


def told(folder):
    """The report and the figures of an experiment; a picture that the report shows exists."""
    report = (folder / "report.md").read_text()
    for line in report.splitlines():
        if line.startswith("!["):
            assert (folder / line.partition("(")[2].rstrip(")")).stat().st_size > 1_000
    return report, json.loads((folder / "report.json").read_text())


@pytest.mark.parametrize("kind", sumcor_tables.KINDS)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 3, 1, 2)])
def test_random_problems_are_correlations_of_whitened_views(rng, kind, sizes):
    A = random_problem(kind, sizes, rng)
    np.testing.assert_allclose(A, A.T, atol=1e-12)
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        np.testing.assert_array_equal(A[end - size : end, end - size : end], np.eye(size))
    assert np.linalg.eigvalsh(A)[0] > -1e-9


def test_a_structure_is_in_the_first_feature_of_every_view(rng):
    C = one_dimensional_structure((2, 3, 2), rng)
    first = [0, 2, 5]
    rest = np.ones_like(C, dtype=bool)
    rest[np.ix_(first, first)] = False
    np.fill_diagonal(rest, False)
    assert np.abs(C[rest]).max() <= NOISE
    assert np.abs(C[np.ix_(first, first)] - np.eye(3)).max() > 10 * NOISE
    np.testing.assert_allclose(np.diag(C), 1.0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((5.0, 5.0), (0.0, 0.0, 0.0, 1.0)),
        ((4.9, 4.9), (1.0, 0.0, 0.0, 0.0)),
        ((5.0, 4.7), (0.0, 0.5, 0.0, 0.5)),
        ((5.0, 4.9), (0.0, 0.0, 0.0, 0.5)),
        ((5.0, 3.1), (0.0, 0.5, 0.5, 0.5)),
    ],
)
def test_outcomes_are_judged_as_in_the_source(values, expected):
    """Of three views, the correlations sum to half of what the value is above 3."""
    assert sumcor_tables.judge(np.array(values), 3, best=5.0, bound=5.0, lower=3.2) == expected


def test_a_tenth_of_little_is_no_local_convergence():
    assert not sumcor_tables.judge(np.array([3.5, 3.32]), 3, best=3.5, bound=3.5, lower=3.1).local


@pytest.mark.parametrize("sizes", [(1, 1, 1), (1, 1, 1, 1, 1), (2, 2, 2)])
def test_both_methods_find_the_brute_force_optimum(rng, sizes):
    A = random_problem("gram", sizes, rng)
    best = brute_force(A, sizes, rng)
    for values in sumcor_tables.solutions(A, sizes, rng.standard_normal((len(A), 300))).values():
        assert values.max() == pytest.approx(best, rel=1e-9)
        assert values.shape == (300,)


def test_shares_are_compared_with_the_published_ones():
    cell = sumcor_tables.Cell("gram", 5, 1)
    assert [cell.published(event) for event in sumcor_tables.EVENTS] == [17, 48, 14]
    outcomes = [sumcor_tables.Outcome(float(i < 17), 0.5, 0.1, 0.4) for i in range(100)]
    results = {cell: {"Horst": outcomes}}
    assert sumcor_tables.same_gap(results, cell)
    assert sumcor_tables.difference(results, cell, "local") == pytest.approx(2.0)
    assert sumcor_tables.difference(results, cell, "below") == pytest.approx(4.0)
    outcomes = [sumcor_tables.Outcome(float(i < 50), 0.5, 0.1, 0.4) for i in range(100)]
    assert not sumcor_tables.same_gap({cell: {"Horst": outcomes}}, cell)


def test_the_printed_algorithm_starts_where_the_numbers_are_drawn():
    """Its first step weighs views by the lengths of their starts; normalised starts are weighed alike."""
    A = np.array([[1.0, 0.5, -0.4], [0.5, 1.0, 0.6], [-0.4, 0.6, 1.0]])
    start = np.array([[0.1], [2.0], [-0.3]])
    printed, normalised = (
        sumcor_tables.solutions(A, (1, 1, 1), start)[name][0] for name in ("Horst", "Horst, normalised")
    )
    signs = np.sign(A @ start)  # of one feature each, views keep these signs
    assert printed == pytest.approx((signs.T @ A @ signs).item())
    assert printed > normalised + 0.1


def test_the_tables_write_their_report(tmp_path):
    sumcor_tables.main([str(tmp_path), "--instances", "2", "--starts", "20"])
    report, figures = told(tmp_path / "sumcor_tables")
    assert "Table 8.3" in report
    cells = figures["cells"]
    assert len(cells) == 4 * 2 * 3 * 3
    assert all(0 < cell["best"] <= 100 and cell["gap"] <= 100 and cell["problems"] == 2 for cell in cells)


def test_changes_are_those_of_the_printed_algorithm(rng):
    A, x = random_problem("gram", sumcor_convergence.SIZES, rng), rng.standard_normal(10)
    x = (x.reshape(5, 2) / np.linalg.norm(x.reshape(5, 2), axis=1, keepdims=True)).ravel()
    expected, start = [], x
    for _ in range(8):
        old, y = x, (A @ x).reshape(5, 2)
        x = (y / np.linalg.norm(y, axis=1, keepdims=True)).ravel()
        expected.append(np.log10(np.linalg.norm(old - x) / np.linalg.norm(x)))
    np.testing.assert_allclose(sumcor_convergence.changes_of(A, start, 8), expected, rtol=1e-6)


def test_the_slope_of_a_straight_path_is_exact():
    path = np.append(-1.0 - 0.08 * np.arange(50), [np.nan] * 5)
    assert sumcor_convergence.slope_of(path) == pytest.approx(-0.08)
    assert sumcor_convergence.straightness(path) == pytest.approx(1.0)


def test_sweeps_are_counted_to_the_last_that_mattered():
    assert sumcor_convergence.sweeps_needed(np.array([1.0, 0.1, 1e-11, 0.0])) == 2
    assert sumcor_convergence.sweeps_needed(np.array([0.0])) == 0


def test_two_maxima_are_two(rng):
    problem = next(sumcor_convergence.problems_with_two_maxima(60, rng))
    high, low = problem.values
    assert high > low
    assert 0 < problem.share < 1
    paths = sumcor_convergence.paths_of(problem, 2)
    assert len(paths.slopes) == min(2, problem.best.sum()) + min(2, (~problem.best).sum())
    assert paths.mean_slope(best=True) < 0


@pytest.mark.slow
def test_the_convergence_experiment_writes_its_report(tmp_path):
    sumcor_convergence.main([str(tmp_path), "--instances", "3", "--starts", "20", "--others", "1"])
    report, figures = told(tmp_path / "sumcor_convergence")
    assert "Figure 8.2" in report
    assert len(figures["slopes"]) == 3
    assert 0 < figures["shown"]["share_global"] < 1


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Sentences of thirty words, translated word by word; four lines make a page."""
    folder, rng = tmp_path_factory.mktemp("corpus"), np.random.default_rng(5)
    topics = rng.dirichlet(np.full(30, 0.2), size=6)
    words = [rng.choice(30, size=12, p=topics[rng.integers(6)]) for _ in range(400)]
    columns = {"ids": [f"page{i // 4}#{i}" for i in range(400)]}
    columns |= {code: [" ".join(f"{code}{w}" for w in line) for line in words] for code in LANGUAGES}
    columns["de"][2] = ""
    for name, lines in columns.items():
        with gzip.open(folder / f"{name}.txt.gz", "wt", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return folder


def test_documents_are_complete_lines_of_one_page(corpus):
    documents = sumcor_documents.read_documents(corpus, LANGUAGES, lines=2)
    assert len(documents) == 200
    assert [len(text.split()) for text in documents[0]] == [24, 24, 24]
    assert [len(text.split()) for text in documents[1]] == [12, 12, 12]
    assert documents[5][2] == documents[5][0].replace("en", "de")


def test_a_repeated_document_counts_once(corpus, tmp_path):
    for path in corpus.iterdir():
        lines = gzip.decompress(path.read_bytes()).decode()
        again = lines.replace("page", "again") if path.name == "ids.txt.gz" else lines
        with gzip.open(tmp_path / path.name, "wt", encoding="utf-8") as file:
            file.write(lines + again)
    documents = sumcor_documents.read_documents(tmp_path, LANGUAGES, lines=4)
    assert len(documents) == 100
    assert all(len(list(same)) == 1 for _, same in groupby(sorted(text for text, *_ in documents)))


def test_a_missing_corpus_is_a_sentence(tmp_path):
    with pytest.raises(SystemExit, match=r"there is no parallel/lohelp in .*give --data"):
        sumcor_documents.main([str(tmp_path), "--data", str(tmp_path / "nowhere")])


def test_a_ridge_of_sums_is_a_ridge_of_covariances(rng):
    X, gamma = rng.standard_normal((50, 4)), 0.9
    r = sumcor_documents.per_row(gamma, 50)
    of_sums = (1 - gamma) * X.T @ X + gamma * np.eye(4)
    of_covariances = (1 - r) * X.T @ X / 49 + r * np.eye(4)
    ratio = of_sums / of_covariances
    np.testing.assert_allclose(ratio, ratio[0, 0])


def test_mirrored_rows_have_uncentred_moments(rng):
    X = rng.standard_normal((30, 3)) + 5.0
    moments = ViewMoments([3]).update(sumcor_documents.mirrored(Views([sparse.csr_array(X)])))
    np.testing.assert_allclose(moments.covariance(0), X.T @ X / (30 - 0.5))


@pytest.mark.slow
def test_the_documents_experiment_writes_its_report(corpus, tmp_path):
    sizes = {"lines": 2, "rows": 120, "test-rows": 60, "directions": 2, "starts": 3, "trials": 1}
    options = [word for name, value in sizes.items() for word in (f"--{name}", str(value))]
    languages = ["--languages", ",".join(LANGUAGES)]
    sumcor_documents.main([str(tmp_path), "--data", str(corpus), "--corpus", ".", *languages, *options])
    report, figures = told(tmp_path / "sumcor_documents")
    assert "Reading 'uncentred'" in report
    outcomes = figures["outcomes"]
    assert len(outcomes) == 3 * 4 * 5
    assert all(-3 <= o["test"] <= 3 and o["gap"] < 0.01 for o in outcomes)
    assert all(o["train"] > 2.5 for o in outcomes if o["reading"] == "sums" and o["kappa"] == 0.01)


def test_a_table_is_markdown():
    table = Table("t", ["", "a"], [["x", "1"]])
    assert table.markdown() == ["|  | a |", "|---|---|", "| x | 1 |"]
    assert "**does not hold**" in claim(False, "x")
