"""The clock, for rooms that may not look at it themselves."""

import time


def seconds() -> float:
    """Seconds since some moment in the past; only differences mean anything."""
    return time.perf_counter()
