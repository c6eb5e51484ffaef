"""The whole way from dumps to a space: what is built, and that nothing stops it for good."""

import bz2
import gzip
import json
import multiprocessing
import random
import re
import shutil
import signal

import numpy as np
import pytest

from isogloss import io
from isogloss.corpora import ComparableCorpus, LinkedArticles
from isogloss.events.annotate import ConceptDictionary
from isogloss.exceptions import CorpusError
from isogloss.wikipedia import BuildSettings, build, write_sample
from tests.waiting import LIMIT_S
from tests.wikipedia.killing import build_until

CODES = ("en", "sl")
SETTINGS = {"languages": CODES, "min_df": 1, "dimensions": 8}


@pytest.fixture(scope="module")
def mirror(tmp_path_factory):
    """Dumps of two languages with 50 subjects."""
    folder = tmp_path_factory.mktemp("dumps") / "mirror"
    write_sample(folder, CODES, concepts=50, words=400, length=60)
    return folder


@pytest.fixture(scope="module")
def built(mirror, tmp_path_factory):
    return build(tmp_path_factory.mktemp("built") / "wiki", mirror, BuildSettings(**SETTINGS))


def articles_by_grep(path):
    """Titles of the articles of a dump, found without our reader."""
    pages = re.findall(r"<page>.*?</page>", bz2.decompress(path.read_bytes()).decode(), re.S)
    kept = [page for page in pages if "<ns>0</ns>" in page and "<redirect" not in page]
    return len(pages), {re.search(r"<title>(.*?)</title>", page)[1].replace("&amp;", "&") for page in kept}


def dump_of(mirror, code):
    return next(mirror.glob(f"{code}wiki/*/*-pages-articles-multistream.xml.bz2"))


def test_a_corpus_a_space_and_concepts_are_built(built, mirror):
    corpus = ComparableCorpus(built.corpus)
    corpus.check()
    assert corpus.languages == CODES
    _, titles = articles_by_grep(dump_of(mirror, "sl"))
    assert set(corpus.titles("sl")) <= titles
    # Every subject with articles in both languages is a row: nothing is lost on the way.
    links = LinkedArticles(built.links)
    assert len(corpus) == len(links) == links.articles["sl"]
    assert built.report["plain"]["amrr"] > 0.5
    model = io.load(built.model)
    assert model.languages == CODES
    concepts = ConceptDictionary(built.concepts)
    title = corpus.titles("sl")[0]
    found = list(concepts.find([title.lower()], "sl"))
    assert found[0][0] == corpus.ids[0]
    assert not (built.folder / ".building").exists()


def test_the_corpus_accounts_for_every_article(built, mirror):
    for code, said in ComparableCorpus(built.corpus).header["languages"].items():
        pages, titles = articles_by_grep(dump_of(mirror, code))
        left_out = said["left_out"]
        assert said["read"] == len(titles)
        assert said["documents"] + left_out.get("without links", 0) + left_out.get("stubs", 0) == len(titles)
        others = ("redirects", "in other namespaces")
        assert sum(left_out.get(kind, 0) for kind in others) == pages - len(titles)
        assert not said["bad"]


def test_links_of_the_wikipedias_give_the_rows_that_wikidata_gives(built, mirror, tmp_path):
    other = build(tmp_path / "wiki", mirror, BuildSettings(**SETTINGS, links="langlinks"))
    ours, theirs = (ComparableCorpus(each.corpus) for each in (built, other))
    assert list(ours.titles("en")) == list(theirs.titles("en"))
    assert (ours.matrix("sl") != theirs.matrix("sl")).nnz == 0
    assert theirs.ids[0] == f"en:{theirs.titles('en')[0]}"


def contents(folder):
    """Digest-free: the bytes of every file."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def run_until(point, folder, mirror, said, n_jobs=1):
    """Build in a process of its own; return its exit code, -9 if it died."""
    context = multiprocessing.get_context("spawn")
    arguments = (point, str(folder), str(mirror), SETTINGS, n_jobs, str(said))
    process = context.Process(target=build_until, args=arguments)
    process.start()
    process.join(LIMIT_S)
    return process.exitcode


def interrupt(moments, mirror, tmp_path):
    """Build in one go and with interruptions, and compare everything."""
    said, folder = tmp_path / "said", tmp_path / "wiki"
    assert run_until(0, folder, mirror, said) == 0
    whole = contents(folder)
    calls = int(said.read_text())
    shutil.rmtree(folder)
    draw = random.Random(moments)
    for _ in range(moments):
        # Later attempts begin further on, so they have fewer calls left.
        point = draw.randrange(1, 2 * calls // moments + 2)
        code = run_until(point, folder, mirror, said, n_jobs=1 + point % 2)
        assert code in (0, -signal.SIGKILL)
    assert run_until(0, folder, mirror, said) == 0
    assert contents(folder) == whole


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_build_that_is_killed_ten_times_leaves_the_same_files(mirror, tmp_path):
    interrupt(10, mirror, tmp_path)


def test_a_build_that_is_killed_leaves_the_same_files(mirror, tmp_path, built):
    """As above, with one interruption somewhere, and compared with a build of the same process."""
    said, folder = tmp_path / "said", tmp_path / "wiki"
    assert run_until(random.randrange(5, 30), folder, mirror, said) == -signal.SIGKILL
    again = build(folder, mirror, BuildSettings(**SETTINGS))
    assert contents(again.folder) == contents(built.folder)


@pytest.mark.parametrize("step", ["links", "corpus", "similarity.isogloss", "evaluation.json", "concepts"])
def test_an_output_that_was_recorded_and_not_moved_is_moved(built, mirror, tmp_path, step):
    folder = shutil.copytree(built.folder, tmp_path / "wiki")
    (folder / ".building").mkdir()
    (folder / step).rename(folder / ".building" / step)
    build(folder, mirror, BuildSettings(**SETTINGS))
    assert contents(folder) == contents(built.folder)


def test_a_finished_build_is_not_built_again(built, mirror):
    before = {path: path.stat().st_mtime_ns for path in built.folder.rglob("*.npy")}
    steps = []
    build(built.folder, mirror, BuildSettings(**SETTINGS), progress=lambda step, what, n: steps.append(step))
    assert steps == []
    assert before == {path: path.stat().st_mtime_ns for path in built.folder.rglob("*.npy")}


def test_outputs_that_are_not_those_of_the_build_are_left_alone(built, mirror, tmp_path):
    folder = shutil.copytree(built.folder, tmp_path / "wiki")
    (folder / "evaluation.json").write_text("{}")
    with pytest.raises(CorpusError, match=r"evaluation\.json: has changed since it was built"):
        build(folder, mirror, BuildSettings(**SETTINGS))
    assert (folder / "evaluation.json").read_text() == "{}"
    build(folder, mirror, BuildSettings(**SETTINGS), restart=True)
    assert contents(folder) == contents(built.folder)

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    with pytest.raises(CorpusError, match="is not empty, and no build was begun there"):
        build(tmp_path / "mine", mirror, BuildSettings(**SETTINGS))


def test_other_settings_need_a_restart(built, mirror, tmp_path):
    folder = shutil.copytree(built.folder, tmp_path / "wiki")
    with pytest.raises(CorpusError, match=r"other settings \(dimensions was 8, is 9\)"):
        build(folder, mirror, BuildSettings(**SETTINGS | {"dimensions": 9}))


def test_two_builds_do_not_share_a_folder(mirror, tmp_path):
    inside = []

    def progress(step, what, count):
        if not inside:
            inside.append(step)
            with pytest.raises(CorpusError, match="another process is building there"):
                build(tmp_path / "wiki", mirror, BuildSettings(**SETTINGS))

    build(tmp_path / "wiki", mirror, BuildSettings(**SETTINGS), progress=progress)
    assert inside


def test_missing_dumps_are_named(mirror, tmp_path):
    said = r"has no dewiki-DATE-pages-articles-multistream\.xml\.bz2; download them"
    with pytest.raises(CorpusError, match=said):
        build(tmp_path / "wiki", mirror, BuildSettings(("en", "de")))
    assert not (tmp_path / "wiki").exists()


def damage(path, change):
    """Change a file, and forget what is published about it."""
    content = change(path.read_bytes())
    path.with_name("dumpstatus.json").unlink(missing_ok=True)
    path.write_bytes(content)


def newer(content):
    text = bz2.decompress(content).decode().replace('version="0.11"', 'version="0.12"')
    return bz2.compress(text.encode())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda content: content[:-300],
            r"slwiki[^/]*\.xml\.bz2:\d+: the dump is cut short or damaged .*; get the file again",
        ),
        (lambda content: content[:9000] + bytes(40) + content[9040:], "cut short or damaged"),
        (newer, r"slwiki.*xml\.bz2:1: the export format is of version 0\.12, .* update isogloss"),
        (lambda content: bz2.compress(b"<html>No such dump</html>"), "does not say which wiki"),
        (lambda content: b"", "cut short or damaged"),
    ],
    ids=["truncated", "corrupted", "newer", "page", "empty"],
)
def test_a_bad_dump_is_refused_with_its_place(mirror, tmp_path, change, said):
    folder = shutil.copytree(mirror, tmp_path / "mirror")
    path = dump_of(folder, "sl")
    path.with_name(path.name.replace(".xml", "-index.txt")).unlink()
    damage(path, change)
    with pytest.raises(CorpusError, match=said):
        build(tmp_path / "wiki", folder, BuildSettings(**SETTINGS))
    assert not (tmp_path / "wiki" / "corpus").exists()


def test_a_renamed_dump_is_refused(mirror, tmp_path):
    folder = shutil.copytree(mirror, tmp_path / "mirror")
    damage(dump_of(folder, "sl"), lambda content: dump_of(folder, "en").read_bytes())
    with pytest.raises(CorpusError, match="is a dump of enwiki, and its name says slwiki"):
        build(tmp_path / "wiki", folder, BuildSettings(**SETTINGS))


def test_a_dump_that_differs_from_what_is_published_is_refused(mirror, tmp_path):
    folder = shutil.copytree(mirror, tmp_path / "mirror")
    path = dump_of(folder, "sl")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(CorpusError, match=r"its sha1 is \w+, and \w+ is published"):
        build(tmp_path / "wiki", folder, BuildSettings(**SETTINGS))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorpusError, match=r"has [\d,]+ bytes, and [\d,]+ are published"):
        build(tmp_path / "wiki2", folder, BuildSettings(**SETTINGS))


def test_an_index_of_another_dump_is_refused(mirror, tmp_path):
    folder = shutil.copytree(mirror, tmp_path / "mirror")
    index = next(folder.glob("slwiki/*/*index*"))
    index.write_bytes(bz2.compress(b"77:10:Bled\n"))
    with pytest.raises(CorpusError, match="no stream begins at byte 77"):
        build(tmp_path / "wiki", folder, BuildSettings(**SETTINGS))


def test_a_table_that_is_cut_short_is_refused(mirror, tmp_path):
    folder = shutil.copytree(mirror, tmp_path / "mirror")
    table = next(folder.glob("wikidatawiki/*/*.sql.gz"))
    damage(table, lambda content: gzip.compress(gzip.decompress(content)[:-100]))
    with pytest.raises(CorpusError, match=r"sql\.gz:\d+: the statement is cut short at byte"):
        build(tmp_path / "wiki", folder, BuildSettings(**SETTINGS))
    assert not (tmp_path / "wiki" / "links").exists()


def test_single_stream_dumps_give_the_same_corpus(built, mirror, tmp_path):
    folder = shutil.copytree(mirror, tmp_path / "mirror")
    for code in CODES:
        path = dump_of(folder, code)
        plain = path.with_name(path.name.replace("-multistream", ""))
        plain.write_bytes(bz2.compress(bz2.decompress(path.read_bytes())))
        path.unlink()
    other = build(tmp_path / "wiki", folder, BuildSettings(**SETTINGS), n_jobs=2)
    assert contents(other.corpus) == contents(built.corpus)
    assert other.model.read_bytes() == built.model.read_bytes()
    assert contents(other.concepts) == contents(built.concepts)


def test_the_evaluation_is_on_rows_that_were_held_out(built):
    corpus = ComparableCorpus(built.corpus)
    rows = built.report["rows"]
    assert rows == int(0.2 * len(corpus))
    train, _ = corpus.split(rows, random_state=0)
    assert len(train) == len(corpus) - rows
    assert built.report["plain"]["pairs"]["en-sl"]["documents"] == rows
    assert np.isfinite(built.report["csls"]["amrr"])
    assert json.loads(built.evaluation.read_text()) == built.report


def test_one_language_is_not_enough(mirror, tmp_path):
    with pytest.raises(CorpusError, match="at least two languages"):
        build(tmp_path / "wiki", mirror, BuildSettings(("en",)))
    with pytest.raises(ValueError, match="hub='de'; expected one of the languages en, sl"):
        BuildSettings(CODES, hub="de")
