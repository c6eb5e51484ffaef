"""The saved state of a stream: all of it in the same order, refused when damaged."""

import json
import zlib

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from isogloss.events import EventStream
from isogloss.events.checkpoint import _columns as columns
from isogloss.events.checkpoint import _stream_state as saving
from isogloss.events.checkpoint import restore_stream, save_stream
from isogloss.events.ingest import sample_news
from isogloss.exceptions import ModelFileError

NEWS = sample_news().articles[:130]
TEXT = st.text(max_size=8)


@pytest.fixture(scope="module")
def stream():
    stream = EventStream()
    stream.add(NEWS)
    return stream


@pytest.fixture(scope="module")
def saved(stream):
    return save_stream(stream)


def test_saving_what_was_restored_gives_the_same_bytes(saved):
    assert save_stream(restore_stream(saved)) == saved


def test_everything_is_there_in_the_same_order(stream, saved):
    again = restore_stream(saved)
    assert again.links.articles.keys() == stream.links.articles.keys()
    for one, other in zip(again.links.articles.values(), stream.links.articles.values(), strict=True):
        assert all(map(same, fields_of(one), fields_of(other)))
    assert all(map(np.array_equal, near(again.links), near(stream.links)))
    assert in_order(again.tracker.probabilities) == in_order(stream.tracker.probabilities)
    assert again.links.cluster_of == stream.links.cluster_of
    assert list(again.clusters.members) == list(stream.clusters.members)
    assert [one.article_ids for one in again.clusters.clusters.values()] == [
        one.article_ids for one in stream.clusters.clusters.values()
    ]


def fields_of(signature):
    return [getattr(signature, name) for name in signature.__slots__]


def same(one, other):
    if isinstance(one, dict):
        return list(one.items()) == list(other.items())
    if isinstance(one, tuple) and one and isinstance(one[0], np.ndarray):
        return all(map(np.array_equal, one, other))
    return type(one) is type(other) and one == other


def near(links):
    return links.near.of(links.numbers(links.articles))


def in_order(rows):
    return [(key, list(row.items())) for key, row in rows.items()]


@pytest.mark.parametrize("place", [0.1, 0.5, 0.75, 0.999])
def test_a_changed_byte_is_found(saved, place):
    damaged = bytearray(saved)
    damaged[int(place * len(saved))] ^= 4
    with pytest.raises(ModelFileError, match="checkpoint"):
        restore_stream(bytes(damaged))


def test_another_format_is_refused(monkeypatch):
    monkeypatch.setattr(saving, "_FORMAT_VERSION", saving._FORMAT_VERSION + 1)
    later = save_stream(EventStream())
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match=r"has format 8, expected 7"):
        restore_stream(later)


def test_the_first_format_is_refused():
    header = np.frombuffer(json.dumps({"format": 1}).encode(), dtype=np.uint8)
    first = zlib.compress(safetensors.numpy.save({"header": header}), 1)
    with pytest.raises(ModelFileError, match="checkpoint"):
        restore_stream(first)


@given(st.lists(st.dictionaries(TEXT, st.floats(allow_nan=False), max_size=4), max_size=5))
def test_weights_come_back_in_order(rows):
    found = columns.unpack_weights(columns.pack_weights(rows))
    assert [list(row.items()) for row in found] == [list(row.items()) for row in rows]


@given(st.lists(st.lists(TEXT, max_size=4), max_size=5))
def test_names_come_back(rows):
    assert [list(row) for row in columns.unpack_names(columns.pack_names(rows))] == rows


@given(st.integers(0, 4), st.integers(1, 20), st.integers(0, 99))
def test_tables_come_back(rows, width, seed):
    table = np.random.default_rng(seed).integers(-1, 2, (rows, width)).astype(np.int32)
    found = columns.unpack_table(columns.pack_table(table))
    assert found.dtype == table.dtype
    assert np.array_equal(found, table)
