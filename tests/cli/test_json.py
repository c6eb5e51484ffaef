"""What ``--json`` prints is what docs/reference/json.rst says, for every command."""

import ast
import json
import re
from pathlib import Path

import pytest

from isogloss.events.ingest import sample_news
from tests.cli.test_output import build, every_command, files, run  # noqa: F401
from tests.lexicon.data import languages

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "json.rst"
WORD = languages()["en"].words[0]
VECTORS = ("-l", "en", "-m", "space", "-v", "en.vec", "-v", "it.vec")
STORE = ("--store", "store.db")
RUN = {
    "align apply": ("aligner", "pairs", "-o", "links2"),
    "align export": ("pairs", "--links", "links", "-o", "text.eaf"),
    "align fertility": ("fertile", "-o", "fertilities"),
    "align jumps": ("aligner", "-o", "jumps"),
    "align lexicon": ("aligner", "-o", "lexicon"),
    "align run": ("pairs", "-o", "links3"),
    "align score": ("links", "gold"),
    "align show": ("pairs", "--links", "links", "--gold", "gold"),
    "align view": ("aligner", "pairs", "-o", "page.html"),
    "backup": ("copy.db", *STORE),
    "concepts build": ("--lexicon", "en-fr=words", "-o", "concepts"),
    "concepts find": ("concepts", "the house", "-l", "en"),
    "concepts info": ("concepts",),
    "corpus info": ("corpus",),
    "corpus split": ("corpus", "--train", "train", "--test", "test"),
    "dictionary evaluate": ("--test", "seed", "--dictionary", "en-it"),
    "dictionary neighbours": (WORD, *VECTORS),
    "dictionary vectors": ("plain", "-o", "plain.vec", "--components", 2, "--min-count", 1),
    "dictionary sample": ("tale",),
    "dictionary plot": (WORD, *VECTORS, "-o", "word.svg"),
    "doctor": STORE,
    "evaluate clusters": (),
    "evaluate drift": ("corpus",),
    "evaluate retrieval": ("hub", "corpus"),
    "events export": ("-o", "events.csv", *STORE),
    "events find": ("news",),
    "events list": STORE,
    "events replay": ("journal",),
    "events show": ("e1", *STORE),
    "events why": ("e1", *STORE),
    "feeds list": STORE,
    "feeds starter": ("feeds.txt",),
    "ingest": ("news", "--store", "other.db"),
    "init": ("desk",),
    "link score": ("labelled",),
    "link train": ("labelled", "-o", "linker"),
    "delete": ("1", "--store", "other.db"),
    "model info": ("hub",),
    "network compare": ("rows", "learned.bif"),
    "network convert": ("asia", "asia.json"),
    "network explain": ("asia", "tub", "smoke"),
    "network learn": ("asia", "rows", "-o", "learned.bif"),
    "network query": ("asia", "tub"),
    "network sample": ("asia", "--rows", 2),
    "network show": ("asia",),
    "network tree": ("rows", "-o", "tree.bif"),
    "prune": STORE,
    "restore": ("copy.db", "--store", "restored.db"),
    "similar find": ("en5w1 en3w2", "-m", "hub", "--corpus", "corpus", "-l", "en"),
    "similar fit": ("corpus", "-o", "hub2", "-d", 3),
    "similar map": ("hub", "--corpus", "corpus", "--method", "pca", "-o", "map.svg"),
    "similar pack": ("hub", "-o", "packed"),
    "similar topics": ("hub",),
    "token list": STORE,
    "token make": ("read", *STORE),
    "wikipedia sample": ("mirror", "--articles", 40, "--languages", "en,sl"),
    "wikipedia plan": ("en", "sl", "--dumps", "mirror", "--offline"),
    "work": ("--once", *STORE),
}
"""Commands that take little time, with arguments, in an order in which they find what they need."""

AFTER = {
    "concepts info": "concepts build",
    "concepts find": "concepts build",
    "restore": "backup",
    "delete": "ingest",
    "network compare": "network learn",
    "token list": "token make",
    "wikipedia plan": "wikipedia sample",
}
"""Commands that need the output of another."""

TYPES = {"text": str, "number": (int, float), "boolean": bool, "null": type(None)}


def shapes():
    """The shapes of the page by their names: of commands, and in capital letters those that they share."""
    found = {}
    for name, block in re.findall(r"^``([\w -]+)``.*\n((?:   .*\n|\n)+)", PAGE.read_text(), re.MULTILINE):
        found[name] = ast.parse(re.search(r"^ +([{[].*)", block, re.M | re.S)[1].strip(), mode="eval").body
    return found


SHAPES = shapes()


def check(value, shape, where="$"):
    """Fail unless a value has a shape."""
    if isinstance(shape, ast.Name) and shape.id in SHAPES:
        check(value, SHAPES[shape.id], where)
    elif isinstance(shape, ast.Name):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        right = is_number if shape.id == "number" else isinstance(value, TYPES.get(shape.id, object))
        assert right, f"{where}: {value!r} is no {shape.id}"
    elif isinstance(shape, ast.BinOp):
        for one in (shape.left, shape.right):
            try:
                return check(value, one, where)
            except AssertionError as error:
                last = error
        raise last
    elif isinstance(shape, ast.List):
        assert isinstance(value, list), where
        for at, each in enumerate(value):
            check(each, shape.elts[0], f"{where}[{at}]")
    else:
        fields = zip(shape.keys, shape.values, strict=True)
        check_object(value, {key.value: each for key, each in fields}, where)
    return None


def check_object(value, fields, where):
    assert isinstance(value, dict), where
    known = {name.removesuffix("?"): each for name, each in fields.items() if name != "*"}
    missing = {name for name in fields if not name.endswith("?") and name != "*"} - set(value)
    assert not missing, f"{where}: {missing} missing"
    for name, each in value.items():
        shape = known.get(name, fields.get("*"))
        assert shape is not None, f"{where}: {name!r} is not on the page"
        check(each, shape, f"{where}.{name}")


def test_every_command_is_on_the_page():
    """A new command needs an entry in docs/reference/json.rst."""
    assert {name for name in SHAPES if not name.isupper()} == {name for name, _ in every_command()}


@pytest.mark.parametrize(
    "value",
    [{}, {"a": "x"}, {"a": True}, {"a": 1, "b": 1}, {"a": 1, "c": {"x": "y"}}, {"a": 1, "d": [1]}, [1]],
)
def test_another_shape_is_seen(value):
    shape = ast.parse('{"a": number, "c?": {"*": number}, "d?": [text | null]}', mode="eval").body
    check({"a": 1, "c": {"x": 2}, "d": ["x", None]}, shape)
    with pytest.raises(AssertionError):
        check(value, shape)


@pytest.fixture(scope="module")
def desk(files):  # noqa: F811
    """The files of the commands, and some more."""
    (files / "tale").mkdir()
    (files / "gold").write_text("0-0 1-1\n0-0 1p1\n0-1 1-0\n")
    (files / "plain").write_text("a small cat sleeps\na small dog sleeps\nthe old cat eats\n" * 9)
    (files / "words").write_text("house\tmaison\t5\nflower\tfleur\t4\n")
    news = sample_news()
    labelled = [each.as_record() | {"event": news.events[each.id]} for each in news.articles[:60]]
    (files / "labelled").write_text("".join(json.dumps(each) + "\n" for each in labelled))
    return files


@pytest.fixture(scope="module")
def done():
    """Commands that have run already."""
    return {}


def printed(command, done):
    """What a command prints, after those that it needs."""
    if command not in done:
        if command in AFTER:
            printed(AFTER[command], done)
        done[command] = json.loads(run(*command.split(), *RUN[command], "--json").stdout)
    return done[command]


@pytest.mark.parametrize("command", RUN)
def test_what_is_printed_is_what_the_page_says(command, desk, done, monkeypatch):
    monkeypatch.chdir(desk)
    monkeypatch.setenv("ISOGLOSS_ENCODER", "off")
    check(printed(command, done), SHAPES[command])


def test_building_a_dictionary_is_what_the_page_says(desk, monkeypatch):
    monkeypatch.chdir(desk)
    told = run("dictionary", *build(desk), "-o", "en-it2", "--json").stdout
    check(json.loads(told), SHAPES["dictionary build"])
