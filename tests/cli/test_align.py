"""``isogloss align`` and its commands."""

import gzip
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.dom import minidom

import pytest
from typer.testing import CliRunner

from isogloss import io
from isogloss.alignment import PRESETS, Aligner, read_pharaoh
from isogloss.cli.align._progress import AlignProgress
from isogloss.cli.app import app

runner = CliRunner()
ENGLISH = ["the house", "the blue house", "the flower", "a blue flower", "a house"] * 3
FRENCH = ["la maison", "la maison bleue", "la fleur", "une fleur bleue", "une maison"] * 3


@pytest.fixture
def text(tmp_path, monkeypatch):
    """Files en and fr in the folder at hand."""
    monkeypatch.chdir(tmp_path)
    Path("en").write_text("\n".join(ENGLISH) + "\n")
    Path("fr").write_text("\n".join(FRENCH) + "\n")
    return tmp_path


def align(*arguments, code=0):
    result = runner.invoke(app, ["align", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_two_files_are_enough(text):
    assert "sentence pairs" in align("en", "fr", "-o", "out").output
    links = read_pharaoh("out")
    assert len(links) == 15
    assert links.to_lists()[1] == [(0, 0), (1, 2), (2, 1)]
    assert files(text) == ["en", "fr", "out"]


def test_the_command_may_be_named_and_options_may_come_first(text):
    align("en", "fr", "-o", "a")
    align("run", "en", "fr", "-o", "b")
    align("-o", "c", "en", "fr")
    assert Path("a").read_bytes() == Path("b").read_bytes() == Path("c").read_bytes()


@pytest.mark.parametrize("command", ["run", "apply", "lexicon", "jumps", "fertility", "score", "show"])
def test_help_names_every_command(command):
    assert command in align("--help").output
    assert "Usage" in align(command, "--help").output


def test_every_form_of_text_gives_the_same_links(text):
    align("en", "fr", "-o", "plain")
    pairs = list(zip(ENGLISH, FRENCH, strict=True))
    Path("t.tsv").write_text("".join(f"{k}\t{a}\t{b}\n" for k, (a, b) in enumerate(pairs)))
    Path("bars").write_text("".join(f"{a} ||| {b}\n" for a, b in pairs))
    units = (
        f'<tu><tuv xml:lang="en"><seg>{a}</seg></tuv><tuv xml:lang="fr"><seg>{b}</seg></tuv></tu>'
        for a, b in pairs
    )
    Path("m.tmx.gz").write_bytes(gzip.compress(f"<tmx><body>{''.join(units)}</body></tmx>".encode()))
    with zipfile.ZipFile("o.zip", "w") as archive:
        archive.write("en", "Books.en")
        archive.write("fr", "Books.fr")
    for arguments in (
        ["t.tsv", "--columns", "1,2"],
        ["bars"],
        ["m.tmx.gz", "--languages", "en,fr"],
        ["o.zip", "--languages", "en,fr"],
    ):
        align(*arguments, "-o", "out")
        assert Path("out").read_bytes() == Path("plain").read_bytes()


def test_bad_pairs_have_empty_lines_and_are_reported(text):
    Path("en").write_bytes(
        b"".join(line.encode() + b"\n" for line in ENGLISH) + b"\nnot \xff utf-8\nlast one\n"
    )
    Path("fr").write_text("\n".join([*FRENCH, "vide", "x", "la derni\u00e8re"]) + "\n")
    result = align("en", "fr", "-o", "out", "--json")
    report = json.loads(result.stdout)
    assert report["left_out"] == {"empty": 1, "not UTF-8": 1}
    lines = Path("out").read_text().split("\n")
    assert len(lines) == 19
    assert lines[15] == lines[16] == lines[18] == ""
    assert lines[17]
    assert "en:16, fr:16: the source side is empty" in align("en", "fr", "-o", "out").stderr.replace(
        "\n", " "
    )


def isogloss(*arguments):
    command = [sys.executable, "-c", "from isogloss.cli import main; main()", "align", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def test_what_cannot_be_read_is_one_sentence_and_no_file(text):
    Path("fr").write_text("\n".join(FRENCH[:-1]) + "\n")
    done = isogloss("en", "fr", "-o", "out")
    assert done.returncode == 1
    assert "en has 15 lines and fr has 14" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert files(text) == ["en", "fr"]


def test_strict_stops_at_the_first_bad_pair(text):
    Path("en").write_text("\n".join(["", *ENGLISH[1:]]) + "\n")
    result = align("en", "fr", "-o", "out", "--strict", code=1)
    assert "en:1" in str(result.exception)
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["en", "-o", "out", "--format", "lines"],
        ["en", "fr", "-o", "out", "--format", "bars"],
        ["en", "fr", "-o", "out", "--format", "paper"],
        ["m.tmx", "-o", "out"],
        ["t.tsv", "-o", "out", "--columns", "1"],
        ["en", "fr"],
        ["en", "fr", "-o", "out", "--method", "union", "--probabilities"],
        ["en", "fr", "-o", "out", "--method", "best"],
        ["en", "fr", "-o", "out", "--agreement", "some"],
        ["en", "fr", "-o", "out", "--preset", "slow"],
        ["en", "fr", "-o", "out", "--set", "ensemble=[0]"],
        ["en", "fr", "-o", "out", "--set", "ensemble=4"],
        ["en", "fr", "-o", "out", "--set", "mean=harmonic"],
        ["en", "fr", "-o", "out", "--schedule", "3:2"],
        ["en", "fr", "-o", "out", "--set", "null=2"],
        ["en", "fr", "-o", "out", "--set", "bayes=true"],
        ["en", "fr", "-o", "out", "--set", "bayes=perhaps"],
        ["en", "fr", "-o", "out", "--set", "engine=1"],
        ["en", "fr", "-o", "out", "--set", "prune"],
        ["en", "fr", "-o", "out", "--prune"],
        ["show", "en", "fr"],
        ["show", "en", "fr", "--gold", "out", "--pair", "99"],
    ],
)
def test_wrong_usage_is_code_two(text, arguments):
    align(*arguments, code=2)
    assert not Path("out").exists()


class Interrupt:
    """Ctrl-C at the n-th iteration."""

    def __init__(self, after):
        self.left = after

    def __call__(self, *arguments):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_an_interrupted_run_leaves_no_half_file_and_resumes_where_it_stopped(text, monkeypatch):
    align("en", "fr", "-o", "whole")
    with monkeypatch.context() as patch:
        patch.setattr(AlignProgress, "advance", Interrupt(after=5))
        align("en", "fr", "-o", "out", code=130)
    assert files(text) == ["en", "fr", "out.checkpoint", "whole"]
    counter = Interrupt(after=-1)
    with monkeypatch.context() as patch:
        patch.setattr(AlignProgress, "advance", counter)
        align("en", "fr", "-o", "out", "--resume")
    assert Path("out").read_bytes() == Path("whole").read_bytes()
    assert -1 - counter.left == 4 * 7 - 4
    assert files(text) == ["en", "fr", "out", "whole"]


@pytest.mark.parametrize("after", [7, 8, 12, 24, 28])
def test_a_run_resumes_in_any_model_of_an_ensemble(text, monkeypatch, after):
    align("en", "fr", "-o", "whole", "--save", "whole.model")
    with monkeypatch.context() as patch:
        patch.setattr(AlignProgress, "advance", Interrupt(after=after))
        align("en", "fr", "-o", "out", code=130)
    align("en", "fr", "-o", "out", "--save", "model", "--resume")
    assert Path("out").read_bytes() == Path("whole").read_bytes()
    made, wanted = (io.load(name, expected=Aligner) for name in ("model", "whole.model"))
    assert made.translation_table_ == wanted.translation_table_
    assert [one.translation_table_ for one in made.ensemble_] == [
        one.translation_table_ for one in wanted.ensemble_
    ]


def test_presets_are_settings_that_options_override(text):
    for preset in PRESETS:
        align("en", "fr", "-o", "out", "--save", "m", "--preset", preset)
        made = io.load("m", expected=Aligner).get_params()
        wanted = Aligner.preset(preset).get_params()
        assert {name: made[name] for name in PRESETS[preset]} == {
            name: wanted[name] for name in PRESETS[preset]
        }
    align(
        "en",
        "fr",
        "-o",
        "out",
        "--save",
        "m",
        "--preset",
        "quick",
        "--schedule",
        "1:2",
        "--set",
        "ensemble=[2]",
    )
    made = io.load("m", expected=Aligner)
    assert (made.schedule, made.agreement, made.ensemble) == ("1:2", "product", [2])
    assert [member.prefix for member in made.ensemble_] == [2]


def test_a_checkpoint_of_other_text_or_settings_is_refused(text, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(AlignProgress, "advance", Interrupt(after=3))
        align("en", "fr", "-o", "out", code=130)
    result = align("en", "fr", "-o", "out", "--resume", "--keep-case", code=1)
    assert "other text or settings" in str(result.exception)
    assert "other text" in str(align("fr", "en", "-o", "out", "--resume", code=1).exception)
    align("en", "fr", "-o", "out", "--resume")


def test_a_file_that_cannot_be_written_is_refused_before_the_work(text, monkeypatch):
    monkeypatch.setattr(Aligner, "fit", Interrupt(after=1))
    for output in ("absent/out", "."):
        assert "cannot be written" in str(align("en", "fr", "-o", output, code=1).exception)
    assert "absent/m" in str(align("en", "fr", "-o", "out", "--save", "absent/m", code=1).exception)


def test_resume_without_a_checkpoint_starts_over(text):
    align("en", "fr", "-o", "out", "--resume")
    assert len(read_pharaoh("out")) == 15


def test_a_model_aligns_other_text(text):
    align("en", "fr", "-o", "out", "--save", "m")
    Path("new.en").write_text("a blue house\n\nthe unknown flower\n")
    Path("new.fr").write_text("une maison bleue\nvide\nla fleur inconnue\n")
    report = json.loads(align("apply", "m", "new.en", "new.fr", "-o", "new", "--json").stdout)
    assert report["left_out"] == {"empty": 1}
    lines = Path("new").read_text().split("\n")
    assert lines[0] == "0-0 1-2 2-1"
    assert lines[1] == ""
    assert "0-0" in lines[2]
    assert "2-1" in lines[2]
    assert io.load("m", expected=Aligner).align([("the house", "la maison")]).to_lists() == [[(0, 0), (1, 1)]]
    align("apply", "m", "en", "fr", "-o", "again")
    assert Path("again").read_bytes() == Path("out").read_bytes()


def test_links_can_have_probabilities_and_begin_at_one(text):
    align("en", "fr", "-o", "out", "--probabilities", "--first", "1")
    links = read_pharaoh("out", first=1)
    assert links.to_lists()[0] == [(0, 0), (1, 1)]
    assert 0.5 < links.probability.min() <= links.probability.max() <= 1


@pytest.mark.parametrize("method", ["forward", "backward", "grow-diag-final-and", "intersection"])
def test_other_ways_to_join_directions(text, method):
    align("en", "fr", "-o", "out", "--method", method, "--itg")
    assert read_pharaoh("out").n_links > 20


def test_known_translations_help(text):
    Path("en").write_text("x y\n")
    Path("fr").write_text("p q\n")
    Path("known").write_text("x\tq\t50\ny\tp\n")
    align("en", "fr", "-o", "out", "--lexicon", "known")
    assert (0, 1) in read_pharaoh("out").to_sets()[0]
    Path("known").write_text("x\tq\tmany\n")
    assert "known:1" in str(align("en", "fr", "-o", "out", "--lexicon", "known", code=1).exception)


def test_the_lexicon_is_a_table(text):
    align("en", "fr", "-o", "out", "--save", "m")
    assert (
        json.loads(align("lexicon", "m", "-o", "lex", "--translations", "1", "--json").stdout)["pairs"] >= 5
    )
    header, *rows = [line.split("\t") for line in Path("lex").read_text().splitlines()]
    assert header == ["source", "target", "p(target|source)", "p(source|target)", "count"]
    best = {row[0]: row for row in rows}
    assert best["house"][1] == "maison"
    assert float(best["house"][2]) > 0.9
    assert 8 < float(best["house"][4]) < 10
    align("lexicon", "m", "-o", "lex", "--min-count", "8.5")
    assert len(Path("lex").read_text().splitlines()) < len(rows)


FERTILE = ("--schedule", "1:3,hmm:3,3:2,4:1")


def test_what_one_text_taught_helps_with_another(text):
    align("en", "fr", "-o", "out", "--save", "m", *FERTILE)
    known = []
    for what in ("lexicon", "jumps", "fertility"):
        report = json.loads(align(what, "m", "-o", f"{what}.tsv", "--json").stdout)
        assert report["output"] == f"{what}.tsv"
        assert f"{what}.tsv: " in align(what, "m", "-o", f"{what}.tsv").stdout
        known += [f"--{what}", f"{what}.tsv"]
    Path("small.en").write_text("a house the flower\n")
    Path("small.fr").write_text("la fleur une maison\n")
    small = ("small.en", "small.fr", "--set", "spelling=0", *FERTILE)
    align(*small, "-o", "alone")
    align(*small, "-o", "helped", *known)
    assert Path("helped").read_text() == "0-2 1-3 2-0 3-1\n" != Path("alone").read_text()
    align(*small, "-o", "none", *known[:2], "--prior-weight", "0")
    assert Path("none").read_bytes() == Path("alone").read_bytes()


def test_fertilities_need_a_model_that_has_them(text):
    align("en", "fr", "-o", "out", "--save", "m")
    assert "no model with fertilities" in align("fertility", "m", "-o", "f", code=2).output.replace("\n", " ")
    assert not Path("f").exists()
    Path("f").write_text("direction\tword\tfertility\tcount\nforward\thouse\t1\t2\n")
    align("en", "fr", "-o", "out", "--fertility", "f", code=2)
    align("en", "fr", "-o", "out", "--fertility", "f", *FERTILE)


def test_settings_reach_the_aligner(text):
    wanted = {
        "null": 0.2,
        "spelling": 0.5,
        "pseudo_count": 0.01,
        "interpolate": 0.25,
        "prune": 1e-7,
        "prefix": 6,
    }
    given = [part for name, value in wanted.items() for part in ("--set", f"{name}={value}")]
    align("en", "fr", "-o", "out", "--save", "m", "--agreement", "none", *given)
    settings = io.load("m", expected=Aligner).get_params()
    assert settings["agreement"] is None
    assert {name: settings[name] for name in wanted} == wanted


def test_settings_by_their_former_options(text):
    former = ("--null", "0.2", "--pseudo-count=0.1", "--bayes")
    done = align("en", "fr", "-o", "out", "--save", "m", *former)
    settings = io.load("m", expected=Aligner).get_params()
    assert (settings["null"], settings["pseudo_count"], settings["bayes"]) == (0.2, 0.1, True)
    for now in ("null=0.2", "pseudo_count=0.1", "bayes=true"):
        assert f"use --set {now}" in done.stderr


def test_text_kept_on_disk_is_aligned_the_same_and_leaves_nothing_there(text):
    Path("scratch").mkdir()
    align("en", "fr", "-o", "memory")
    align("en", "fr", "-o", "disk", "--disk", "scratch")
    assert Path("disk").read_bytes() == Path("memory").read_bytes()
    assert files(Path("scratch")) == []
    assert "not a folder" in str(align("en", "fr", "-o", "x", "--disk", "absent", code=1).exception)


def test_fertility_models_go_on_where_they_stopped(text, monkeypatch):
    align("en", "fr", "-o", "whole", *FERTILE)
    with monkeypatch.context() as patch:
        patch.setattr(AlignProgress, "advance", Interrupt(after=8))
        align("en", "fr", "-o", "out", *FERTILE, code=130)
    assert "out.checkpoint" in files(text)
    align("en", "fr", "-o", "out", *FERTILE, "--resume")
    assert Path("out").read_bytes() == Path("whole").read_bytes()


def test_raw_text_is_split_into_words_and_tokenised_text_is_not(text):
    Path("raw.en").write_text("".join(f"{line.capitalize()}, yes.\n" for line in ENGLISH))
    Path("raw.fr").write_text("".join(f"{line.capitalize()}, oui.\n" for line in FRENCH))
    Path("tok.fr").write_text("".join(f"{line.capitalize()} , oui .\n" for line in FRENCH))
    report = json.loads(align("raw.en", "tok.fr", "-o", "out", "--details", "d.jsonl", "--json").stdout)
    assert report["tokenised"] == {"source": False, "target": True}
    first = json.loads(Path("d.jsonl").read_text().splitlines()[0])
    assert first["pair"] == 1
    assert first["source"]["words"] == ["The", "house", "yes"]
    assert first["target"]["words"] == ["La", "maison", ",", "oui", "."]
    for side in ("source", "target"):
        words = [first[side]["text"][a:b] for a, b in first[side]["offsets"]]
        assert words == first[side]["words"]
    assert [link[:2] for link in first["links"]] == read_pharaoh("out")[0].tolist()
    assert all(0.5 < link[2] <= 1 for link in first["links"])
    done = align("raw.en", "raw.fr", "-o", "out", "--save", "m").stdout
    assert "both sides: raw text, split into words (detected" in done
    assert "split into words (detected" in align("apply", "m", "raw.en", "raw.fr", "-o", "new").stdout
    assert Path("new").read_bytes() == Path("out").read_bytes()
    align("raw.en", "raw.fr", "-o", "as_is", "--tokenised", "--details", "d.jsonl")
    assert json.loads(Path("d.jsonl").read_text().splitlines()[0])["source"]["words"][1] == "house,"
    assert "(detected" not in align("en", "fr", "-o", "out", "--raw").stdout
    shown = json.loads(align("show", "raw.en", "raw.fr", "--links", "new", "--json").stdout)
    assert shown["source"] == ["The", "house", "yes"]
    assert shown["source_offsets"] == [[0, 3], [4, 9], [11, 14]]


def test_tokenised_text_has_the_same_links_with_the_option_or_detected(text):
    for name, lines in (("a", ENGLISH), ("b", FRENCH)):
        Path(name).write_text("".join(f"{line} , don't .\n" for line in lines))
    align("a", "b", "-o", "seen")
    align("a", "b", "-o", "said", "--tokenised")
    assert Path("seen").read_bytes() == Path("said").read_bytes()


def test_score_reads_pharaoh_and_naacl(text):
    Path("links").write_text("0-0 1-1\n0-1\n")
    Path("gold").write_text("0-0 1p1\n0-0\n")
    Path("naacl").write_text("1 1 1 S\n1 2 2 P\n2 1 1 S\n")
    summary = json.loads(align("score", "links", "gold", "--json").stdout)
    assert summary["precision"] == pytest.approx(2 / 3)
    assert summary["recall"] == 0.5
    assert summary["aer"] == pytest.approx(1 - 3 / 5)
    assert json.loads(align("score", "links", "naacl", "--json").stdout) == summary
    Path("ones").write_text("1-1 2-2\n1-2\n")
    assert (
        json.loads(align("score", "ones", "gold", "--first", "1", "--gold-first", "0", "--json").stdout)
        == summary
    )
    assert "40.00" in align("score", "links", "gold").stdout


def test_show_draws_in_the_terminal_and_to_files(text):
    align("en", "fr", "-o", "out", "--save", "m")
    Path("gold").write_text("0-0 1-2 2p1\n" * 15)
    shown = align("show", "en", "fr", "--pair", "2", "--links", "out", "-m", "m", "--gold", "gold").stdout
    assert "[█]" in shown
    assert "(█)" in shown
    align("show", "en", "fr", "--pair", "2", "--links", "out", "--svg", "p.svg", "--html", "p.html")
    assert minidom.parse("p.svg").documentElement.tagName == "svg"
    assert "maison" in Path("p.html").read_text()
    told = json.loads(align("show", "en", "fr", "--pair", "2", "--gold", "gold", "--json").stdout)
    assert told["source"] == ENGLISH[1].split()
    assert told["target"] == FRENCH[1].split()
    assert (told["links"], told["sure"]) == ([], [[0, 0], [1, 2]])
    assert told["possible"] == [[0, 0], [1, 2], [2, 1]]


@pytest.mark.slow
def test_hansards_from_the_command_line(tmp_path, monkeypatch):
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    data = Path(os.environ.get("ISOGLOSS_DATA", default)) / "alignment" / "hansards-en-fr"
    if not data.exists():
        pytest.skip("the Hansards are not here; set ISOGLOSS_DATA to their folder")
    monkeypatch.chdir(tmp_path)
    for language in ("en", "fr"):
        with gzip.open(data / f"train.{language}.gz", "rt") as train:
            lines = [next(train) for _ in range(5000)]
        Path(language).write_text((data / f"test.{language}").read_text() + "".join(lines))
    align("en", "fr", "-o", "out")
    Path("test").write_text("".join(Path("out").read_text().splitlines(keepends=True)[:447]))
    summary = json.loads(align("score", "test", data / "test.gold", "--json").stdout)
    assert summary["aer"] < 0.12
