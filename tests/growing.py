"""A process that wants memory; it imports nothing that takes long."""

import time

from tests.waiting import LIMIT_S


def grow():
    hoard = [b"x" * (300 << 20)]
    time.sleep(LIMIT_S + len(hoard))
