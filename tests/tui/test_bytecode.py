"""Files of modules that are imported later are read ahead."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import time
from pathlib import Path

from sdstop.tui.bytecode import files, read_ahead


def resident(path: str) -> bool:
    """Return whether the first page of a file is in the kernel's cache."""
    mincore = ctypes.CDLL(None, use_errno=True).mincore
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as mapped:
        found = ctypes.c_ubyte()
        view = ctypes.c_char.from_buffer(mapped)
        failed = mincore(ctypes.c_void_p(ctypes.addressof(view)), ctypes.c_size_t(1), ctypes.byref(found))
        del view
        assert not failed, os.strerror(ctypes.get_errno())
        return bool(found.value & 1)


def evict(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def test_each_module_has_one_file() -> None:
    found = {Path(path).name.partition(".")[0] for path in files()}
    assert {"caches", "waiting", "difference", "capacity"} <= found
    assert len(list(files())) > 900


def test_a_module_that_is_not_imported_is_in_the_cache_of_the_kernel() -> None:
    loaded = {getattr(module, "__cached__", None) for module in sys.modules.values()}
    path = next(path for path in files() if path not in loaded and Path(path).stat().st_size > 4096)
    evict(path)
    read_ahead().join()
    end = time.monotonic() + 5
    while not resident(path) and time.monotonic() < end:
        time.sleep(0.01)
    assert resident(path)
