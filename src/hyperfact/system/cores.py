"""How many processor cores this process may use."""

import os


def cores() -> int:
    """At least 1; where the system tells, only those that this process is allowed to run on."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
