"""What a configuration will cost, before it is paid."""

import resource
import sys


def peak_memory() -> int:
    """The most memory that this process has used so far, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
