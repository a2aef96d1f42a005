"""Heap: return of freed memory to the system."""

from __future__ import annotations

LARGE = 1 << 18
"""Bytes from which memory is returned to the system as soon as it is freed."""
_END = 1 << 16
"""Free bytes at the end of the heap above which they are returned."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Parameters of mallopt (malloc.h)."""


def return_large_blocks(large: int = LARGE) -> bool:
    """Make freed memory of `large` bytes and more go back to the system; return whether the C library does so.

    Texts of large nodes, and the numbers in them, are allocated and freed every second. By default glibc raises both
    thresholds to the largest block that was freed, up to 32 MiB, and keeps all below it: 15 of 144 MB with 1000 disks.
    Threads that begin later share one arena, as they share Python's lock: those of an exporter kept 6 MB, and the one
    that judges for a dashboard 1.2.
    """
    try:
        import ctypes  # noqa: PLC0415  # takes 1.6 ms, which commands that end soon do not spend

        setting = ctypes.CDLL(None).mallopt
        settings = ((_TRIM_THRESHOLD, _END), (_MMAP_THRESHOLD, large), (_ARENA_MAX, 1))
        return all(setting(parameter, value) == 1 for parameter, value in settings)
    except (ImportError, OSError, AttributeError):
        return False


def return_free_blocks() -> None:
    """Return free memory between blocks that are in use, after much was freed; takes a few milliseconds."""
    try:
        import ctypes  # noqa: PLC0415  # see above

        ctypes.CDLL(None).malloc_trim(0)
    except (ImportError, OSError, AttributeError):
        return
