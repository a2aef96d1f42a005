"""Needed: what some collector reads. Of a capture that others made all else is left out where names are replaced.

A sosreport has the output of hundreds of commands, and whole folders of settings: nobody here knows where those say
names. What sdstop records itself is what its collectors read.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import cache

from sdstop.collectors import BUILTIN

_OWN_NET = re.compile(r"/proc/(?:self|thread-self|\d+)/net/")
_TREES = ("/sys/", "/dev/")
"""Files of these are reached over links by many paths, and each holds one value."""


def needed(key: str) -> bool:
    """Whether evidence may be handed on: a collector reads such a file, or such a program's output."""
    kind, colon, rest = key.partition(":")
    if colon and kind in {"cmd", "slug"}:
        return _programs().fullmatch(rest) is not None
    if not key.startswith("/") or key.startswith(_TREES):
        return True
    return _files().fullmatch(_OWN_NET.sub("/proc/net/", key)) is not None


def _needs() -> set[str]:
    return {need.what for collector in BUILTIN for need in collector.needs}


@cache
def _programs() -> re.Pattern[str]:
    programs = {what.removeprefix("cmd:").split()[0].rstrip("*") for what in _needs() if what.startswith("cmd:")}
    return re.compile(rf"(?:{'|'.join(sorted(map(re.escape, programs)))})(?:[ _].*)?", re.DOTALL)


@cache
def _files() -> re.Pattern[str]:
    return re.compile("|".join(translate(what) for what in sorted(_needs()) if what.startswith("/")))
