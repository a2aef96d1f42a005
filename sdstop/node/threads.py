"""Threads of this process: whether one waits in the kernel."""

from __future__ import annotations

import os

_LOCKS = "futex"
"""Beginning of the kernel functions in which a thread waits for another one: for a lock, also Python's global one."""


def blocked(thread: int) -> bool:
    """Return whether a thread of this process, by its kernel number, sleeps in the kernel, but not for a lock.

    Such a thread waits for a device, a file, a process or a time, from /proc/self/task/THREAD/wchan. False where that
    file is not available or always "0", as on kernels without symbols.
    """
    try:
        fd = os.open(f"/proc/self/task/{thread}/wchan", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        where = os.read(fd, 128).decode("ascii", "replace").strip()
    except OSError:
        return False
    finally:
        os.close(fd)
    return where not in {"", "0"} and not where.startswith(_LOCKS)
