"""``isogloss views``: models of tables, from fit to picture."""

import csv
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from isogloss import io
from isogloss.cli.app import app
from isogloss.exceptions import IsoglossError
from isogloss.multiview import CCA, SumCor, TableModel
from isogloss.views import Views

runner = CliRunner()
WIDTHS = {"blood": 4, "scan": 5, "survey": 3}


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    """all.csv with every view, a table of each view with ids, and all.npz in the folder at hand."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    z = rng.normal(size=(60, 2))
    parts = {
        name: (z @ rng.normal(size=(2, p)) + 0.5 * rng.normal(size=(60, p))).round(6)
        for name, p in WIDTHS.items()
    }
    names = [f"{view}__f{k}" for view, p in WIDTHS.items() for k in range(p)]
    write(
        "all.csv",
        ["patient", *names],
        [[f"P{i}", *row] for i, row in enumerate(np.hstack([*parts.values()]))],
    )
    for name, x in parts.items():
        rows = [[f"P{i}", *x[i]] for i in rng.permutation(60)]
        write(f"{name}.csv", ["patient", *(f"f{k}" for k in range(x.shape[1]))], rows)
    np.savez("all.npz", **parts)
    return parts


def write(name, header, rows):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def views(*arguments, code=0):
    result = runner.invoke(app, ["views", *map(str, arguments)])
    if code != 0 and isinstance(result.exception, (IsoglossError, ValueError)):
        return str(result.exception)
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def answer(*arguments):
    return json.loads(views(*arguments, "--json"))


def read(name):
    with open(name, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_one_table_several_tables_and_an_archive_give_the_same_model():
    one = answer("fit", "all.csv", "--id", "patient")
    several = answer("fit", "blood.csv", "scan.csv", "survey.csv", "--id", "patient")
    archive = answer("fit", "all.npz")
    for a, b, c in zip(one["components"], several["components"], archive["components"], strict=True):
        assert a["correlations"].keys() == {"blood, scan", "blood, survey", "scan, survey"}
        np.testing.assert_allclose([*a["correlations"].values()], [*b["correlations"].values()], atol=1e-5)
        np.testing.assert_allclose([*a["correlations"].values()], [*c["correlations"].values()], atol=1e-5)
    assert one["views"]["scan"] == {"features": 5, "rows": 60}


def test_the_report_is_that_of_the_model(tables):
    report = answer("fit", "all.npz", "--components", "1")
    model = SumCor(1, random_state=0).fit(Views(tables))
    expected = model.correlations_[0][np.triu_indices(3, 1)]
    np.testing.assert_allclose([*report["components"][0]["correlations"].values()], expected, atol=1e-5)
    strongest = np.argsort(-np.abs(model.loadings_[1][:, 0]))[:3]
    assert report["components"][0]["features"]["scan"] == {
        str(k): pytest.approx(model.loadings_[1][k, 0], abs=1e-3) for k in strongest
    }
    shown = views("fit", "all.npz", "--components", "1")
    assert "SumCor on 60 rows of blood (4 features)" in shown
    assert "mean correlation" in shown


@pytest.mark.parametrize("kind", ["sumcor", "sscor", "maxvar", "minvar", "genvar", "sparse", "hub", "factor"])
def test_every_kind_is_fitted_saved_and_projected(kind):
    views("fit", "all.csv", "--id", "patient", "--kind", kind, "--save", "m.isogloss")
    said = views(
        *("project", "all.csv", "--id", "patient", "--view", "scan=scan*"),
        *("-m", "m.isogloss", "-o", "z.csv"),
    )
    assert "wrote 60 rows of scan to z.csv" in said
    rows = read("z.csv")
    assert rows[0] == ["patient", "scan_1", "scan_2"]
    assert len(rows) == 61


def test_two_views_are_cca_by_default(tables):
    views("fit", "blood.csv", "scan.csv", "--id", "patient", "--save", "m.isogloss")
    saved = io.load("m.isogloss", expected=TableModel)
    assert isinstance(saved.model, CCA)
    assert saved.columns == {"blood": ["f0", "f1", "f2", "f3"], "scan": ["f0", "f1", "f2", "f3", "f4"]}


def test_projections_are_those_of_the_model_whatever_the_order_of_rows_and_columns(tables):
    views("fit", "blood.csv", "scan.csv", "--id", "patient", "--standardise", "--save", "m.isogloss")
    header, *rows = read("scan.csv")
    order = [5, 3, 0, 1, 2, 4]
    write("scan.csv", [header[k] for k in order], [[row[k] for k in order] for row in rows])
    views("project", "scan.csv", "--id", "patient", "-m", "m.isogloss", "-o", "z.csv")
    found = {row[0]: [float(x) for x in row[1:]] for row in read("z.csv")[1:]}
    standard = {name: (x - x.mean(axis=0)) / x.std(axis=0) for name, x in tables.items()}
    expected = (
        CCA(2, random_state=0).fit([standard["blood"], standard["scan"]]).transform_view(standard["scan"], 1)
    )
    for i, z in enumerate(expected):
        np.testing.assert_allclose(found[f"P{i}"], z, atol=1e-6)


def test_rows_may_lack_views():
    header, *rows = read("scan.csv")
    write("scan.csv", header, [row for row in rows if row[0] not in ("P3", "P4")])
    report = answer("fit", "blood.csv", "scan.csv", "survey.csv", "--id", "patient", "--save", "m.isogloss")
    assert report["rows"] == 60
    assert report["views"]["scan"]["rows"] == 58
    views("project", "blood.csv", "scan.csv", "--id", "patient", "-m", "m.isogloss", "-o", "z.csv")
    lacking = next(row for row in read("z.csv") if row[0] == "P3")
    assert lacking[1] != ""
    assert lacking[3:] == ["", ""]


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_projections_in_other_formats(ending):
    if ending == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    views("fit", "all.npz", "--save", "m.isogloss")
    views("project", "all.npz", "-m", "m.isogloss", "-o", f"z.{ending}")
    views("project", "all.npz", "-m", "m.isogloss", "-o", "z.csv")
    expected = np.array(read("z.csv")[1:], dtype=float)[:, 1:]
    if ending == "npz":
        found = np.hstack([*np.load("z.npz").values()])
    else:
        table = parquet.read_table("z.parquet")
        found = np.stack([column.to_numpy() for column in table.columns[1:]], axis=1)
    np.testing.assert_allclose(found, expected)


def test_parquet_is_read_as_csv_is():
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    header, *rows = read("all.csv")
    columns = {name: [row[k] if k == 0 else float(row[k]) for row in rows] for k, name in enumerate(header)}
    parquet.write_table(arrow.table(columns), "all.parquet")
    assert answer("fit", "all.parquet", "--id", "patient") == answer("fit", "all.csv", "--id", "patient")


def test_a_certificate():
    views("fit", "all.npz", "--components", "1", "--save", "m.isogloss")
    certified = answer("certify", "all.npz", "-m", "m.isogloss")
    assert certified["globally_optimal"]
    assert certified["kind"] == "proven"
    assert certified["sum_of_correlations"] <= certified["upper_bound"] + 1e-9
    assert "globally optimal" in views("certify", "all.npz", "-m", "m.isogloss")


@pytest.mark.parametrize("picture", ["projections", "correlations", "loadings", "starts"])
def test_pictures(picture, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    views("fit", "all.npz", "--components", "1", "--save", "m.isogloss")
    views("plot", "all.npz", "-m", "m.isogloss", "--picture", picture, "-o", "p.svg")
    assert "</svg>" in (tmp_path / "p.svg").read_text()


def test_semicolons_and_decimal_ids_are_read(tables):
    rows = [[i, *row] for i, row in enumerate(tables["scan"])]
    with open("scan.csv", "w", newline="", encoding="utf-8-sig") as file:
        csv.writer(file, delimiter=";").writerows([["patient", *(f"f{k}" for k in range(5))], *rows])
    header, *others = read("blood.csv")
    write("blood.csv", header, [[row[0][1:], *row[1:]] for row in others])
    assert answer("fit", "blood.csv", "scan.csv", "--id", "patient")["rows"] == 60


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["all.csv"], 1, "row 1 of column 'patient' is 'P0', not a number; .* --id patient"),
        (["all.csv", "--id", "name"], 1, "no column 'name' .--id.; its columns are patient, blood__f0"),
        (["blood.csv", "--id", "patient"], 1, "does not say which columns belong to which view; give --view"),
        (["all.csv", "--id", "patient", "--view", "a=x*"], 1, "no column is called 'x\\*'"),
        (["all.csv", "--id", "patient", "--view", "blood"], 2, "expected NAME=COLUMNS"),
        (["none.csv"], 1, "none.csv: there is no such file"),
        (["scan.csv", "all.npz", "--id", "patient"], 1, "holds all views; give it alone"),
        (["all.npz", "--id", "patient"], 2, "are for tables"),
        (["all.npz", "--kind", "pca"], 2, "expected auto, cca, sumcor"),
        (["all.npz", "--penalty", "0.1"], 2, "--penalty is for --kind sparse"),
        (["all.npz", "--kind", "cca"], 1, "CCA takes two views; got 3"),
        (["all.npz", "--components", "4"], 1, "n_components=4 is more than view 2 has"),
        (["blood.csv", "blood.csv", "--id", "patient"], 1, "two tables have the same name"),
    ],
)
def test_what_cannot_be_fitted(arguments, code, message, tmp_path):
    said = views("fit", *arguments, "--save", "m.isogloss", code=code)
    assert re.search(message, " ".join(said.replace("│", " ").split()))
    assert not (tmp_path / "m.isogloss").exists()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "row 'P6' of view 'blood' has no value for 'blood__f1'"),
        ("NA", "row 'P6' of view 'blood' has no value for 'blood__f1'"),
        ("tall", "row 7 of column 'blood__f1' is 'tall', not a number"),
        ("inf", "row 7 of column 'blood__f1' is infinite"),
    ],
)
def test_cells_that_are_no_numbers(value, message):
    header, *rows = read("all.csv")
    rows[6][2] = value
    write("all.csv", header, rows)
    assert message in views("fit", "all.csv", "--id", "patient", code=1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; expected a line of column names"),
        (b"a,b\n1\n", "bad.csv:2: has 1 fields; the first line names 2 columns"),
        (b"a,a\n1,2\n", "column 'a' occurs more than once"),
        (b"a__x,b__x\n", "has 2 columns of numbers and 0 rows"),
        (b"a,b\n\xff,1\n", "is not UTF-8"),
        (b"\x1f\x8bnothing", "damaged"),
    ],
)
def test_tables_that_are_none(content, message, tmp_path):
    (tmp_path / "bad.csv").write_bytes(content)
    assert message in views("fit", "bad.csv", code=1)


def test_archives_are_of_numbers_and_never_run_code():
    np.savez("bad.npz", a=np.array([{}], dtype=object))
    assert "cannot be read as an .npz file" in views("fit", "bad.npz", code=1)
    np.savez("bad.npz", a=np.zeros(3), b=np.zeros((3, 1)))
    assert "array 'a' has shape (3,)" in views("fit", "bad.npz", code=1)


def test_tables_of_unequal_length_need_ids(tables):
    write("a.csv", ["x"], [[1.0], [2.0]])
    write("b.csv", ["x"], [[1.0]])
    assert "different numbers of rows" in views("fit", "a.csv", "b.csv", code=1)


def test_rows_with_the_same_id(tables):
    header, *rows = read("scan.csv")
    write("scan.csv", header, [*rows, rows[0]])
    said = views("fit", "blood.csv", "scan.csv", "--id", "patient", code=1)
    assert "rows 1 and 61 have the same id" in said


def test_models_that_do_not_fit_the_rows():
    views("fit", "all.csv", "--id", "patient", "--save", "m.isogloss")
    assert "none of the views" in views(
        "project",
        "all.csv",
        "--id",
        "patient",
        "--view",
        "other=blood*",
        "-m",
        "m.isogloss",
        "-o",
        "z.csv",
        code=1,
    )
    assert "lacks columns that the model was fitted on: blood__f3" in views(
        *("project", "all.csv", "--id", "patient", "--view", "blood=*f0,*f1,*f2"),
        *("-m", "m.isogloss", "-o", "z.csv"),
        code=1,
    )
    assert "'survey' is not given" in views(
        *("certify", "all.csv", "--id", "patient", "--view", "blood=blood*", "--view", "scan=scan*"),
        *("-m", "m.isogloss"),
        code=1,
    )


def test_only_sumcor_is_certified():
    views("fit", "all.npz", "--kind", "maxvar", "--save", "m.isogloss")
    assert "MaxVar is the solution of an eigenproblem" in views(
        "certify", "all.npz", "-m", "m.isogloss", code=1
    )


def test_outputs_are_checked_before_the_work(tmp_path):
    views("fit", "all.npz", "--save", "m.isogloss")
    assert "expected a name that ends in .csv, .parquet or .npz" in views(
        "project", "all.npz", "-m", "m.isogloss", "-o", "z.txt", code=2
    )
    assert "nowhere" in views("fit", "all.npz", "--save", "nowhere/m.isogloss", code=1)
    assert "the model has 2 components" in views(
        "plot", "all.npz", "-m", "m.isogloss", "--component", "3", "-o", "p.svg", code=2
    )
    assert not (tmp_path / "p.svg").exists()
