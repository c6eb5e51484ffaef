"""The kill harness, some rounds of each fault; many by ``python -m tests.crash.harness``."""

import pytest

from tests.crash.harness import FAULTS, missing, play_all

ROUNDS = 2
QUICK = {("kill", "sqlite"), ("checkpoint", "sqlite"), ("kill", "postgres")}
"""Faults that strike in every run of the tests; the others are marked slow."""


@pytest.mark.parametrize(
    ("fault", "store"),
    [
        pytest.param(fault, store, marks=() if (fault, store) in QUICK else pytest.mark.slow)
        for fault in FAULTS
        for store in ("sqlite", "postgres")
    ],
)
def test_nothing_is_lost_doubled_or_different_after_a_fault(fault, store):
    if why := missing(fault, store):
        pytest.skip(why)
    told = play_all(fault, store, rounds=ROUNDS, seed=1)
    assert told["finds"] == []
    assert told["acknowledged"] > ROUNDS
