"""What all tests share."""

import os

import numpy as np
import pytest
from hypothesis import settings

# Timing is measured in benchmarks/, never asserted; CI must give the same answer twice.
settings.register_profile("isogloss", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("isogloss")


@pytest.fixture
def rng():
    """Random numbers, the same in every run."""
    return np.random.default_rng(20_250_101)
