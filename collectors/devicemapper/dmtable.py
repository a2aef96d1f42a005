"""Parsers for `dmsetup status`, `dmsetup table` and the names of device mapper devices (libdm's dmsetup)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.table import aligned
from sdstop.core.text import is_whole

SECTOR = 512
TARGETS = ("flashcache", "cache", "writecache")
"""Cache targets."""


class Segment(Struct, frozen=True):
    """Segment of a mapping: start and length in bytes, target, and the target's text, which may have several lines."""

    name: str
    start: int
    length: int
    target: str
    text: str


_LINE = expression(r"(?:(?P<name>\S+):[ \t]+)?(?P<start>\d{1,19})[ \t]+(?P<length>\d{1,19})[ \t]+"
                   r"(?P<target>[a-z][a-z0-9_-]*)(?:[ \t]+(?P<text>.*))?")  # fmt: skip
_NO_TABLE = expression(r"\S+: *\n")
"""Line of a device without a table, as `dmsetup create --notable` leaves it."""
_ENDS = ("\n", "\r")
_WITHIN = expression(r"\s(?=\S+: \d{1,19} \d{1,19} (?:flashcache|cache|writecache)(?:\s|$))")


@lru_cache(maxsize=4)
def segments(text: str, name: str = "") -> tuple[Segment, ...]:
    r"""Return the segments in the output of `dmsetup status` or `dmsetup table`, in printed order.

        vg0-home: 0 1040384 linear 254:0 2048
        vg0-data: 0 1040384 cache 8 12/2048 128 35/1600 185 72 1 25 0 35 1 1 writeback 0 smq 0 rw -
        fast: 0 2097152 flashcache stats: \n\treads(75), writes(12)\n\tread hits(3), read hit percent(4)

    A line begins with a name unless a single device was queried; `name` is that device. Other lines continue the
    previous one. Caches are also found in pasted text without line ends. Raises Malformed for non-empty text without
    a segment.
    """
    heads: list[tuple[re.Match[str], list[str]]] = []
    unnamed = None
    for line in (part for whole in text.splitlines(keepends=True) for part in _parts(whole)):
        if heads and line[0] == "\t":
            heads[-1][1].append(line)
            continue
        if _NO_TABLE.fullmatch(line):
            continue
        known = _LINE.match(line.strip(" \t"))
        if known is not None and unnamed is None:
            unnamed = known["name"] is None
        if known is not None and (known["name"] is not None or unnamed):
            end = "\n" if line.endswith(_ENDS) else ""  # an unterminated line may be truncated
            heads.append((known, [f"{known['text'] or ''}{end}"]))
        elif heads:
            heads[-1][1].append(line)
    if not heads and text.strip() and text.strip() != "No devices found":
        raise Malformed(f"no line of a device mapper device: {text.strip().splitlines()[0][:80]!r}")
    return tuple(
        Segment(m["name"] or name, int(m["start"]) * SECTOR, int(m["length"]) * SECTOR, m["target"], "".join(lines))
        for m, lines in heads
    )


_LINEAR = expression(r"^\S+: \d+ \d+ (?:linear|crypt)\b.*\n", re.MULTILINE)
"""Lines of targets without a state."""


@lru_cache(maxsize=4)
def with_state(text: str, name: str = "") -> tuple[Segment, ...]:
    """Return the segments of all targets but those without a state. Raises Malformed like `segments`."""
    others = _LINEAR.sub("", text)
    return segments(others, name) if others or not text else ()


@lru_cache(maxsize=4)
def caches(text: str, name: str = "") -> tuple[Segment, ...]:
    """Return only the cache segments, usually a few among hundreds of volumes. Raises Malformed like `segments`."""
    return tuple(segment for segment in with_state(text, name) if segment.target in TARGETS)


def _parts(line: str) -> Sequence[str]:
    """Split a line whose inner line ends were lost into the original lines."""
    if "flashcache" not in line:
        return (line,)
    *whole, last = _WITHIN.split(line)
    return (*(f"{part}\n" for part in whole), last)


class Mapping(Struct, frozen=True):
    """Device mapper device: name, UUID (empty: none), kernel name.

    Whether it is suspended is None if not shown, MAJOR:MINOR is empty if unknown.
    """

    name: str
    uuid: str
    device: str
    suspended: bool | None = None
    number: str = ""


_INFO = expression(r"(\S+?):(\d{1,10}):(\d{1,10}):([A-Za-z-]{3,8}):\d+:\d+:\d+:(\S*)")
_FIELD = expression(r"(Name|State|UUID|Major, minor): +(\S.*?)\s*")


@lru_cache(maxsize=2)
def mappings(text: str) -> dict[str, Mapping]:
    """Return the mappings by name from `dmsetup info` in any form; lines of other forms are skipped.

        vg0-home:253:4:L--w:1:1:0:LVM-9FYCdoxnepX6irV3ZMwgeoWBUOMmkSkO      -c --noheadings --separator :

        Name     Maj Min Stat Open Targ Event  UUID                         -c
        vg0-home 253   4 L--w    1    1      0 LVM-9FYCdoxnepX6irV3ZMwgeoWBUOMmkSkO

        Name:              vg0-home                                         neither
        State:             ACTIVE
        Major, minor:      253, 4
        UUID: LVM-9FYCdoxnepX6irV3ZMwgeoWBUOMmkSkO

    The third letter of the state is s for a suspended device (libdm, tools/dmsetup.c: _dm_info_status_disp).
    """
    lines = (_INFO.fullmatch(line.strip()) for line in text.splitlines())
    found = {
        m[1]: Mapping(m[1], m[5], f"dm-{m[3]}", m[4][2:3] == "s", f"{m[2]}:{m[3]}") for m in lines if m is not None
    }
    return found or _of_columns(text) or _of_fields(text)


def _of_columns(text: str) -> dict[str, Mapping]:
    lines = text.splitlines()
    start = next((at for at, line in enumerate(lines) if re.match(r"\s*Name\s+(?:\S+\s+)*\S", line)), None)
    if start is None:
        return {}
    try:
        rows = aligned(lines[start:])
    except Malformed:
        return {}
    found = {}
    for row in rows:
        minor, device, state = row.get("Min", ""), row.get("BlkDevName", ""), row.get("Stat", "")
        device = device if device.startswith("dm-") else f"dm-{minor}" if is_whole(minor, 7) else ""
        name = row.get("Name", "").strip()
        if name and device:
            found[name] = Mapping(name, row.get("UUID", ""), device, state[2:3] == "s" if len(state) >= 3 else None)
    return found


def _of_fields(text: str) -> dict[str, Mapping]:
    found = {}
    said: dict[str, str] = {}
    for line in [*text.splitlines(), "Name:  end"]:
        field = _FIELD.fullmatch(line)
        if field is None:
            continue
        if field[1] == "Name":
            minor = said.get("Major, minor", "").partition(", ")[2]
            if "Name" in said and is_whole(minor, 7):
                state = said.get("State", "")
                suspended = state.startswith("SUSPENDED") if state else None
                found[said["Name"]] = Mapping(said["Name"], said.get("UUID", ""), f"dm-{minor}", suspended)
            said = {}
        said[field[1]] = field[2]
    return found


_PARTITION = expression(r"^\s*(\d{1,9})\s+(\d{1,9})\s+\d{1,20}\s+(\S+)$", re.MULTILINE)


@lru_cache(maxsize=2)
def numbered(text: str) -> dict[str, str]:
    """Return kernel names by `major:minor` from /proc/partitions."""
    return {f"{major}:{minor}": name for major, minor, name in _PARTITION.findall(text)}


def volume(name: str, uuid: str | None) -> str:
    """Return the display name of a mapping: LVM's `vg--a-lv` becomes `vg-a/lv`, others are unchanged.

    LVM doubles hyphens within names and uses single hyphens between group and volume and before sub-volume suffixes.
    """
    if not (uuid or "").startswith("LVM-"):
        return name
    parts = [part.replace("\0", "-") for part in name.replace("--", "\0").split("-")]
    return f"{parts[0]}/{'-'.join(parts[1:])}" if len(parts) > 1 and all(parts) else name
