"""Folders: which folders of a large tree hold something, without recording all of them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence

from sdstop.core.host import Failed


def holding(top: str, files: Sequence[str], most: int) -> tuple[list[str], int]:
    """Return the folders, breadth first from `top`, in which one of `files` is not empty, and how many there are.

    The paths are relative to `top` and sorted; `top` itself is "/". Links are not followed. Raises Failed above `most`
    folders, and OSError.
    """
    found: list[str] = []
    folders = deque([top])
    count = 0
    while folders:
        folder = folders.popleft()
        count += 1
        if count > most:
            raise Failed(f"list:{top}", f"more than {most} folders")
        folders.extend(_folders(folder))
        if any(_holds(f"{folder}/{name}") for name in files):
            found.append(folder[len(top) :] or "/")
    found.sort()
    return found, count


def _folders(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and "\n" not in entry.name:
                    yield entry.path
    except FileNotFoundError:  # folders come and go
        return


def _holds(path: str) -> bool:
    """Return whether a file is there and is not empty; a size of 0 means nothing where the kernel makes the content."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return bool(os.read(fd, 1))
    except OSError:
        return False
    finally:
        os.close(fd)
