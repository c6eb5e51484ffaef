"""The state of a stream as JSON and arrays, and back: going on from it is going on from the stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isogloss.events.clusters import Cluster, Member
from isogloss.events.state import ClusterSettings, ClusterState
from isogloss.events.vectors import Vector

__all__ = ["from_state", "state_dict"]

Arrays = dict[str, NDArray[Any]]


def state_dict(state: ClusterState) -> dict[str, Any]:
    """The whole state: what JSON can hold under ``header``, the rest as named arrays under ``arrays``.

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
        "languages": [cluster.lang for cluster in state.clusters.values()],
        "articles": [cluster.article_ids for cluster in state.clusters.values()],
        "members": list(state.members),
        "terms": terms["header"],
    }
    arrays = {
        **_named("terms", terms["arrays"]),
        **_named("postings", state.postings.state_dict()),
        **_named("clusters", _cluster_arrays(list(state.clusters.values()))),
        **_named("members", _member_arrays(list(state.members.values()))),
        "due.times": np.array([time for time, _ in state.due]),
        "due.clusters": np.array([number for _, number in state.due], dtype=np.int64),
    }
    return {"header": header, "arrays": arrays}


def from_state(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> ClusterState:
    """The state that :func:`state_dict` was given."""
    state = ClusterState(ClusterSettings(**header["settings"]))
    state.now = -np.inf if header["now"] is None else header["now"]
    state.last_id = header["last_id"]
    state.recent = {lang: list(ids) for lang, ids in header["recent"].items()}
    state.terms.load_state(header["terms"], _part("terms", arrays))
    state.postings.load_state(_part("postings", arrays))
    state.clusters = {cluster.id: cluster for cluster in _clusters(header, _part("clusters", arrays))}
    members = _members(_part("members", arrays))
    state.members = dict(zip(header["members"], members, strict=True))
    state.due = list(zip(arrays["due.times"].tolist(), arrays["due.clusters"].tolist(), strict=True))
    return state


def _cluster_arrays(clusters: list[Cluster]) -> Arrays:
    moments = [(c.norm, c.earliest, c.latest, c.seconds) for c in clusters]
    return {
        "ids": np.array([cluster.id for cluster in clusters], dtype=np.int64),
        "moments": np.array(moments).reshape(-1, 4),
        **_packed(cluster.total for cluster in clusters),
    }


def _clusters(header: Mapping[str, Any], arrays: Arrays) -> Iterator[Cluster]:
    parts = zip(arrays["ids"].tolist(), header["languages"], header["articles"], strict=True)
    vectors = _unpacked(arrays)
    for (number, lang, articles), vector, moments in zip(
        parts, vectors, arrays["moments"].tolist(), strict=True
    ):
        yield Cluster(number, lang, list(articles), vector, *moments)


def _member_arrays(members: list[Member]) -> Arrays:
    return {
        "clusters": np.array([member.cluster for member in members], dtype=np.int64),
        "times": np.array([member.time for member in members], dtype=np.float64),
        "thresholds": np.array([member.threshold for member in members], dtype=np.float64),
        **_packed(member.vector for member in members),
    }


def _members(arrays: Arrays) -> Iterator[Member]:
    clusters, times, thresholds = (arrays[name].tolist() for name in ("clusters", "times", "thresholds"))
    return map(Member, clusters, times, _unpacked(arrays), thresholds)


def _packed(vectors: Iterable[Vector]) -> Arrays:
    """Vectors one after the other."""
    listed = list(vectors)
    return {
        "lengths": np.array([len(vector.ids) for vector in listed], dtype=np.int64),
        "terms": np.concatenate([np.empty(0, dtype=np.int32), *(vector.ids for vector in listed)]),
        "weights": np.concatenate([np.empty(0), *(vector.weights for vector in listed)]),
    }


def _unpacked(arrays: Arrays) -> list[Vector]:
    ends = np.cumsum(arrays["lengths"])[:-1]
    if not len(arrays["lengths"]):
        return []
    parts = zip(np.split(arrays["terms"], ends), np.split(arrays["weights"], ends), strict=True)
    return [Vector(ids.copy(), weights.copy()) for ids, weights in parts]


def _named(name: str, arrays: Arrays) -> Arrays:
    return {f"{name}.{key}": array for key, array in arrays.items()}


def _part(name: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    return {key[len(name) + 1 :]: array for key, array in arrays.items() if key.startswith(f"{name}.")}
