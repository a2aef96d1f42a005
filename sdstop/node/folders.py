"""Directories of a large tree that contain certain non-empty files, without recording the whole tree."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence

from sdstop.core.host import Failed


def folders_with(top: str, files: Sequence[str], most: int) -> tuple[list[str], int]:
    """Return the directories below `top` in which one of `files` is not empty, and the number of all directories.

    The paths are relative to `top` and sorted; `top` itself is "/". The search is breadth first and does not follow
    links. Raises Failed above `most` directories, and OSError.
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
    except FileNotFoundError:  # the directory was removed during the search
        return


def _holds(path: str) -> bool:
    """Return whether a file exists and is not empty. Reads it, because files of the kernel have a size of 0."""
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
