"""BIF, XMLBIF and JSON files."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isogloss.exceptions import NetworkFileError
from isogloss.graphical import (
    CPD,
    BayesianNetwork,
    Variable,
    asia,
    read_bif,
    read_network,
    read_xmlbif,
    student,
    write_bif,
    write_network,
    write_xmlbif,
)
from tests.oracles.enumerate_network import random_network

DOG = """\
// a comment
network "Dog-Problem" { // 2 variables
    property "credal-set constant-density-bounded 1.1" ;
}
variable "family-out" { //2 values
    type discrete[2] { "true" "false" };
    property "position = (257, 99)" ;
}
variable  "light-on" { type discrete[2] { "true" "false" }; }
variable bowel { type discrete [ 2 ] { true, false }; }
variable dog { type discrete [ 3 ] { in, out, <5+/x }; }
/* a longer
   comment */
probability ( "light-on" "family-out" ) { table 0.6 0.05 0.4 0.95 ; }
probability ( "family-out" ) { table 0.15 0.85 ; }
probability ( bowel ) { table 1e-2, 0.99; }
probability ( dog | bowel, family-out ) {
    default 0.25, 0.25, 0.5;
    (true, false) 0.5, 0.5, 0;
    (false, true) 0, 0, 1;
}
"""


@pytest.fixture
def written(tmp_path):
    def write(text, name="a.bif"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def test_every_form_of_bif_is_read(written):
    network = read_bif(written(DOG))
    assert network.name == "Dog-Problem"
    assert network.names == ("family-out", "light-on", "bowel", "dog")
    np.testing.assert_array_equal(network.cpd("light-on").values, [[0.6, 0.4], [0.05, 0.95]])
    np.testing.assert_array_equal(network.cpd("bowel").values, [0.01, 0.99])
    assert network.variable("dog").states == ("in", "out", "<5+/x")
    expected = [[[0.25, 0.25, 0.5], [0.5, 0.5, 0]], [[0, 0, 1], [0.25, 0.25, 0.5]]]
    np.testing.assert_array_equal(network.cpd("dog").values, expected)


def test_in_a_table_the_states_of_the_last_parent_change_fastest(written):
    text = DOG.replace("default 0.25, 0.25, 0.5;", "").replace("(true, false) 0.5, 0.5, 0;", "")
    text = text.replace("(false, true) 0, 0, 1;", "table .1 .2 .3 .4  .2 .3 .4 .5  .7 .5 .3 .1;")
    dog = read_bif(written(text)).cpd("dog").table
    assert [dog[b, f, "in"] for b in ("true", "false") for f in ("true", "false")] == [0.1, 0.2, 0.3, 0.4]
    assert dog["false", "true", "<5+/x"] == 0.3


@pytest.mark.parametrize(
    "ending", ["bif", "xml", "xmlbif", "bifxml", "json", "isogloss", "bif.gz", "json.gz"]
)
@pytest.mark.parametrize("network", [student(), asia()], ids=lambda n: n.name)
def test_networks_come_back_from_every_kind_of_file(tmp_path, network, ending):
    path = tmp_path / f"network.{ending}"
    write_network(network, path)
    assert read_network(path) == network


names = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters='"'), min_size=1, max_size=6
).filter(lambda name: name == name.strip())


@st.composite
def networks(draw):
    """Networks with odd names and odd numbers."""
    network = random_network(
        np.random.default_rng(draw(st.integers(0, 10_000))), draw(st.integers(1, 4)), zeros=0.2
    )
    given = draw(st.lists(names, min_size=len(network), max_size=len(network), unique=True))
    rename = dict(zip(network.names, given, strict=True))
    states = draw(st.lists(names, min_size=3, max_size=3, unique=True))
    new = {v.name: Variable(rename[v.name], states[: v.card]) for v in network.variables}
    cpds = [CPD(new[c.name], [new[p] for p in c.parent_names], c.values) for c in network.cpds]
    return BayesianNetwork(cpds, draw(names))


@given(networks())
def test_numbers_and_names_come_back_to_the_bit(tmp_path_factory, network):
    folder = tmp_path_factory.mktemp("files")
    write_bif(network, folder / "a.bif")
    write_xmlbif(network, folder / "a.xml")
    write_network(network, folder / "a.json")
    assert read_bif(folder / "a.bif").cpds == network.cpds
    assert read_xmlbif(folder / "a.xml") == network
    assert read_network(folder / "a.json") == network


def test_a_file_of_few_digits_is_scaled_and_a_wrong_one_refused(written):
    text = DOG.replace("table 0.15 0.85", "table 0.3333 0.6666")
    values = read_bif(written(text)).cpd("family-out").values
    assert values.sum() == pytest.approx(1, abs=1e-15)
    assert values[0] == pytest.approx(1 / 3, abs=1e-4)
    with pytest.raises(
        NetworkFileError, match=r"a\.bif:15: P\(family-out\): the probabilities sum to 0\.9999"
    ):
        read_bif(written(text), tolerance=1e-5)
    with pytest.raises(NetworkFileError, match=r"sum to 0\.98"):
        read_bif(written(DOG.replace("0.15 0.85", "0.13 0.85")))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("network", "netwrk", "2: 'netwrk'; expected 'network', 'variable' or 'probability'"),
        ('discrete[2] { "true" "false" };\n', "discrete[3] { a b };\n", "6: '3'; expected 2, the number of"),
        ("type discrete[2]", "type continuous[2]", "6: 'continuous'; expected 'type discrete"),
        ("variable bowel", "variable light-on", "10: the variable light-on is declared twice"),
        ("{ true, false }", "{ true, true }", "10: bowel has the state 'true' twice"),
        ("( bowel )", "( bowels )", "16: there is no variable 'bowels'"),
        ("( bowel )", "( )", "16: 'probability'; expected the name of a variable"),
        ("1e-2,", "1e-2x,", "16: '1e-2x'; expected a number or ';'"),
        ("1e-2, 0.99", "1e-2, 0.9, 0.09", "16: 3 probabilities of bowel; expected 2"),
        ("0.6 0.05 0.4 0.95", "0.6 0.4", "14: 2 probabilities of light-on; expected 4"),
        ("(true, false)", "(true)", "19: the states true; expected one of each of bowel, family-out"),
        ("(true, false)", "(true, maybe)", "19: family-out has no state 'maybe'; it has true, false"),
        ("(true, false)", "(false, true)", "20: (false, true) is given twice for dog"),
        (
            "default 0.25, 0.25, 0.5;",
            "",
            "17: there are no probabilities of dog for bowel=true, family-out=true",
        ),
        ("default 0.25, 0.25, 0.5;", "other 1;", "18: 'other'; expected 'table', 'default' or the states"),
        ("{ table 1e-2, 0.99; }", "{ }", "16: there are no probabilities of bowel"),
        ("table 1e-2, 0.99;", "table 1e-2, 0.99; default 0, 1;", "16: bowel has a table and other prob"),
        (
            "probability ( bowel )",
            "probability ( light-on )",
            "16: the probabilities of light-on are given twice",
        ),
        ('"family-out" { //', '"family-out { //', "5: a quotation mark is not closed"),
        (
            "(false, true) 0, 0, 1;\n}\n",
            "(false, true) 0, 0, 1;\n",
            "20: 'the end of the file'; expected 'table'",
        ),
        ('"position = (257, 99)" ;\n}', '"position = (257, 99)" ', "8: '{'; expected ';' after a property"),
        ("| bowel", "| dog", "17: dog is named twice"),
    ],
)
def test_malformed_bif_is_refused_at_its_line(written, old, new, message):
    assert old in DOG
    with pytest.raises(NetworkFileError) as error:
        read_bif(written(DOG.replace(old, new, 1)))
    assert f"a.bif:{message}" in str(error.value)


@given(st.data())
def test_a_damaged_file_is_refused_or_read_but_never_crashes(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "a"
    kind = data.draw(st.sampled_from(["bif", "xml", "json"]))
    write_network(student(), path.with_suffix(f".{kind}"))
    content = bytearray(path.with_suffix(f".{kind}").read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=3))
    path.with_suffix(f".{kind}").write_bytes(bytes(content))
    said = str(path)
    try:
        read_network(path.with_suffix(f".{kind}"))
    except NetworkFileError as error:
        said = str(error)
    assert str(path) in said


def test_a_missing_cycle_or_table_is_named(written):
    text = DOG.replace("probability ( bowel ) { table 1e-2, 0.99; }", "")
    with pytest.raises(NetworkFileError, match=r"a\.bif: there are no probabilities of bowel"):
        read_bif(written(text))
    cycle = DOG.replace('( "family-out" ) { table 0.15 0.85', '( "family-out" light-on ) { table 1 1 0 0')
    with pytest.raises(NetworkFileError, match=r"a\.bif: the graph has a cycle: "):
        read_bif(written(cycle))


def test_a_table_too_large_to_hold_is_refused(written):
    variables = "".join(f"variable v{k} {{ type discrete [ 2 ] {{ a, b }}; }}\n" for k in range(40))
    parents = ", ".join(f"v{k}" for k in range(1, 40))
    text = f"network n {{ }}\n{variables}probability ( v0 | {parents} ) {{ default 1, 0; }}\n"
    with pytest.raises(NetworkFileError, match=r"a\.bif:42: a table of v0, .* has more than"):
        read_bif(written(text))


XML = """<?xml version="1.0"?>
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> ]>
<BIF VERSION="0.3"><NETWORK><NAME>two</NAME>
<!-- the definition comes before the variables -->
<DEFINITION><FOR>S</FOR><GIVEN>I</GIVEN>
  <TABLE>0.95 0.05 <!-- i0 --> 0.2 0.8</TABLE></DEFINITION>
<VARIABLE TYPE="nature"><NAME> I </NAME><OUTCOME>i0</OUTCOME><OUTCOME>i1</OUTCOME>
  <PROPERTY>position = (1, 2)</PROPERTY></VARIABLE>
<VARIABLE TYPE="nature"><NAME>S</NAME><VALUE>s&lt;0</VALUE><VALUE>s1</VALUE></VARIABLE>
<DEFINITION><FOR>I</FOR><TABLE>0.7 0.3</TABLE></DEFINITION>
</NETWORK></BIF>
"""


def test_xmlbif_is_read(written):
    network = read_xmlbif(written(XML, "a.xml"))
    assert network.name == "two"
    assert network.names == ("I", "S")
    assert network.variable("S").states == ("s<0", "s1")
    np.testing.assert_array_equal(network.cpd("S").values, [[0.95, 0.05], [0.2, 0.8]])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</NETWORK>", "", ":11: is not well-formed XML"),
        ("<FOR>I</FOR>", "", ":10: 0 times FOR and 1 times TABLE; expected one of each"),
        ("<FOR>I</FOR>", "<FOR>X</FOR>", ":10: there is no variable 'X'"),
        ("0.7 0.3", "0.7", ":10: 1 probabilities of I; expected 2"),
        ("0.7 0.3", "0.7 x", ":10: the TABLE of I: could not convert string to float: 'x'; expected numbers"),
        ("0.7 0.3", "0.7 0.2", ":10: P(I): the probabilities sum to 0.9"),
        ("<NAME>S</NAME>", "", ":9: a variable with 0 names"),
        ("<!ELEMENT BIF ( NETWORK )*>", '<!ENTITY a "b">', ":2: declares the entity 'a'"),
        ("<NETWORK><NAME>two", "<NAME>two</NAME><NETWORK><NAME>", ":3: NAME outside of NETWORK"),
    ],
)
def test_malformed_xmlbif_is_refused_at_its_line(written, old, new, message):
    assert old in XML
    with pytest.raises(NetworkFileError) as error:
        read_xmlbif(written(XML.replace(old, new, 1), "a.xml"))
    assert f"a.xml{message}" in str(error.value)


def test_names_that_a_format_cannot_hold_are_refused_and_no_file_is_left(tmp_path):
    for name, write in (
        ('a"b', write_bif),
        ("a\nb", write_bif),
        (" a", write_xmlbif),
        ("a\x00", write_xmlbif),
    ):
        network = BayesianNetwork([CPD(Variable(name, ["x"]), [], [1])])
        with pytest.raises(NetworkFileError, match="cannot be written"):
            write(network, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"a\.json:1: is not JSON"),
        ("[]", r"a\.json: "),
        ('{"variables": {"A": ["x"]}, "cpds": {"A": {"values": [0.5]}}}', "sum to 0.5"),
        (
            json.dumps({"variables": {"A": "xy"}, "cpds": {"A": {"values": [0.5, 0.5]}}}),
            "expected a list of names",
        ),
    ],
)
def test_bad_json_is_refused(written, text, message):
    with pytest.raises(NetworkFileError, match=message):
        read_network(written(text, "a.json"))


def test_files_of_unknown_kinds_are_refused(tmp_path):
    with pytest.raises(NetworkFileError, match=r"ends in \.bif, \.xml"):
        read_network(tmp_path / "network.txt")
    with pytest.raises(NetworkFileError, match="no such file"):
        read_network(tmp_path / "network.bif")
    (tmp_path / "a.bif").write_bytes(b"network n {\n}\n\xff")
    with pytest.raises(NetworkFileError, match=r"a\.bif:3: is not text in UTF-8"):
        read_network(tmp_path / "a.bif")
