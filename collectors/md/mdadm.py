"""Parsers for `mdadm -D` (Detail.c) and `mdadm -E` (super0.c, super1.c: examine_super) of mdadm 3.2 to 4.4."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sdstop.core.expression import expression
from sdstop.core.form import Form, Several
from sdstop.core.host import Malformed
from sdstop.core.text import whole

KIB = 1024
_HEAD = expression(r"\s*(/\S+):\s*")
_PROSE = expression(r"(?!Consistency Policy|Preferred Minor|Working Devices|this\b)\S")
"""A line that no output has: all but a few of its lines are indented."""
_FIELD = expression(r"\s*([A-Z][A-Za-z ]{2,30}?) : (.*)")
_TABLE = expression(r"\s*Number\s+Major\s+Minor\s+RaidDevice\b.*")
_ROW = expression(r"\s*(\d{1,5}|-)\s+\d{1,7}\s+\d{1,7}\s+(\d{1,5}|-)\s*(.*)")
_PERCENT = expression(r"(\d{1,3})% complete")
_MEMBERS = {"faulty": "faulty", "journal": "journal", "replacement": "replacement"}
_OPERATIONS = {"recovering": "recovery", "resyncing": "resync", "reshaping": "reshape", "checking": "check"}
_WAITING = {"(DELAYED)": "delayed", "(PENDING)": "pending", "(REMOTE)": "remote"}
_REDUNDANT = frozenset({"raid1", "raid4", "raid5", "raid6", "raid10"})


class DetailMember(Struct, frozen=True):
    """A device of the table: its slot, the words of its state, and its path; None for a slot without a device."""

    slot: int | None
    words: frozenset[str]
    path: str | None

    @property
    def state(self) -> str:
        """State as in the readings of members."""
        for word, state in _MEMBERS.items():
            if word in self.words:
                return state
        if "sync" in self.words:
            return "in_sync"
        if "spare" in self.words:
            return "rebuilding" if "rebuilding" in self.words else "spare"
        return "unknown"


class Detail(Struct, frozen=True, kw_only=True):
    """An array as `mdadm -D` shows it; sizes in bytes.

    `state` is clean, active, inactive, broken, or unknown; `operation` and `waits` are those of a synchronization, of
    which `percent` is done. `defect` is why not all of it may be known.
    """

    path: str
    level: str | None
    state: str
    size: int | None
    used: int | None
    chunk: int | None
    layout: str | None
    metadata: str | None
    raid_disks: int | None
    active: int | None
    failed: int | None
    spares: int | None
    bitmap: str | None
    policy: str | None
    operation: str | None
    waits: str
    percent: int | None
    members: tuple[DetailMember, ...]
    needle: str
    defect: str = ""

    @property
    def slots(self) -> str | None:
        """A letter for each slot: U in sync, _ not; None if not all are listed."""
        if self.raid_disks is None:
            return None
        synced = {member.slot for member in self.members if member.state == "in_sync"}
        return "".join("U" if slot in synced else "_" for slot in range(self.raid_disks))


def parse_detail(text: str) -> list[Detail]:
    """Return the arrays of one or several outputs of `mdadm -D`.

        /dev/md0:
                   Version : 1.2
                Raid Level : raid6
                Array Size : 392832 (383.63 MiB 402.26 MB)
             Used Dev Size : 130944 (127.88 MiB 134.09 MB)
              Raid Devices : 5
             Total Devices : 5
                     State : clean, degraded, recovering
            Active Devices : 4
            Failed Devices : 0
             Spare Devices : 1
                    Layout : left-symmetric
                Chunk Size : 64K
            Rebuild Status : 12% complete

            Number   Major   Minor   RaidDevice State
               0     254        0        0      active sync   /dev/vda
               -       0        0        2      removed
               5     254       32        3      spare rebuilding   /dev/vdc

    Raises Malformed if none is understood.
    """
    found = [_detail(path, lines) for path, lines in _blocks(text) if any(" : " in line for line in lines)]
    if not found:
        raise Malformed(f"mdadm -D: no array: {text.strip()[:60]!r}")
    return found


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    path, lines = "", list[str]()
    ended = False
    for line in text.splitlines():
        head = _HEAD.fullmatch(line)
        if head is None:
            ended = ended or _PROSE.match(line) is not None
            lines += [] if ended else [line]
            continue
        ended = False
        if path:
            yield path, lines
        path, lines = head[1], []
    if path:
        yield path, lines


def _fields(lines: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines:
        field = _FIELD.fullmatch(line.rstrip())
        if field is not None:
            found.setdefault(field[1].strip(), field[2].strip())
    return found


def _detail(path: str, lines: Sequence[str]) -> Detail:
    start = next((at for at, line in enumerate(lines) if _TABLE.fullmatch(line)), None)
    said = _fields(lines[:start])
    words = said.get("State", "").replace(",", " ").split()
    rows = [_member(line) for line in lines[start + 1 :] if line.strip()] if start is not None else []
    members = tuple(row for row in rows if row is not None)
    level = said.get("Raid Level")
    level = None if level in {None, "-unknown-"} else level
    operation = next((_OPERATIONS[word] for word in words if word in _OPERATIONS), None)
    percents = (_PERCENT.match(said.get(f"{name} Status", "")) for name in ("Rebuild", "Resync", "Reshape", "Check"))
    percent = next((int(found[1]) for found in percents if found is not None), None)
    unread = next((line.strip() for line, row in zip((line for line in lines[(start or 0) + 1 :] if line.strip()), rows,
                                                     strict=False) if row is None), "")  # fmt: skip
    return Detail(
        path=path,
        level=level,
        state=_state(words, level),
        size=_kib(said.get("Array Size")),
        used=_kib(said.get("Used Dev Size")),
        chunk=_chunk(said.get("Chunk Size") or said.get("Rounding")),
        layout=said.get("Layout") or None,
        metadata=said.get("Version") or None,
        raid_disks=whole(said.get("Raid Devices"), 5),
        active=whole(said.get("Active Devices"), 5),
        failed=whole(said.get("Failed Devices"), 5),
        spares=whole(said.get("Spare Devices"), 5),
        bitmap=said.get("Intent Bitmap") or None,
        policy=said.get("Consistency Policy") or None,
        operation=operation,
        waits=next((_WAITING[word] for word in words if word in _WAITING), ""),
        percent=percent,
        members=members,
        needle=f"State : {said['State']}" if "State" in said else f"{path}:",
        defect=_lacking(said, members, unread, tabled=start is not None),
    )


def _state(words: Sequence[str], level: str | None) -> str:
    """Return the state of an array by its words; one that lacks more than it can is not served."""
    if "FAILED" in words and level not in _REDUNDANT:
        return "broken"
    if "Started" in words:
        return "inactive"
    return words[0] if words else "unknown"


def _member(line: str) -> DetailMember | None:
    row = _ROW.fullmatch(line.rstrip())
    if row is None:
        return None
    words = row[3].split()
    path = words.pop() if words and words[-1].startswith("/") else None
    return DetailMember(whole(row[2], 5), frozenset(words), path)


def _lacking(said: Mapping[str, str], members: Sequence[DetailMember], unread: str, *, tabled: bool) -> str:
    """Return which part of an array's output is missing, or contradicts another one; "" if none."""
    if unread:
        return f"line not understood: {unread[:60]!r}"
    if not tabled:
        return "ends before its table of devices"
    if "State" not in said and said.get("Raid Level") != "container":
        return 'no line "State :"'
    total, disks = whole(said.get("Total Devices"), 5), whole(said.get("Raid Devices"), 5)
    devices = sum("removed" not in member.words for member in members)
    if total is not None and devices < total:
        return f"{total} devices, {devices} listed"
    slots = {member.slot for member in members if member.slot is not None}
    if disks is not None and "container" not in said.get("Raid Level", "") and len(slots) < disks and _serves(said):
        return f"{disks} slots, {len(slots)} listed"
    active = whole(said.get("Active Devices"), 5)
    synced = sum(member.state == "in_sync" for member in members)
    if active is not None and disks and active != synced:
        return f"{active} active devices, {synced} in sync"
    return ""


def _serves(said: Mapping[str, str]) -> bool:
    return said.get("State", "").partition(",")[0].strip() in {"clean", "active"}


def _kib(text: str | None) -> int | None:
    """Return a size: `20953088 (19.98 GiB 21.46 GB)` is in KiB."""
    number = whole((text or "").partition(" ")[0])
    return None if number is None else number * KIB


def _chunk(text: str | None) -> int | None:
    found = re.fullmatch(r"(\d{1,9})([KM])", text or "")
    return int(found[1]) * (KIB if found[2] == "K" else KIB * KIB) if found is not None else None


class Superblock(Struct, frozen=True, kw_only=True):
    """Superblock of a member as `mdadm -E` shows it: the state of its array when it was last written.

    `present` has a letter for each slot: A active, . missing, R replacing; `slot` is None for a spare or a journal.
    """

    path: str
    array: str
    name: str
    level: str | None
    raid_disks: int | None
    size: int | None
    used: int | None
    chunk: int | None
    layout: str | None
    version: str | None
    clean: bool
    events: int | None
    role: str
    slot: int | None
    present: str | None
    bad_blocks: bool
    defect: str = ""


_ROLE = expression(r"Active device (\d{1,5})")
_PRESENT = expression(r"([A.R]{1,512}) \(")
_MINOR = expression(r"(\d{1,4})")


def parse_examine(text: str) -> list[Superblock]:
    """Return the superblocks of one or several outputs of `mdadm -E`; other metadata is left out.

        /dev/vda:
                  Magic : a92b4efc
                Version : 1.2
             Array UUID : 1f7a6b4e:...
                   Name : guest:0  (local to host guest)
             Raid Level : raid6
           Raid Devices : 5
             Array Size : 392832 KiB (383.63 MiB 402.26 MB)
                  State : clean
                 Events : 17
                 Layout : left-symmetric
             Chunk Size : 64K
           Device Role : Active device 0
           Array State : AA.AA ('A' == active, '.' == missing, 'R' == replacing)

    Version 0.90 ends with a table of devices instead, of which the line `this` is read. Raises Malformed if none is
    understood.
    """
    found = [_superblock(path, lines) for path, lines in _blocks(text) if "Raid Level" in _fields(lines)]
    if not found:
        raise Malformed(f"mdadm -E: no superblock of md: {text.strip()[:60]!r}")
    return found


def _superblock(path: str, lines: Sequence[str]) -> Superblock:
    said = _fields(lines)
    role = said.get("Device Role", "")
    slot = _ROLE.fullmatch(role)
    present = _PRESENT.match(said.get("Array State", ""))
    own = next(
        (row for line in lines if (row := re.fullmatch(r"\s*this\s+\d+\s+\d+\s+\d+\s+(\d+)\s+(.*)", line))), None
    )
    old = said.get("Version", "").startswith("0.9")
    checksum = said.get("Checksum", "correct")
    return Superblock(
        path=path,
        array=said.get("Array UUID") or said.get("UUID", "").partition(" ")[0],
        name=said.get("Name", "").partition(" ")[0],
        level=said.get("Raid Level"),
        raid_disks=whole(said.get("Raid Devices"), 5),
        size=_kib(said.get("Array Size")),
        used=_kib(said.get("Used Dev Size")) if old else None,
        chunk=_chunk(said.get("Chunk Size")),
        layout=said.get("Layout") or None,
        version=said.get("Version"),
        clean=said.get("State", "").partition(",")[0].strip() == "clean",
        events=whole(said.get("Events", "").replace(".", "")),
        role=own[2].split("/", 1)[0].strip() if own is not None else role,
        slot=int(slot[1]) if slot is not None else int(own[1]) if own is not None and "sync" in own[2] else None,
        present=present[1] if present is not None else _of_table(lines, whole(said.get("Raid Devices"), 5)),
        bad_blocks="bad blocks present" in said.get("Bad Block Log", ""),
        defect="checksum is not correct"
        if "correct" not in checksum
        else ""
        if present is not None or own is not None
        else 'ends before "Array State"',
    )


def _of_table(lines: Sequence[str], disks: int | None) -> str | None:
    """Return the letters of the slots from the table of version 0.90."""
    rows = (_ROW.fullmatch(re.sub(r"^\s*\d+\s+(?=\d+\s+\d+\s+\d+\s+\d+\s)", "", line).rstrip()) for line in lines)
    known = {int(row[2]): row[3] for row in rows if row is not None and row[2].isdecimal()}
    if disks is None or not known:
        return None
    return "".join("A" if "active sync" in known.get(slot, "") else "." for slot in range(disks))


def minor_of(name: str) -> str:
    """Return the usual kernel name of an array by its name in superblocks: `guest:0` is md0, `guest:data` md/data."""
    short = name.rpartition(":")[2]
    return f"md{short}" if _MINOR.fullmatch(short) else f"md/{short}"


_OWN_NAME = expression(rb"(?m)^([ \t]*Name : )(?:[^\s:]*:)?(\S+).*$")
_SCANNED_NAME = expression(rb"(?m)^((?:INACTIVE-)?ARRAY .*?) name=\S+")
_DEVICE_UUID = expression(rb"(?m)^[ \t]*(?:Device )?UUID : .*\n?")


def without_hosts(data: bytes) -> bytes:
    """Return outputs without the host names in names of arrays, and without UUIDs that are not read."""
    return _SCANNED_NAME.sub(rb"\1", _DEVICE_UUID.sub(b"", _OWN_NAME.sub(rb"\1host:\2", data)))


def detail_fault(text: str) -> str:
    """Return why outputs of `mdadm -D` are not complete; "" if they are."""
    try:
        return next((each.defect for each in parse_detail(text) if each.defect), "")
    except Malformed as error:
        return str(error)


def examine_fault(text: str) -> str:
    """Return why outputs of `mdadm -E` are not complete; "" if they are."""
    try:
        return next((each.defect for each in parse_examine(text) if each.defect), "")
    except Malformed as error:
        return str(error)


class ScanLine(Struct, frozen=True):
    """An array in `mdadm --detail --scan`; `members` counts listed devices without spares; failed ones are listed, too.

    `members` is None without -v.
    """

    path: str
    is_active: bool
    level: str | None
    raid_disks: int | None
    members: int | None
    spares: int
    needle: str


_SCAN = expression(
    r"(?P<inactive>INACTIVE-)?ARRAY (?P<path>/\S+)(?: level=(?P<level>\S+) num-devices=(?P<disks>\d{1,5}))?"
    r"(?P<rest> .*)?"
)
_DEVICES = expression(r"\s+devices=(?P<devices>\S+)\s*")
_SPARES = expression(r"(?:^| )spares=(\d{1,5})(?: |$)")


def parse_scan(text: str) -> Iterator[ScanLine]:
    """Yield the arrays of `mdadm --detail --scan [-v]` (Detail.c, brief); lines of other forms are skipped.

    ARRAY /dev/md0 level=raid1 num-devices=2 metadata=1.2 spares=1 name=n1:0 UUID=11111111:22222222:33333333:44444444
       devices=/dev/sda1,/dev/sdb1,/dev/sdc1
    INACTIVE-ARRAY /dev/md127 metadata=1.2 name=n1:1 UUID=11111111:22222222:33333333:55555555
    """
    lines = text.splitlines()
    for place, line in enumerate(lines):
        found = _SCAN.fullmatch(line.rstrip())
        if found is None:
            continue
        devices = _DEVICES.fullmatch(lines[place + 1]) if place + 1 < len(lines) else None
        known = _SPARES.search(found["rest"] or "")
        spares = int(known[1]) if known is not None else 0
        members = None if devices is None else len(devices["devices"].split(",")) - spares
        yield ScanLine(
            found["path"], not found["inactive"], found["level"], whole(found["disks"], 5), members, spares,
            f"ARRAY {found['path']} ",
        )  # fmt: skip


_VERSIONS = "mdadm 3.2 and later"
_GOES_ON = (
    r"\s*[A-Z][A-Za-z ]{2,30} : .*|/dev/\S+:|\s*Number\s+Major\s+Minor\s+RaidDevice.*"
    r"|\s*(?:\d{1,5}|-)\s+\d{1,7}\s+\d{1,7}\s+(?:\d{1,5}|-)(?:\s+[a-z][a-zA-Z -]*?)?(?:\s+/dev/\S+)?\s*"
)
DETAIL = Form(
    key="cmd:mdadm -D",
    first=r" *(?:/dev/\S+:\n)+ *(?:Version|Container|Raid Level) : ",
    goes_on=_GOES_ON,
    reads="arrays, their members, states and synchronization",
    versions=_VERSIONS,
    fault=detail_fault,
    whole=True,
    several=Several.JOINED,
    about=r"(?m)^ *(/dev/\S+):$",
)
SCAN = Form(
    key="cmd:mdadm --detail --scan",
    first=r"(?:INACTIVE-)?ARRAY /dev/\S+ .*\bUUID=[0-9a-f:]{35}",
    goes_on=r"(?:INACTIVE-)?ARRAY .*|\s+devices=.*",
    reads="arrays that are not active; with -v how many members they have",
    versions=_VERSIONS,
)
EXAMINE = Form(
    key="cmd:mdadm -E",
    first=r" *(?:/\S+:\n)+ *Magic : ",
    goes_on=r"\s+\S.*|/\S+:|[A-Z][A-Za-z ]{2,30} : .*|this .*",
    reads="superblocks of members, and the state of their array when they were written",
    versions=_VERSIONS,
    fault=examine_fault,
    several=Several.JOINED,
    about=r"(?m)^ *(/\S+):$",
)
