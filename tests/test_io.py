"""Model files: exact round trips, files that are all or nothing, and no way in for bad ones."""

import ast
import dataclasses
import errno
import gzip
import hashlib
import io as stdlib_io
import json
import logging
import os
import random
import resource
import stat
import struct
import subprocess
import sys
import textwrap
import tracemalloc
import types
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans

from isogloss import io
from isogloss.engine import LocalEngine
from isogloss.exceptions import ModelFileError
from isogloss.io import _classes as classes
from isogloss.io import _container as container
from isogloss.mixture import GaussianMixture
from isogloss.stats import Counts, CountTable, ExpectedCounts, Sketch, ViewMoments

SRC = Path(io.__file__).resolve().parent.parent
TOYS = "isogloss._test_models"


class Toy(BaseEstimator):
    __module__ = TOYS
    _saved_state = ("_kept",)

    def __init__(self, alpha=1.0, *, kernel="linear", inner=None, random_state=None, engine=None):
        self.alpha, self.kernel, self.inner = alpha, kernel, inner
        self.random_state, self.engine = random_state, engine


class Hidden(BaseEstimator):
    __module__ = TOYS


@dataclasses.dataclass(frozen=True)
class Point:
    __module__ = TOYS
    x: object
    y: object = None


@dataclasses.dataclass
class Loose:
    __module__ = TOYS
    x: object = None


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    """A module of isogloss with small models in it."""
    module = types.ModuleType(TOYS)
    module.__all__ = ["Loose", "Point", "Toy"]
    vars(module).update(Toy=Toy, Hidden=Hidden, Point=Point, Loose=Loose)
    monkeypatch.setitem(sys.modules, TOYS, module)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.isogloss"


def fitted(value, **params):
    toy = Toy(**params)
    toy.value_ = value
    return toy


def state(value):
    """Everything about a value down to the last bit, for comparison."""
    kind = type(value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return kind, value.dtype, value.shape, value.tolist()
    if isinstance(value, (np.ndarray, np.generic)):
        return kind, value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return kind, struct.pack("<d", value)
    if isinstance(value, (list, tuple)):
        return kind, [state(item) for item in value]
    if isinstance(value, dict):
        return kind, [(key, type(key), state(item)) for key, item in value.items()]
    if sparse.issparse(value):
        return kind, value.shape, [state(part) for part in (value.data, value.indices, value.indptr)]
    if hasattr(value, "arrays"):
        return kind, state(value.arrays())
    if isinstance(value, BaseEstimator) or dataclasses.is_dataclass(value):
        return kind, state(vars(value))
    return kind, value


def round_trip(model, path):
    io.save(model, path)
    return io.load(path)


def strange_nan():
    return struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_BEEF))[0]


class Letters(str):
    """A string that is more than a string."""


NUMBERS = [None, True, False, 0, -1, 2**70, -(2**2000), 0.1, -0.0, 5e-324]
NUMBERS += [np.inf, -np.inf, np.nan, strange_nan(), np.bool_(True), np.int8(-3), np.uint64(2**64 - 1)]
NUMBERS += [np.float16(0.1), np.float32(np.nan), np.float64(-0.0)]
TEXTS = ["", "ünï €", "\x00", "line\nbreak", "\ud800", "\ud83d\ude00", "__metadata__", np.str_("naïve")]
ARRAYS = [
    *(np.arange(6).reshape(2, 3).astype(t) for t in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")),
    *(np.array([0.1, -0.0, np.nan, np.inf, 6e-8], dtype=t) for t in ("f2", "f4", "f8", ">f4", ">f8")),
    np.array([1, 2, 3], dtype=">i2"),
    np.array([0x7FF0_0000_0000_0001, 0xFFF8_0000_0000_BEEF], dtype="u8").view("f8"),
    np.array(3.5),
    np.zeros((0, 5)),
    np.arange(24.0).reshape(2, 3, 4)[:, ::2, ::-1],
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.array(["a", "", "žluť", "\ud800\udc00"]),
    np.array([["x", "yy"]], dtype=">U7"),
    np.array([], dtype="U3"),
    np.array("alone"),
    np.array(["a", "", "ž\ud800", "🙂 🙂"], dtype=object),
    np.array([["a", "b"], ["c", "d"]], dtype=object),
    np.array([], dtype=object),
]


def wide_indices():
    out = sparse.csr_matrix(BLOCK)
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


BLOCK = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, -0.0]])
SPARSE = [
    wide_indices(),
    sparse.csr_matrix(BLOCK),
    sparse.csc_matrix(BLOCK.astype(np.float32)),
    sparse.csr_array(BLOCK > 0),
    sparse.csc_array((4, 0)),
    sparse.csr_array(BLOCK[0]),
    sparse.csr_array((np.ones(2), np.array([2, 0]), np.array([0, 2])), shape=(1, 3)),  # unsorted
]
CONTAINERS = [
    [],
    (),
    {},
    [1, [2.0, ("a", None)], []],
    {"a": 1, 2: np.arange(3), "": {"__metadata__": np.ones(1)}, "a.b": {"a": {"b": np.ones(2)}}},
    {"a": np.zeros(1), "b": {"keys": np.ones(1)}, "a]['b": np.ones(3)},
    {"x" * 60 + "a": np.zeros(1), "x" * 60 + "b": np.ones(1)},
    {"żółć" * 30 + str(i): i for i in range(100)},
    {i: f"\ud800{i}" for i in range(100)},
    list(range(-50, 50)),
    tuple(float(i) / 3 for i in range(100)),
    [True] * 100,
    [2**63] * 100,
    [1, 1.0] * 50,
    [[i] for i in range(100)],
    [strange_nan()] * 100,
]


@pytest.mark.parametrize("value", NUMBERS + TEXTS + ARRAYS + SPARSE + CONTAINERS, ids=lambda v: repr(v)[:40])
def test_every_kind_of_value_comes_back_to_the_bit(path, value):
    model = round_trip(fitted(value, alpha=value), path)
    assert state(model.value_) == state(value)
    assert state(model.alpha) == state(value)


PLAIN_VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | hnp.arrays(
        hnp.boolean_dtypes() | hnp.integer_dtypes() | hnp.floating_dtypes(), hnp.array_shapes(min_side=0)
    )
    | hnp.arrays(hnp.unicode_string_dtypes(), hnp.array_shapes(min_side=0))
)
VALUES = st.recursive(
    PLAIN_VALUES,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner)
        | inner.map(Point)
        | inner.map(fitted)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_any_nesting_of_values_comes_back_to_the_bit(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "any.isogloss"
    assert state(round_trip(fitted(value), path).value_) == state(value)


def test_memory_order_is_kept_because_products_depend_on_it(path):
    value = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert round_trip(fitted(value), path).value_.flags.f_contiguous


@pytest.mark.parametrize("value", [np.arange(3.0), sparse.csr_array(BLOCK).data], ids=["dense", "sparse"])
def test_loaded_arrays_can_be_written_to(path, value):
    assert round_trip(fitted(value), path).value_.flags.writeable


def statistics():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(9, 3)), rng.normal(size=(9, 2))
    return [
        ViewMoments([3, 2]).update([x, y]),
        Sketch([3, 2], {1: rng.normal(size=(2, 2))}, [(0, 1)]).update([x, y]),
        Counts().update(["a", ("b", 1), 7, "ž"]),
        Counts(),
        CountTable((2, 3)).update([[0, 2], [1, 1]]),
        ExpectedCounts({"weight": rng.random(3)}, rows=9, entropy=0.1, parameters_id="abc"),
    ]


@pytest.mark.parametrize("statistic", statistics(), ids=lambda s: type(s).__name__)
def test_statistics_come_back_alone_and_inside_a_model(path, statistic):
    assert state(round_trip(statistic, path)) == state(statistic)
    assert state(round_trip(fitted([statistic]), path).value_) == state([statistic])


def test_nested_estimators_dataclasses_and_chosen_private_state(path):
    model = fitted([fitted(np.arange(3.0), alpha=2), Point(1, (2.0, np.ones(2)))], inner=Toy(kernel="rbf"))
    model.feature_names_in_ = np.array(["a", "b"], dtype=object)
    model.n_features_in_, model._kept, model._not_kept, model.scratch = 2, {"x": 1}, object(), object()
    loaded = round_trip(model, path)
    del model._not_kept, model.scratch
    assert state(loaded) == state(model)


def test_a_mixture_gives_the_same_bits_in_another_process(path, rng):
    X = np.concatenate([rng.normal(-3, 1, (60, 3)), rng.normal(3, 1, (40, 3))])
    model = GaussianMixture(2, random_state=0, means_init=[[-3.0] * 3, [3.0] * 3]).fit(X)
    io.save(model, path)
    np.save(path.with_suffix(".npy"), X)
    code = """
        import sys, numpy as np
        from isogloss import io
        assert "isogloss.mixture" not in sys.modules
        model, X = io.load(sys.argv[1]), np.load(sys.argv[2])
        print(model.score_samples(X).tobytes().hex())
        print(model.partial_fit(X[:50]).means_.tobytes().hex())
        io.save(model, sys.argv[1])
    """
    command = [sys.executable, "-c", textwrap.dedent(code), path, path.with_suffix(".npy")]
    scores, means = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert scores == model.score_samples(X).tobytes().hex()
    assert means == model.partial_fit(X[:50]).means_.tobytes().hex()
    assert state(io.load(path, expected=GaussianMixture)) == state(model)


def test_the_same_model_gives_the_same_bytes(path, tmp_path):
    model = fitted({"a": np.arange(3), "b": [1.0] * 100})
    io.save(model, path)
    io.save(io.load(path), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_any_reader_of_safetensors_finds_the_arrays_by_name(path):
    io.save(fitted({"en": np.arange(3)}), path)
    assert safetensors.numpy.load_file(path)["Toy.value_['en']"].tolist() == [0, 1, 2]


def test_describe_lists_the_contents_without_importing_them(path, monkeypatch):
    model = fitted(
        np.asfortranarray(np.zeros((2, 3), dtype=np.float32)), alpha=np.inf, random_state=np.int32(5)
    )
    model.words_, model.inner_, model.table_ = ["a"] * 100, Point(1), sparse.csr_array(BLOCK)
    io.save(model, path)
    monkeypatch.delitem(sys.modules, TOYS)
    told = io.describe(path)
    assert told["class"] == f"{TOYS}.Toy"
    version = io._models.version("isogloss")
    assert (told["kind"], told["format"], told["isogloss"]) == ("estimator", 1, version)
    params = {"alpha": np.inf, "engine": None, "inner": None, "kernel": "linear", "random_state": 5}
    assert told["parameters"] == params
    assert told["attributes"] == {
        "value_": "float32 array of shape (2, 3)",
        "words_": "sequence",
        "inner_": f"{TOYS}.Point",
        "table_": "csr_array of shape (2, 3)",
    }
    assert told["file_bytes"] == path.stat().st_size > told["array_bytes"] > 24
    assert told["n_arrays"] == 6
    json.dumps(told)


def test_describe_reads_nothing_behind_the_header(path):
    io.save(fitted(np.zeros(1000)), path)
    data = bytearray(path.read_bytes())
    data[-4000:] = os.urandom(4000)
    path.write_bytes(data)
    assert io.describe(path)["array_bytes"] == 8000


def test_an_engine_is_left_out_and_noted(path, caplog):
    with caplog.at_level(logging.INFO, logger="isogloss.io"):
        loaded = round_trip(fitted(1, engine=LocalEngine(), inner=Toy(engine=LocalEngine())), path)
    assert loaded.engine is loaded.inner.engine is None
    assert [r.getMessage().split()[0] for r in caplog.records] == ["Toy.engine", "Toy.inner.engine"]


def looped():
    value = []
    value.append(value)
    return value


REFUSED = {
    "function": (
        lambda x: x,
        "Toy.value_ is a Python function, which a model file cannot hold; use a named value_",
    ),
    "class": (int, "use a named"),
    "random state": (np.random.RandomState(0), "use an integer seed"),
    "generator": (np.random.default_rng(0), "use an integer seed"),
    "file": (stdlib_io.BytesIO(), "an open file"),
    "engine": (LocalEngine(), "an engine (isogloss.engine"),
    "foreign estimator": (KMeans(), "a sklearn.cluster._kmeans.KMeans, an estimator of another package"),
    "private class": (Hidden(), "not a public estimator"),
    "mutable dataclass": (Loose(), "frozen dataclass"),
    "other sparse": (sparse.coo_array(BLOCK), "coo format; convert it with .tocsr()"),
    "complex": (np.ones(2, dtype=complex), "an array of complex128"),
    "long double": (np.longdouble(1), "NumPy float128" if np.dtype("g").itemsize == 16 else "NumPy"),
    "objects": (np.array(["a", 1], dtype=object), "an array of object"),
    "bytes": (b"abc", "a builtins.bytes"),
    "set": ({1}, "a builtins.set"),
    "subclass": (Letters("x"), "Letters"),
    "matrix": (np.ma.masked_array([1.0], [True]), "MaskedArray"),
    "long integer": (1 << 5000, "5001 bits"),
    "key": ({1.5: 0}, "Toy.value_ has the key 1.5"),
    "truth as key": ({True: 0}, "has the key True"),
    "deep inside": ({"a": [0, Point(print)]}, "Toy.value_['a'][1].x is a Python function"),
    "loop": (looped(), "deep, or contains itself"),
}


@pytest.mark.parametrize(("value", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_a_file_cannot_hold_is_refused_by_name_and_nothing_is_written(path, value, reason):
    io.save(fitted("old"), path)
    with pytest.raises(TypeError) as refusal:
        io.save(fitted(value), path)
    assert reason in str(refusal.value)
    assert str(refusal.value).startswith("Toy.value_")
    assert io.load(path).value_ == "old"
    assert os.listdir(path.parent) == [path.name]


def test_a_function_as_parameter_is_refused_by_its_name(path):
    with pytest.raises(TypeError, match=r"^Toy.kernel is a Python function, .* use a named kernel$"):
        io.save(Toy(kernel=max), path)


@pytest.mark.parametrize("model", [KMeans(), {"a": 1}, None, np.ones(2)], ids=lambda m: type(m).__name__)
def test_only_objects_of_isogloss_are_models(path, model):
    with pytest.raises(TypeError, match=f"^got a {type(model).__name__}; a model is an estimator"):
        io.save(model, path)


@pytest.mark.parametrize("make", [lambda v: [v], lambda v: {"k": v}, lambda v: (v,), Point, fitted])
def test_what_can_be_saved_can_be_loaded_however_deep(path, make):
    value, depth = {str(i): i for i in range(100)}, 0
    while True:
        value, depth = make(value), depth + 1
        try:
            io.save(fitted(value), path)
        except TypeError:
            break
        io.load(path)
    assert 16 < depth < 100


# --- atomic writes ---------------------------------------------------------------------------------


def test_the_file_is_on_the_disk_before_its_name_and_then_its_name(path, monkeypatch):
    events, fsync, replace = [], os.fsync, os.replace

    def note_fsync(descriptor):
        status = os.fstat(descriptor)
        events.append("directory" if stat.S_ISDIR(status.st_mode) else f"file of {status.st_size}")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", lambda a, b: (events.append("rename"), replace(a, b)))
    io.save(fitted(np.zeros(100)), path)
    assert events == [f"file of {path.stat().st_size}", "rename", "directory"]


def fail(error):
    def raise_it(*arguments, **options):
        raise error

    return raise_it


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=str
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch, call, error):
    io.save(fitted("old"), path)
    monkeypatch.setattr(os, call, fail(error))
    expected = ModelFileError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as raised:
        io.save(fitted("new"), path)
    if expected is ModelFileError:
        assert str(raised.value) == f"{path}: No space left on device; check the path and the disk"
    assert io.load(path).value_ == "old"
    assert os.listdir(path.parent) == [path.name]


def test_a_disk_that_takes_no_more_leaves_the_old_file_and_nothing_else(path):
    io.save(fitted("old"), path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(ModelFileError, match="File too large"):
            io.save(fitted(np.zeros(100_000)), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert io.load(path).value_ == "old"
    assert os.listdir(path.parent) == [path.name]


def test_a_description_too_long_to_be_read_is_not_written(path, monkeypatch):
    monkeypatch.setattr(container, "MAX_HEADER_BYTES", 2000)
    with pytest.raises(ModelFileError, match="keep long lists and dicts of the model as arrays"):
        io.save(fitted("x" * 3000), path)
    assert os.listdir(path.parent) == []


def test_a_link_stays_and_its_target_changes_and_permissions_are_kept(path):
    target = path.with_name("target")
    io.save(fitted("old"), target)
    target.chmod(0o640)
    path.symlink_to(target)
    io.save(fitted("new"), path)
    assert path.is_symlink()
    assert io.load(target).value_ == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_place_that_cannot_be_written_is_named(path):
    os.mkfifo(path)  # stands for a device, which a broken save must not be let near
    for bad in (path.parent, path.parent / "none" / "model", path):
        with pytest.raises(ModelFileError, match=f"^{bad}: "):
            io.save(fitted(1), bad)
    assert stat.S_ISFIFO(path.stat().st_mode)


# --- bad files -------------------------------------------------------------------------------------


def reason(path, **options):
    with pytest.raises(ModelFileError) as refusal:
        io.load(path, **options)
    message = str(refusal.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def zipped():
    out = stdlib_io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.npy", "a" * 1000)
    return out.getvalue()


SAVE = "; save the model with isogloss.io.save"
NOT_MODELS = {
    "empty": (b"", "is empty; copy the file or save the model again"),
    "pickle": (b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00K\x01.", f"is a pickle, not a model file{SAVE}"),
    "zip": (zipped(), f"is a zip archive, not a model file{SAVE}"),
    "gzip": (gzip.compress(b"a" * 99), f"is gzip, not a model file{SAVE}"),
    "text": (b"model: gaussian mixture\n", f"is not a model file{SAVE}"),
    "json": (b'{"format": 1, "model": {}}', f"is not a model file{SAVE}"),
    "numpy": (b"\x93NUMPY\x01\x00v\x00{'descr'", f"is a NumPy array, not a model file{SAVE}"),
    "zeros": (bytes(100), f"is not a model file{SAVE}"),
    "no header": (bytes(8) + b"{}", f"is not a model file{SAVE}"),
    "stub": (
        b"hello",
        "is cut short: 5 bytes, less than any model file has; copy the file or save the model again",
    ),
    "huge header": (struct.pack("<Q", 2**40) + b"{}", f"is not a model file{SAVE}"),
    "other safetensors": (
        safetensors.numpy.save({"a": np.ones(3)}),
        f"is a safetensors file without a model{SAVE}",
    ),
}


@pytest.mark.parametrize(("content", "expected"), NOT_MODELS.values(), ids=NOT_MODELS)
def test_what_is_no_model_file_is_called_what_it_is(path, content, expected):
    path.write_bytes(content)
    assert reason(path) == expected
    with pytest.raises(ModelFileError):
        io.describe(path)


def test_what_is_no_file_is_called_what_it_is(path):
    assert reason(path) == "there is no such file; check the path"
    assert reason(path.parent) == "is a directory; give the path of a model file"
    os.mkfifo(path)
    assert reason(path) == "is not a regular file; give the path of a model file"


def test_a_file_cut_anywhere_is_refused_whole(path):
    io.save(fitted(np.arange(5.0)), path)
    data = path.read_bytes()
    for length in range(len(data)):
        path.write_bytes(data[:length])
        assert "copy the file or save the model again" in reason(path)
        with pytest.raises(ModelFileError):
            io.describe(path)


def test_expected_is_checked(path):
    io.save(fitted(1), path)
    assert type(io.load(path, expected=BaseEstimator)) is Toy
    assert reason(path, expected=CountTable).startswith("holds Toy; expected CountTable")
    with pytest.raises(TypeError, match="is not a class"):
        io.load(path, expected="Toy")


def rich_model():
    value = [np.arange(4.0), {"a": (1, np.nan), 2: sparse.csr_array(BLOCK)}, Point("x"), statistics()[0]]
    return fitted([*value, np.array(["a", "b"]), [f"w{i}" for i in range(64)]], inner=Toy(np.float32(2)))


def mutate(data, rng):
    """One small random change anywhere in the file."""
    at, data = rng.randrange(len(data)), bytearray(data)
    match rng.randrange(6):
        case 0 | 1:
            data[at] ^= 1 << rng.randrange(8)
        case 2:
            data[at] = rng.choice(b'{}[]",:0129 \\\x00\xff')
        case 3:
            del data[at : at + rng.choice([1, 2, 8, 100])]
        case 4:
            data[at:at] = rng.randbytes(rng.choice([1, 2, 8]))
        case 5:
            other = rng.randrange(len(data))
            data[at : at + 8], data[other : other + 8] = data[other : other + 8], data[at : at + 8]
    return bytes(data)


def test_any_change_of_any_byte_is_found(path):
    model, rng = rich_model(), random.Random(1)
    io.save(model, path)
    data, unharmed, messages = path.read_bytes(), 0, set()
    for _ in range(1000):
        path.write_bytes(mutate(data, rng))
        try:
            unharmed += state(io.load(path)) == state(model) or pytest.fail("another model was loaded")
        except ModelFileError as error:
            messages.add(str(error))
    assert all(message.startswith(f"{path}: ") and "\n" not in message for message in messages)
    assert unharmed < 30  # padding, white space, swaps of equal bytes


def test_any_flipped_bit_of_the_arrays_is_found(path):
    io.save(fitted(np.arange(4.0)), path)
    data = path.read_bytes()
    for bit in range(8 * 32):
        changed = bytearray(data)
        changed[-1 - bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        assert "do not match their digest" in reason(path)


def signed(description):
    """The text of a description with its digest."""
    if isinstance(description, dict):
        text = json.dumps(description, separators=(",", ":"))
        description["digest"] = hashlib.blake2b(text.encode(), digest_size=32).hexdigest()
    return json.dumps(description)


def forge(path, change, tensors=None):
    """A file with a changed description and correct digests, as an attacker would write it."""
    size = int.from_bytes(path.read_bytes()[:8], "little")
    description = json.loads(json.loads(path.read_bytes()[8 : 8 + size])["__metadata__"]["isogloss"])
    stored = safetensors.numpy.load_file(path) if tensors is None else tensors
    del description["digest"]
    description["tensors"] = container._tensors_digest(stored)
    description = change(description) or description
    safetensors.numpy.save_file(stored, path, metadata={"isogloss": signed(description)})


def test_a_forged_file_that_is_right_loads(path):
    io.save(rich_model(), path)
    forge(path, lambda description: None)
    assert state(io.load(path)) == state(rich_model())


INJECTED = [
    "os.system",
    "subprocess.Popen",
    "builtins.eval",
    "isogloss.io.save",
    "isogloss.io._models.os.system",
    "isogloss.exceptions.ModelFileError",
    "isogloss.engine.LocalEngine",
    "isogloss.mixture._gaussian.BaseEstimator",
    "isogloss.mixture._gaussian.DensityMixin",
    "isogloss.stats.Statistic",
    "isogloss.stats._cross.CrossMoments",
    "isogloss.__main__.Toy",
    "isogloss.no_such_module.Toy",
    "isogloss..Toy",
    "isogloss",
    "isogloss_evil.Toy",
    "sklearn.cluster.KMeans",
    "sklearn.base.BaseEstimator",
    f"{TOYS}.Hidden",
    f"{TOYS}.Loose",
    f"{TOYS}.Toy.__class__",
    "",
    None,
    ["isogloss"],
]


@pytest.mark.parametrize("kind", ["estimator", "statistic", "dataclass"])
@pytest.mark.parametrize("name", INJECTED, ids=str)
def test_a_file_that_names_any_other_class_is_refused(path, name, kind):
    content = {
        "estimator": {"params": {}, "state": {}},
        "statistic": {"arrays": {}},
        "dataclass": {"fields": {}},
    }
    io.save(fitted(1), path)
    forge(path, lambda d: d.update(model={kind: {"class": name, **content[kind]}}), {})
    reason(path)
    io.save(fitted(1), path)
    nested = {kind: {"class": name, **content[kind]}}
    forge(path, lambda d: d["model"]["estimator"]["state"].update(value_=nested), {})
    reason(path)


@pytest.mark.parametrize("name", ["intruder.Toy", "isogloss_intruder.Toy", "isogloss.__main__.Toy"])
def test_no_module_but_those_of_isogloss_is_imported(path, monkeypatch, name):
    imported = []
    monkeypatch.setattr(classes, "import_module", lambda name: imported.append(name) or sys.modules[TOYS])
    io.save(fitted(1), path)
    forge(path, lambda d: d["model"]["estimator"].update({"class": name}))
    assert "only public classes of isogloss may be loaded" in reason(path)
    assert imported == []


def test_a_class_of_another_package_exported_by_isogloss_is_refused(path):
    sys.modules[TOYS].__all__ += ["KMeans"]
    sys.modules[TOYS].KMeans = KMeans
    io.save(fitted(1), path)
    forge(
        path, lambda d: d["model"]["estimator"].update({"class": f"{TOYS}.KMeans", "state": {}, "params": {}})
    )
    assert "this isogloss has none of that name" in reason(path)


def test_a_newer_format_asks_for_a_newer_isogloss(path):
    io.save(fitted(1), path)
    forge(path, lambda d: {"format": 2, "written_by": "9.9", "new": 1})
    for read in (io.load, io.describe):
        with pytest.raises(
            ModelFileError, match=r"format 2, written by isogloss 9\.9.*install a newer isogloss"
        ):
            read(path)


def node(value):
    return lambda d: d["model"]["estimator"]["state"].update(value_=value)


def deep(kind):
    value = 1
    for _ in range(100):
        value = kind(value)
    return value


ARRAY = ["Toy.value_", "<f8", "C"]
FORGED = {
    "unknown kind": (node({"object": 1}), "unknown kind 'object'"),
    "two kinds": (node({"tuple": [], "dict": [[], []]}), "has a value with the keys"),
    "no kind": (node({}), "has a value with the keys"),
    "deep list": (node(deep(lambda v: [v])), "nested more than"),
    "deep tuple": (node(deep(lambda v: {"tuple": [v]})), "nested more than"),
    "deep dict": (node(deep(lambda v: {"dict": [["a"], [v]]})), "nested more than"),
    "used twice": (node([{"array": ARRAY}, {"array": ARRAY}]), "or refers to it twice"),
    "unused": (node(1), "arrays that nothing refers to"),
    "missing": (node({"array": ["x", "<f8", "C"]}), "lacks the array 'x'"),
    "other dtype": (node({"array": ["Toy.value_", "<i8", "C"]}), "as another than the one it holds"),
    "object dtype": (node({"array": ["Toy.value_", "|O", "C"]}), "KeyError"),
    "order": (node({"array": ["Toy.value_", "<f8", "K"]}), "as another than the one it holds"),
    "unicode": (node({"unicode": ["Toy.value_", "<U2"]}), "as another than the one it holds"),
    "text": (node({"text": ["Toy.value_", "Toy.value_", [2]]}), "refers to it twice"),
    "float": (node({"float": "00"}), "StructError"),
    "scalar": (node({"scalar": ["<f8", "00" * 16]}), "ValueError"),
    "keys": (node({"dict": [[1.5], [0]]}), "neither str nor int"),
    "same key": (node({"dict": [["a", "a"], [0, 1]]}), "occurs twice"),
    "fewer values": (node({"dict": [["a", "b"], [0]]}), "ValueError"),
    "packed": (node({"packed": ["set", {"array": ARRAY}]}), "KeyError"),
    "packed other": (node({"packed": ["list", 1]}), "where an array belongs"),
    "attribute": (
        lambda d: d["model"]["estimator"]["state"].update(fit=1),
        "'fit', which is not a fitted attribute",
    ),
    "dunder": (lambda d: d["model"]["estimator"]["state"].update(__class__=1), "not a fitted attribute"),
    "parameter": (lambda d: d["model"]["estimator"]["params"].update(beta=1), "TypeError"),
    "part": (lambda d: d["model"]["estimator"].update(code="x"), "has an object with the parts"),
    "no model": (lambda d: d.update(model=[1]), "describes no model"),
    "other model": (lambda d: d.update(model={"tuple": []}), "describes no model"),
    "key": (lambda d: d.update(extra=1), "unknown or missing keys"),
    "format missing": (lambda d: d.pop("format") and None, "without a format number"),
    "format text": (lambda d: d.update(format="1"), "without a format number"),
    "format zero": (lambda d: d.update(format=0), "unknown format 0"),
    "format true": (lambda d: d.update(format=True), "without a format number"),
    "not a dict": (lambda d: [1], "without a format number"),
    "nan": (node(float("nan")), "has NaN in its description"),
    "statistic": (
        node({"statistic": {"class": "isogloss.stats.ViewMoments", "arrays": {}}}),
        "KeyError: 'dims'",
    ),
    "no array": (
        node({"statistic": {"class": "isogloss.stats.Counts", "arrays": {"keys": 1}}}),
        "array belongs",
    ),
    "digest": (lambda d: d.update(tensors="00"), "do not match their digest"),
}


@pytest.mark.parametrize(("change", "expected"), FORGED.values(), ids=FORGED)
def test_a_description_that_isogloss_would_not_write_is_refused(path, change, expected):
    io.save(fitted(np.arange(2.0)), path)
    forge(path, change)
    assert expected.lower().replace("structerror", "error: unpack") in reason(path).lower()


def test_too_little_memory_is_called_that(path, monkeypatch):
    io.save(Toy(), path)
    monkeypatch.setattr(Toy, "__init__", fail(MemoryError()))
    assert reason(path).startswith("does not fit into memory, or is damaged")


def test_a_header_whose_digest_is_wrong_is_refused_even_unread(path):
    io.save(fitted("old"), path)
    path.write_bytes(path.read_bytes().replace(b"old", b"new"))
    with pytest.raises(ModelFileError, match="has a header that does not match its digest"):
        io.describe(path)
    reason(path)


def matrix(indices, indptr, shape=(2, 2), data=(1.0, 2.0)):
    names = ["data", "indices", "indptr"]
    arrays = dict(zip(names, map(np.asarray, (data, indices, indptr)), strict=True))
    parts = [{"array": [name, array.dtype.str, "C"]} for name, array in arrays.items()]
    return node({"sparse": ["csr_matrix", list(shape), *parts]}), arrays


def text(lengths, shape):
    letters = np.frombuffer(b"abcd", dtype=np.uint8)
    return node({"text": ["letters", "lengths", shape]}), {"letters": letters, "lengths": np.array(lengths)}


MOMENTS = {"class": "isogloss.stats.ViewMoments", "arrays": {"dims": {"array": ["dims", "<i8", "C"]}}}
FORGED_ARRAYS = {
    "index beyond": matrix([0, 5], [0, 1, 2]),
    "index below": matrix([0, -1], [0, 1, 2]),
    "pointer beyond": matrix([0, 1], [0, 1, 9]),
    "pointer back": matrix([0, 1], [0, 2, 1]),
    "pointer short": matrix([0, 1], [0, 2]),
    "float index": matrix([0.0, 1.0], [0.0, 1.0, 2.0]),
    "negative shape": matrix([0, 1], [0, 1, 2], shape=(2, -2)),
    "lengths": text([2, 1], [2]),
    "negative length": text([6, -2], [2]),
    "length overflow": text([4, 2**63 - 1, 2**63 - 1, 2], [4]),
    "float lengths": text([2.0, 2.0], [2]),
    "text shape": text([2, 2], [3]),
    "huge moments": (node({"statistic": MOMENTS}), {"dims": np.array([10**7, 10**7])}),
    "no letter": (node({"unicode": ["u", "<U1"]}), {"u": np.array([[0x110000]], dtype=np.uint32)}),
    "no truth": (node({"array": ["b", "|b1", "C"]}), {"b": np.array([2, 0], dtype=np.uint8).view(bool)}),
    "complex": (node({"array": ["c", "<c8", "C"]}), {"c": np.ones(2, dtype=np.complex64)}),
}


@pytest.mark.parametrize(("change", "tensors"), FORGED_ARRAYS.values(), ids=FORGED_ARRAYS)
def test_arrays_that_would_lead_compiled_code_astray_are_refused(path, change, tensors):
    io.save(fitted(1), path)
    forge(path, change, tensors)
    reason(path)


def lying(entry, body):
    header = json.dumps({"a": entry, "__metadata__": METADATA}).encode()
    return struct.pack("<Q", len(header)) + header + body


METADATA = {"isogloss": signed({"format": 1, "written_by": "", "model": {}, "tensors": ""})}
LIES = {
    "shape and offsets": ({"dtype": "F64", "shape": [10**9], "data_offsets": [0, 8 * 10**9]}, bytes(16)),
    "shape": ({"dtype": "F64", "shape": [10**9], "data_offsets": [0, 16]}, bytes(16)),
    "overflow": ({"dtype": "F64", "shape": [2**62, 4], "data_offsets": [0, 0]}, b""),
    "empty but wide": ({"dtype": "F64", "shape": [2**62, 0], "data_offsets": [0, 0]}, b""),
    "many dimensions": ({"dtype": "F64", "shape": [1] * 100, "data_offsets": [0, 8]}, bytes(8)),
    "begin": ({"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}, bytes(16)),
    "backwards": ({"dtype": "F64", "shape": [1], "data_offsets": [8, 0]}, bytes(8)),
    "negative": ({"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]}, bytes(8)),
    "dtype": ({"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}, bytes(8)),
    "no offsets": ({"dtype": "F64", "shape": [1]}, bytes(8)),
    "trailing bytes": ({"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}, bytes(800)),
}


@pytest.mark.parametrize(("entry", "body"), LIES.values(), ids=LIES)
def test_lying_shapes_are_refused_before_anything_is_allocated(path, entry, body):
    path.write_bytes(lying(entry, body))
    tracemalloc.start()
    try:
        reason(path)
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("opening", [b"[", b'{"a":'], ids=["list", "dict"])
def test_a_header_nested_without_end_is_refused(path, opening):
    header = b'{"a":' + opening * 100_000
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    assert "RecursionError" in reason(path)


def leaves(value, where=()):
    yield where
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*where, key))


def bend(description, rng):
    """Replace, drop, move or copy one part of a description."""
    places = [where for where in leaves(description) if where]
    (*above, last), source = rng.choice(places), rng.choice(places)
    part, copy = description, description
    for key in above:
        part = part[key]
    for key in source:
        copy = copy[key]
    if rng.random() < 0.2:
        del part[last]
    else:
        odd = [None, -1, 2**64, 1e308, "", "x", [], {}, {"array": ARRAY}, ["a"], json.loads(json.dumps(copy))]
        part[last] = rng.choice(odd)


def test_any_bent_description_under_a_right_digest_is_refused_or_harmless(path):
    rng, loaded, messages = random.Random(2), 0, set()
    io.save(rich_model(), path)
    good = path.read_bytes()
    for _ in range(400):
        path.write_bytes(good)
        forge(path, lambda d: bend(d, rng))
        for read in (io.load, io.describe):
            try:
                loaded += read(path) is not None
            except ModelFileError as error:
                messages.add(str(error))
    assert not any("\n" in message for message in messages)
    assert loaded > 0


def test_nothing_in_the_package_can_open_a_pickle():
    banned = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
    for source in SRC.rglob("*.py"):
        text = source.read_text()
        for part in ast.walk(ast.parse(text)) if any(name in text for name in (*banned, "allow_")) else ():
            if isinstance(part, ast.Import):
                assert not banned & {alias.name.split(".")[0] for alias in part.names}, source
            elif isinstance(part, ast.ImportFrom):
                counts_cores = (part.module, [alias.name for alias in part.names]) == (
                    "joblib",
                    ["cpu_count"],
                )
                assert counts_cores or (part.module or "").split(".")[0] not in banned, source
            elif isinstance(part, ast.keyword) and part.arg == "allow_pickle":
                assert isinstance(part.value, ast.Constant), source
                assert part.value.value is False, source
