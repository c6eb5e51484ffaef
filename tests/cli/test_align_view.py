"""The HTML page of a corpus with its links, and corrections that are used again."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isogloss.alignment import CorrectedPair, Corrections, Links, read_corrections, read_pharaoh
from isogloss.cli.app import app
from isogloss.exceptions import CorpusError

runner = CliRunner()
ENGLISH = ["The house.", "The blue house.", "...", "A </script><b>flower</b>, blue.", "A house."]
FRENCH = ["La maison.", "La maison bleue.", "...", "Une <i>fleur</i>, bleue.", "Une maison."]


def align(*arguments, code=0):
    result = runner.invoke(app, ["align", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A page in the folder at hand, with its text and model."""
    monkeypatch.chdir(tmp_path)
    Path("en").write_text("\n".join(ENGLISH) + "\n")
    Path("fr").write_text("\n".join(FRENCH) + "\n")
    align("en", "fr", "-o", "links", "--model", "m", "--threshold", "0.8")
    align("view", "m", "en", "fr", "-o", "page.html")
    return tmp_path / "page.html"


def correction(**changes):
    fields = {"pair": 2, "source": ["The", "blue", "house"], "target": ["La", "maison", "bleue"]}
    return json.dumps(fields | {"add": [[0, 2]], "remove": [[0, 0]]} | changes) + "\n"


def data_of(page):
    return json.loads(re.search(r'type="application/json">(.*?)</script>', page.read_text(), re.S)[1])


def test_the_page_holds_every_pair_and_loads_nothing(page):
    found, html = data_of(page), page.read_text()
    assert [pair["pair"] for pair in found["pairs"]] == [1, 2, 4, 5]
    assert found["pairs"][1]["source"] == ["The", "blue", "house"]
    assert found["pairs"][2]["texts"] == [ENGLISH[3], FRENCH[3]]
    assert min(link[2] for pair in found["pairs"] for link in pair["links"]) < found["threshold"]
    assert html.count("</script>") == 2
    assert "<b>flower" not in html
    assert "default-src 'none'" in html
    assert not re.search(r"(?:src|href)=|https?:", html)


def test_corrections_are_fixed_links_in_the_next_run(page):
    Path("c.jsonl").write_text(correction())
    for arguments in (["run", "en", "fr"], ["apply", "m", "en", "fr"]):
        align(*arguments, "-o", "out", "--corrections", "c.jsonl", "--probabilities")
        found = read_pharaoh("out").to_sets()[1]
        assert (0, 2) in found
        assert (0, 0) not in found
    align("view", "m", "en", "fr", "-o", "page.html", "--corrections", "c.jsonl")
    assert data_of(page)["fixed"] == [[2, [["0-2", True], ["0-0", False]]]]


def test_corrections_teach_other_sentences(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("en").write_text("x y\n" * 4)
    Path("fr").write_text("p q\n" * 4)
    fixed = {"pair": 1, "source": ["x", "y"], "target": ["p", "q"], "add": [[0, 1], [1, 0]], "remove": []}
    Path("c.jsonl").write_text(json.dumps(fixed) + "\n")
    common = ("en", "fr", "--set", "spelling=0")
    align(*common, "-o", "alone")
    align(*common, "-o", "taught", "--corrections", "c.jsonl")
    assert (0, 1) not in read_pharaoh("alone").to_sets()[3]
    assert read_pharaoh("taught").to_sets()[3] == {(0, 1), (1, 0)}


def test_corrections_of_another_text_are_refused(page):
    Path("c.jsonl").write_text(correction())
    assert "other" not in align("en", "fr", "-o", "out", "--corrections", "c.jsonl").output
    for name, changes in (("words", {"source": ["The", "red", "house"]}), ("fewer", {"pair": 9})):
        Path("c.jsonl").write_text(correction(**changes))
        message = str(align("en", "fr", "-o", "bad", "--corrections", "c.jsonl", code=1).exception)
        assert name in message
    assert "split in the same way" in str(
        align("en", "fr", "-o", "bad", "--tokenised", "--corrections", write(correction()), code=1).exception
    )
    assert not Path("bad").exists()


def write(text):
    Path("c.jsonl").write_text(text)
    return "c.jsonl"


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "{}", correction(pair=0), correction(add=[[0, 3]]), correction(add=[[0]]), correction(add=3),
     correction(source=[1]), correction(add=[[0, 0]]), correction(add=[[True, 0]])],
)  # fmt: skip
def test_lines_that_are_no_corrections_are_refused(tmp_path, line):
    (tmp_path / "c").write_text("\n" + line)
    with pytest.raises(CorpusError, match=r"c:2: '.*' is not a correction; expected a JSON object"):
        read_corrections(tmp_path / "c")


def test_a_pair_is_corrected_once(tmp_path):
    (tmp_path / "c").write_text(correction() * 2)
    with pytest.raises(CorpusError, match="c:2: pair 2 is corrected twice"):
        read_corrections(tmp_path / "c")


def test_corrected_links_keep_their_probabilities():
    one = CorrectedPair(2, ("a", "b"), ("c", "d"), add=((0, 0), (1, 1)), remove=((0, 1),))
    links = Links([0, 1, 3], [0, 0, 0], [0, 0, 1], [0.9, 0.8, 0.7])
    found = Corrections((one,)).apply(links)
    assert found.to_lists() == [[(0, 0)], [(0, 0), (1, 1)]]
    assert found.probability.tolist() == pytest.approx([0.9, 1.0, 1.0])
    assert Corrections(()).apply(links) == links


def test_export_writes_a_text_with_glosses(page):
    align("export", "en", "fr", "--links", "links", "-o", "story.flextext", "--languages", "en,fr")
    written = Path("story.flextext").read_text()
    assert '<item type="gls" lang="fr">maison</item>' in written
    told = json.loads(align("export", "en", "fr", "--links", "links", "-o", "s.eaf", "--json").stdout)
    assert told == {"output": "s.eaf", "pairs": 5, "left_out": 1}
    result = runner.invoke(app, ["align", "export", "en", "fr", "--links", "links", "-o", "s.doc"])
    assert "ends in .flextext or .eaf" in str(result.exception)
