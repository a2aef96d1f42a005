"""Bytecode: files of modules that a key or a finding imports later, read ahead while the disk that has them answers.

A view, a sheet or a picture is imported when it is shown first. If the disk of the system has stopped answering by
then, an import that has to read it would stop the dashboard.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path
from threading import Thread

import sdstop


def read_ahead() -> Thread:
    """Ask the kernel to read these files into its cache, in a thread of its own: 10 ms for 700 files."""
    thread = Thread(target=_read_ahead, name="bytecode", daemon=True)
    thread.start()
    return thread


def _read_ahead() -> None:
    modules = tuple(sys.modules.values())
    loaded = {getattr(module, name, None) for module in modules for name in ("__cached__", "__file__")}
    for path in files():
        if path not in loaded:
            with contextlib.suppress(OSError):
                _ask(path)


def files() -> Iterator[str]:
    """Yield for each module of this program the file that an import reads: bytecode, or the source without it."""
    for folder, _, names in os.walk(Path(sdstop.__file__).parent, followlinks=True):
        for source in (f"{folder}/{name}" for name in names if name.endswith(".py")):
            cached = cache_from_source(source)
            yield cached if Path(cached).exists() else source


def _ask(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_WILLNEED)
    finally:
        os.close(descriptor)
