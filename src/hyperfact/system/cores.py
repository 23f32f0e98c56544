"""How many processor cores this process may use, and whether others use them too."""

import os


def cores() -> int:
    """At least 1; where the system tells, only those that this process is allowed to run on."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def is_busy() -> bool:
    """Whether others have kept more than half of the cores at work for the last minute."""
    return hasattr(os, "getloadavg") and os.getloadavg()[0] > cores() / 2
