"""The node's time zone."""

from __future__ import annotations

import time
from pathlib import Path

from sdstop.core.zone import rule_of

_LARGEST = 1 << 16
"""Maximum size of a zone file in bytes; the largest known one has 4 KiB."""
_MOST_LINKS = 8
"""Links followed from /etc/localtime."""


def time_zone(root: str = "/") -> str | None:
    """Return the rule of the node's time zone from /etc/localtime below `root`, without its name; None if unknown.

    A node without the file is in UTC (tzset(3)).
    """
    path = Path(root) / "etc/localtime"
    try:
        for _ in range(_MOST_LINKS):
            if not path.is_symlink():
                break
            target = str(path.readlink())
            path = Path(root) / target.lstrip("/") if target.startswith("/") else path.parent / target
        if not path.exists():
            return "UTC0"
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            return rule_of(stream.read(_LARGEST), time.time())
    except (OSError, ValueError):
        return None
