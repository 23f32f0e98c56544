"""How this process uses memory: what it keeps for reuse, the most it has held, what there is."""

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_KEEP_BYTES, _RETURN_BYTES = 2**31 - 1, 2**24
_CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
_OTHER_LIBRARY = (AttributeError, OSError, TypeError)  # not glibc; Windows cannot even be asked


#: For processes that are started with it (glibc). Small freed blocks are otherwise kept aside where
#: they lie, between large ones, which then do not become one again. It costs no time.
COMPACT = ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0")


def keep_freed_memory() -> bool:
    """Let this process reuse large freed blocks; call it once before heavy work.

    Without this glibc returns each array over 32 MB to the system and the next one is paid for
    again, page by page: two million facts then take more than three times as long as one million
    where they would take twice as long. It concerns the whole process, so that only commands and
    training call it unasked.

    Returns:
        Whether the C library took the settings.
    """
    return _hold_up_to(_KEEP_BYTES)


def return_freed_memory() -> bool:
    """Give large freed blocks back at once, for work that is divided because memory is short.

    Blocks that are kept lie between others and fit only what is not larger: a step of training then
    holds twice of what it needs at a time. To get each anew costs some time.

    Returns:
        Whether the C library took the settings.
    """
    return _hold_up_to(_RETURN_BYTES)


def _hold_up_to(size: int) -> bool:
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # torch reads it at its first allocation
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except _OTHER_LIBRARY:
        return False
    return all(mallopt(option, size) == 1 for option in (_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD))


def give_back_memory() -> None:
    """Return to the system what is free, where the C library can (glibc)."""
    with suppress(*_OTHER_LIBRARY):
        ctypes.CDLL(None).malloc_trim(0)


def forget_peak() -> None:
    """Give back what is free and begin a new peak, where the system can (Linux)."""
    give_back_memory()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_memory() -> int:
    """The most memory that this process has held so far (or since `forget_peak`), in bytes.

    Linux's own figure for the program where there is one: getrusage begins with what the parent
    held when it started this process.
    """
    try:
        with Path("/proc/self/status").open(encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:  # another system
        pass
    try:
        import resource  # not on Windows
    except ImportError:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def machine_memory() -> int | None:
    """Bytes of memory that this process could have at most; None where nobody tells."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None
    with suppress(OSError, ValueError):  # a container may be allowed less; "max" is no number
        found = min(found, int(_CONTAINER_LIMIT.read_text(encoding="ascii")))
    return found if found > 0 else None
