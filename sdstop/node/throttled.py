"""Throttled: which control groups of the live node have limits on block devices, without reading all of them often."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sdstop.collectors.limits.controlgroup import ROOT, THROTTLES
from sdstop.core.host import Absent, Failed

LIMITED = "cgroup.limited"
AGAIN = 10.0
"""Seconds after which all groups are looked through again; in between the answer is the last one."""
MOST = 20_000
"""Groups that are looked through; a node with more has an ailment of its own, and is told so."""


@dataclass(slots=True)
class ControlGroups:
    """The control groups that have a limit, found by looking at all of them now and then."""

    root: str = ROOT
    clock: Callable[[], float] = time.monotonic
    known: dict[str, Any] | None = None
    looked: float = field(default=0.0)

    def look(self) -> dict[str, Any]:
        """Return the groups' paths below the mount by version, e.g. `{"v2": ["/a.slice"], "v1": [], "groups": 212}`.

        Raises Absent where no control groups are mounted, or none has the controller of block devices.
        """
        now = self.clock()
        if self.known is None or now - self.looked >= AGAIN:
            self.known, self.looked = self._search(), now
        return self.known

    def _search(self) -> dict[str, Any]:
        unified, v1 = Path(self.root, "cgroup.controllers"), Path(self.root, "blkio")
        found: dict[str, list[str]] = {"v1": [], "v2": []}
        count = 0
        if unified.exists():
            if "io" not in unified.read_text("ascii", "replace").split():
                raise Absent(f"answer:{LIMITED}", "control groups without the io controller")
            count = self._walk(self.root, ("io.max",), found["v2"])
        elif v1.is_dir():
            count = self._walk(str(v1), tuple(f"blkio.throttle.{name}_device" for name in THROTTLES), found["v1"])
        else:
            raise Absent(f"answer:{LIMITED}", "no control groups that can limit block devices are mounted")
        return {**found, "groups": count}

    @staticmethod
    def _walk(mount: str, files: tuple[str, ...], found: list[str]) -> int:
        """Add the limited groups, breadth first, and return how many groups there are."""
        folders = deque([mount])
        count = 0
        while folders:
            folder = folders.popleft()
            count += 1
            if count > MOST:
                raise Failed(f"answer:{LIMITED}", f"more than {MOST} control groups")
            folders.extend(_folders(folder))
            if any(_holds(f"{folder}/{name}") for name in files):
                found.append(folder[len(mount) :] or "/")
        found.sort()
        return count


def _folders(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and "\n" not in entry.name:
                    yield entry.path
    except FileNotFoundError:  # groups come and go
        return


def _holds(path: str) -> bool:
    """Whether a file is there and is not empty; a group's files have no size that could be asked for."""
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
