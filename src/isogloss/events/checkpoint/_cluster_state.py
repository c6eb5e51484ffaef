"""Serialisation of the state of online clustering."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.events.checkpoint._columns import (
    Arrays,
    pack_names,
    pack_strings,
    pack_table,
    pack_vectors,
    pack_weights,
    prefixed,
    split_rows,
    unpack_names,
    unpack_strings,
    unpack_table,
    unpack_vectors,
    unpack_weights,
    unprefixed,
)
from isogloss.events.cluster import Cluster, ClusterSettings, ClusterState, Member, PostingLists


def state_dict(state: ClusterState) -> dict[str, Any]:
    """Return the state as JSON under ``header`` and named arrays under ``arrays``.

    Examples
    --------
    >>> snapshot = state_dict(ClusterState())
    >>> from_state(snapshot["header"], snapshot["arrays"]).clusters
    {}
    """
    terms = state.terms.state_dict()
    header = {
        "settings": asdict(state.settings),
        "now": state.now if np.isfinite(state.now) else None,
        "last_id": state.last_id,
        "recent": state.recent,
        "terms": terms["header"],
    }
    arrays = {
        **prefixed("terms", terms["arrays"]),
        **prefixed("postings", _posting_arrays(state.postings)),
        **prefixed("clusters", _cluster_arrays(list(state.clusters.values()))),
        **prefixed("members", _member_arrays(state.members)),
        "due.times": np.array([time for time, _ in state.expiry_heap]),
        "due.clusters": np.array([number for _, number in state.expiry_heap], dtype=np.int64),
    }
    return {"header": header, "arrays": arrays}


def from_state(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> ClusterState:
    """Restore the state from the result of :func:`state_dict`."""
    state = ClusterState(ClusterSettings(**header["settings"]))
    state.now = -np.inf if header["now"] is None else header["now"]
    state.last_id = header["last_id"]
    state.recent = {lang: list(ids) for lang, ids in header["recent"].items()}
    state.terms.load_state(header["terms"], unprefixed(arrays, "terms"))
    _load_postings(state.postings, unprefixed(arrays, "postings"))
    state.clusters = {cluster.id: cluster for cluster in _clusters(unprefixed(arrays, "clusters"))}
    state.members = dict(_members(unprefixed(arrays, "members")))
    state.expiry_heap = list(zip(arrays["due.times"].tolist(), arrays["due.clusters"].tolist(), strict=True))
    return state


def _posting_arrays(postings: PostingLists) -> Arrays:
    arrays = postings.state_dict()
    lists = arrays.pop("lists")
    return {**arrays, **prefixed("lists", pack_table(lists))}


def _load_postings(postings: PostingLists, arrays: Arrays) -> None:
    postings.load_state({**arrays, "lists": unpack_table(unprefixed(arrays, "lists"))})


def _cluster_arrays(clusters: list[Cluster]) -> Arrays:
    moments = [(c.norm, c.earliest, c.latest, c.seconds) for c in clusters]
    return {
        "ids": np.array([cluster.id for cluster in clusters], dtype=np.int64),
        "moments": np.array(moments).reshape(-1, 4),
        "sizes": np.array([len(cluster) for cluster in clusters], dtype=np.int32),
        **prefixed("articles", pack_strings(one for cluster in clusters for one in cluster.article_ids)),
        **prefixed("languages", pack_names([[cluster.lang] for cluster in clusters])),
        **prefixed("totals", pack_vectors([cluster.total for cluster in clusters])),
        **prefixed("places", pack_weights([cluster.places for cluster in clusters])),
    }


def _clusters(arrays: Arrays) -> Iterator[Cluster]:
    articles = split_rows(unpack_strings(unprefixed(arrays, "articles")), arrays["sizes"])
    for number, (lang,), own, total, moments, places in zip(
        arrays["ids"].tolist(),
        unpack_names(unprefixed(arrays, "languages")),
        articles,
        unpack_vectors(unprefixed(arrays, "totals")),
        arrays["moments"].tolist(),
        unpack_weights(unprefixed(arrays, "places")),
        strict=True,
    ):
        cluster = Cluster(number, lang, list(own), total, *moments)
        cluster.places.update({place: int(n) for place, n in places.items()})
        yield cluster


def _member_arrays(members: Mapping[str, Member]) -> Arrays:
    listed = list(members.values())
    return {
        "clusters": np.array([member.cluster for member in listed], dtype=np.int64),
        "times": np.array([member.time for member in listed], dtype=np.float64),
        "thresholds": np.array([member.threshold for member in listed], dtype=np.float64),
        **prefixed("articles", pack_strings(members)),
        **prefixed("vectors", pack_vectors([member.vector for member in listed])),
        **prefixed("places", pack_names([member.places for member in listed])),
    }


def _members(arrays: Arrays) -> Iterator[tuple[str, Member]]:
    clusters, times, thresholds = (arrays[name].tolist() for name in ("clusters", "times", "thresholds"))
    vectors = unpack_vectors(unprefixed(arrays, "vectors"))
    places = map(tuple, unpack_names(unprefixed(arrays, "places")))
    members = map(Member, clusters, times, vectors, thresholds, places)
    return zip(unpack_strings(unprefixed(arrays, "articles")), members, strict=True)
