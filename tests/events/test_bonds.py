"""Bonds of clusters are those that the pairs of articles tell, whatever was merged and moved."""

from __future__ import annotations

from isogloss.events.linking import LinkState
from isogloss.events.samples import sample_news
from isogloss.events.stream import EventStream


def told(links: LinkState, cluster: int) -> dict[int, list[float]]:
    found: dict[int, list[float]] = {}
    for article in links.profiles[cluster].articles:
        for other, similarity in links.near[article].items():
            if links.cluster_of[other] != cluster:
                found.setdefault(links.cluster_of[other], []).append(similarity)
    return found


def test_bonds_are_those_of_articles_and_the_same_when_built_anew() -> None:
    stream = EventStream()
    stream.add(sample_news().articles[:150])
    links = stream.links
    one, other = sorted(links.profiles)[:2]
    links.merge(other, one)
    links.move(links.profiles[one].articles[0], max(links.profiles) + 1)
    kept = {cluster: {**links.bonds.of(cluster)} for cluster in links.profiles}
    for cluster, bonds in kept.items():
        expected = told(links, cluster)
        assert {key: sorted(values) for key, values in bonds.items()} == {
            key: sorted(values) for key, values in expected.items()
        }
    links._bonds = None
    assert {cluster: {**links.bonds.of(cluster)} for cluster in links.profiles} == kept
    assert any(len(bonds) > 1 for bonds in kept.values())
