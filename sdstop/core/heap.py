"""Heap: return of freed memory to the system."""

from __future__ import annotations

LARGE = 1 << 18
"""Bytes from which memory is returned to the system as soon as it is freed."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt (malloc.h)."""


def return_large_blocks() -> bool:
    """Make freed memory of LARGE bytes and more go back to the system; return whether the C library does so.

    Texts of large nodes, and the numbers in them, are allocated and freed every second. By default glibc raises both
    thresholds to the largest block that was freed, up to 32 MiB, and keeps all below it: 15 of 144 MB with 1000 disks.
    """
    try:
        import ctypes  # noqa: PLC0415  # takes milliseconds, and must not delay the first frame

        setting = ctypes.CDLL(None).mallopt
        return all(setting(each, LARGE) == 1 for each in (_MMAP_THRESHOLD, _TRIM_THRESHOLD))
    except (ImportError, OSError, AttributeError):
        return False


def return_free_blocks() -> None:
    """Return free memory between blocks that are in use, after much was freed; takes a few milliseconds."""
    try:
        import ctypes  # noqa: PLC0415  # see above

        ctypes.CDLL(None).malloc_trim(0)
    except (ImportError, OSError, AttributeError):
        return
