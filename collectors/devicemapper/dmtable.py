"""Lines of `dmsetup status` and `dmsetup table`, and the names of device mapper devices (libdm's dmsetup)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from sdstop.core.host import Malformed

SECTOR = 512
TARGETS = ("flashcache", "cache", "writecache")
"""Targets that are caches."""


class Segment(Struct, frozen=True):
    """A line of a mapping: a stretch of it (bytes), its target, and what that says; `text` may have several lines."""

    name: str
    start: int
    length: int
    target: str
    text: str


_LINE = re.compile(r"(?:(?P<name>\S+):[ \t]+)?(?P<start>\d{1,19})[ \t]+(?P<length>\d{1,19})[ \t]+"
                   r"(?P<target>[a-z][a-z0-9_-]*)(?:[ \t]+(?P<text>.*))?")  # fmt: skip
_ENDS = ("\n", "\r")
_WITHIN = re.compile(r"\s(?=\S+: \d{1,19} \d{1,19} (?:flashcache|cache|writecache)(?:\s|$))")


@lru_cache(maxsize=4)
def segments(text: str, name: str = "") -> tuple[Segment, ...]:
    r"""Return the segments in the output of `dmsetup status` or `dmsetup table`, in its order.

        vg0-home: 0 1040384 linear 254:0 2048
        vg0-data: 0 1040384 cache 8 12/2048 128 35/1600 185 72 1 25 0 35 1 1 writeback 0 smq 0 rw -
        fast: 0 2097152 flashcache stats: \n\treads(75), writes(12)\n\tread hits(3), read hit percent(4)

    A line begins with a name unless a single device was asked for, which is `name` then. Lines that are none go on
    from the one before. Of a pasted text that lost its line ends caches are found all the same. Raises Malformed if
    there is text, but no segment.
    """
    heads: list[tuple[re.Match[str], list[str]]] = []
    unnamed = None
    for line in (part for whole in text.splitlines(keepends=True) for part in _parts(whole)):
        if heads and line[0] == "\t":
            heads[-1][1].append(line)
            continue
        known = _LINE.match(line.strip(" \t"))
        if known is not None and unnamed is None:
            unnamed = known["name"] is None
        if known is not None and (known["name"] is not None or unnamed):
            end = "\n" if line.endswith(_ENDS) else ""  # what has no end may have been cut
            heads.append((known, [f"{known['text'] or ''}{end}"]))
        elif heads:
            heads[-1][1].append(line)
    if not heads and text.strip() and text.strip() != "No devices found":
        raise Malformed(f"no line of a device mapper device: {text.strip().splitlines()[0][:80]!r}")
    return tuple(
        Segment(m["name"] or name, int(m["start"]) * SECTOR, int(m["length"]) * SECTOR, m["target"], "".join(lines))
        for m, lines in heads
    )


_LINEAR = re.compile(r"^\S+: \d+ \d+ linear\b.*\n", re.MULTILINE)


@lru_cache(maxsize=4)
def caches(text: str, name: str = "") -> tuple[Segment, ...]:
    """Return those segments that are caches, which of hundreds of volumes are few. Raises Malformed as `segments`."""
    others = _LINEAR.sub("", text)
    return tuple(s for s in segments(others, name) if s.target in TARGETS) if others or not text else ()


def _parts(line: str) -> Sequence[str]:
    """Return the lines that a line is made of which lost its ends."""
    if "flashcache" not in line:
        return (line,)
    *whole, last = _WITHIN.split(line)
    return (*(f"{part}\n" for part in whole), last)


class Mapping(Struct, frozen=True):
    """A device mapper device: its name, its UUID (empty: none), its kernel name."""

    name: str
    uuid: str
    device: str


_INFO = re.compile(r"(\S+?):\d{1,10}:(\d{1,10}):[A-Za-z-]{3,8}:\d+:\d+:\d+:(\S*)")


@lru_cache(maxsize=2)
def mappings(text: str) -> dict[str, Mapping]:
    """Return the mappings by name, of `dmsetup info -c --noheadings --separator :`.

        vg0-home:253:4:L--w:1:1:0:LVM-9FYCdoxnepX6irV3ZMwgeoWBUOMmkSkO

    Other lines are left out.
    """
    lines = (_INFO.fullmatch(line.strip()) for line in text.splitlines())
    return {m[1]: Mapping(m[1], m[3], f"dm-{m[2]}") for m in lines if m is not None}


_PARTITION = re.compile(r"^\s*(\d{1,9})\s+(\d{1,9})\s+\d{1,20}\s+(\S+)$", re.MULTILINE)


@lru_cache(maxsize=2)
def numbered(text: str) -> dict[str, str]:
    """Return kernel names by `major:minor`, of /proc/partitions."""
    return {f"{major}:{minor}": name for major, minor, name in _PARTITION.findall(text)}


def volume(name: str, uuid: str | None) -> str:
    """Return the name of a mapping as an operator reads it: `vg--a-lv` of LVM is `vg-a/lv`, others are as they are.

    LVM doubles the hyphens of names, and puts one between group and volume, and before what lies below a volume.
    """
    if not (uuid or "").startswith("LVM-"):
        return name
    parts = [part.replace("\0", "-") for part in name.replace("--", "\0").split("-")]
    return f"{parts[0]}/{'-'.join(parts[1:])}" if len(parts) > 1 and all(parts) else name


def mapped(group: str, logical: str) -> str:
    """Return the name that LVM gives the mapping of a volume: the way back."""
    return f"{group.replace('-', '--')}-{logical.replace('-', '--')}"
