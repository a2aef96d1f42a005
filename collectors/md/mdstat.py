"""Parser for /proc/mdstat (drivers/md/md.c: md_seq_show, status_resync; status of each personality)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from sys import intern

from msgspec import Struct
from msgspec.structs import replace

from sdstop.core.expression import expression
from sdstop.core.form import Form
from sdstop.core.host import Malformed

KIB = 1024


FLAGS = frozenset("WJFSR")
"""Flags of devices: write-mostly, journal, faulty, spare, replacement (drivers/md/md.c: md_seq_show)."""


class MdstatDevice(Struct, frozen=True, gc=False):
    """Device of an array; `number` is its superblock entry, not its slot; `flags` has letters such as F, S, J, W, R."""

    name: str
    number: int
    flags: frozenset[str] = frozenset()


class Progress(Struct, frozen=True):
    """Progress of a synchronization: bytes per device, the kernel's estimate of seconds left, bytes per second."""

    operation: str
    done: int
    total: int
    remaining: int | None = None
    speed: int | None = None


class PendingSync(Struct, frozen=True):
    """Waiting synchronization; `operation` is resync, recover or reshape, `word` is DELAYED, PENDING or REMOTE."""

    operation: str
    word: str


class Bitmap(Struct, frozen=True):
    """Write-intent bitmap: pages in memory, total pages, bytes per bit, and the file if it is external."""

    pages: int
    pages_total: int
    chunk: int
    file: str | None = None


class MdArray(Struct, frozen=True):
    """An array in mdstat; sizes in bytes, None for values that its personality does not print.

    `activity` is active, inactive or broken. `working` of `raid_disks` members are in sync; `slots` has U or _ for
    each. An array without a personality (inactive) has neither level nor slots, and its `size` is the sum of its
    devices.
    """

    name: str
    activity: str
    read_only: str | None
    personality: str | None
    devices: tuple[MdstatDevice, ...]
    size: int | None = None
    metadata: str | None = None
    level: int | None = None
    chunk: int | None = None
    algorithm: int | None = None
    near_copies: int | None = None
    far_copies: int | None = None
    offset_copies: bool = False
    far_set: int | None = None
    raid_disks: int | None = None
    working: int | None = None
    slots: str | None = None
    progress: Progress | None = None
    waiting: PendingSync | None = None
    bitmap: Bitmap | None = None


_HEAD = expression(r"(\S+) : (active|inactive|broken)\b(?: \((read-only|auto-read-only)\))?(.*)")
_KNOWN = expression(rf"Personalities\b|unused devices:|read_ahead\b|{_HEAD.pattern}")
_DEVICE = expression(r"(\S+?)\[(\d{1,10})\]((?:\([A-Z]\))*)")
_BLOCKS = expression(r"\s+(\d{1,20}) blocks\b(.*)")
_SUPER = expression(r"super (external:\S+|non-persistent|\d{1,4}\.\d{1,4})")
_SLOTS = expression(r"\[(\d{1,6})/(-?\d{1,6})\](?: \[([U_]*)\])?")
_PROGRESS = expression(
    r"(reshape|check|resync|recovery|repair)\s*=\s*[\d.]+%\s*\((\d{1,20})/(\d{1,20})\)"
    r"(?:\s+finish=(\d{1,15})(?:\.(\d))?min)?(?:\s+speed=(\d{1,15})K/sec)?"
)
_WAITING = expression(r"(reshape|check|resync|recover|recovery)=(DELAYED|PENDING|REMOTE)\b")
_BITMAP = expression(r"bitmap: (\d{1,15})/(\d{1,15}) pages \[\d+KB\], (\d{1,15})(B|KB) chunk(?:, file: (.*))?")
_NUMBERS = {
    "level": expression(r"\blevel (\d{1,3})\b"),
    "algorithm": expression(r"\balgorithm (\d{1,3})\b"),
    "near_copies": expression(r"\b(\d{1,6}) near-copies"),
    "far_set": expression(r"\b(\d{1,6}) devices per set"),
}
_CHUNK = expression(r"\b(\d{1,12})[kK] chunks?\b")
_FAR = expression(r"\b(\d{1,6}) (far|offset)-copies")


@lru_cache(maxsize=8)
def parse(text: str) -> tuple[MdArray, ...]:
    """Return the arrays in printed order.

        Personalities : [raid10] [raid6] [raid5] [raid4]
        md0 : active raid10 vdf[4] vde[3] vdd[2] vdb[0]
              258048 blocks super 1.2 512K chunks 2 near-copies [4/3] [U_UU]
              [============>........]  recovery = 63.2% (81920/129024) finish=0.5min speed=1421K/sec
              bitmap: 0/30 pages [0KB], 65536KB chunk

        unused devices: <none>

    Unknown lines are skipped because new kernels add some. Raises Malformed if the text has none of the lines of
    mdstat.
    """
    arrays: list[MdArray] = []
    head: re.Match[str] | None = None
    body: list[str] = []
    known = False
    for line in _indented(text):
        found = _HEAD.fullmatch(line.rstrip())
        if found or not line[:1].isspace():
            if head is not None:
                arrays.append(_array(head, body))
            head, body = found, []
            known = known or found is not None or line.startswith(("Personalities", "unused devices:"))
        elif not _is_of_another(line, body, head):
            body.append(line)
        else:  # of an array whose first line is missing
            arrays += [_array(head, body)] if head is not None else []
            head, body = None, []
    if head is not None:
        arrays.append(_array(head, body))
    if not known:
        raise Malformed(f"/proc/mdstat: neither personalities nor arrays in {text[:60]!r}")
    return tuple(arrays)


_INNER = expression(r"\d{1,20} blocks\b.*|\[[=>.]{20,22}\] .*|bitmap: .*|resync=.*")


def _indented(text: str) -> list[str]:
    """Return the lines; those below the first one of an array are indented where a mail has lost that."""
    return [f"      {line}" if _INNER.fullmatch(line) else line for line in text.splitlines()]


def defects(text: str) -> tuple[str, ...]:
    """Return why a text may not be all of mdstat: lines that are not understood, or no end."""
    every = _indented(text)
    lines = [line for line in every if line.strip() and not line[0].isspace()]
    twice = _doubled(every)
    found = [f"{twice}: lines of another array"] if twice else []
    found += [f"line not understood: {line[:60]!r}" for line in lines if not _KNOWN.match(line)]
    ended = bool(lines) and lines[-1].startswith("unused devices:")
    found += [] if ended else ["end not shown"]
    if any(map(_HEAD.fullmatch, lines)):
        active = [md for md in parse(text) if md.activity == "active"]
        found += [f"{md.name}: no line with its blocks" for md in active if md.size is None]
        found += [f"{md.name}: no states of its members" for md in active if md.size is not None and _is_stateless(md)]
        found += [f"{md.name}: fewer members listed than work" for md in active if _is_short(md)]
    return tuple(found[:1])


def _is_stateless(md: MdArray) -> bool:
    """Return whether the states of members ([2/1] [U_]) are missing or cut; raid0 and linear arrays have none."""
    if md.slots is None or md.raid_disks is None:
        return re.fullmatch(r"raid(?:1|4|5|6|10)", md.personality or "") is not None
    return len(md.slots) != md.raid_disks


def _is_short(md: MdArray) -> bool:
    """Return whether more members work than are listed, which cut or torn lines cause."""
    return (
        md.working is not None and len([each for each in md.devices if not each.flags & {"F", "S", "J"}]) < md.working
    )


def _is_of_another(line: str, body: list[str], head: re.Match[str] | None) -> bool:
    """Return whether a line of blocks belongs to another array, whose first line is missing."""
    if head is None or _BLOCKS.match(line) is None:
        return False
    parity = re.search(r"\braid[456]\b", head[4]) is not None
    copies = re.search(r"\b(?:near|far|offset)-copies\b", line) is not None
    differs = (" level " in line and not parity) or (copies and "raid10" not in head[4])
    return any(map(_BLOCKS.match, body)) or differs


def _doubled(lines: Iterable[str]) -> str:
    """Return the name of an array with the line of blocks of another one, "" for none."""
    head: re.Match[str] | None = None
    body: list[str] = []
    for line in lines:
        found = _HEAD.fullmatch(line.rstrip())
        if head is not None and found is None and _is_of_another(line, body, head):
            return str(head[1])
        head, body = (found, []) if found is not None else (head, [*body, line])
    return ""


def fault(text: str) -> str:
    """Return why a text is not all of mdstat, "" if it is."""
    return next(iter(defects(text)), "")


FORM = Form(
    key="/proc/mdstat",
    first=r"Personalities\s*:|md[\w/]{1,30}\s:\s(?:active|inactive)\b",
    reads="arrays, their members, states and synchronization",
    versions="Linux 2.6 and later",
    last="unused devices:",
    fault=fault,
)


@lru_cache(maxsize=64)
def _flags(letters: str) -> frozenset[str]:
    """Return flags as a set, the same object for all devices with them: a set takes 216 bytes."""
    return frozenset(letters)


@lru_cache(maxsize=1024)
def _devices(text: str) -> tuple[str | None, tuple[MdstatDevice, ...]]:
    """Return the personality and the devices of a line, which seldom changes."""
    personality, devices = None, list[MdstatDevice]()
    for word in text.split():
        device = _DEVICE.fullmatch(word)
        if device:
            devices.append(MdstatDevice(intern(device[1]), int(device[2]), _flags(device[3][1::3])))
        elif personality is None and not devices:
            personality = word
    return personality, tuple(devices)


def _array(head: re.Match[str], body: list[str]) -> MdArray:
    name, activity, read_only, rest = head.groups()
    personality, devices = _devices(rest)
    found: dict[str, object] = {}
    for line in body:
        # The progress of a rebuild is another one in each text.
        found.update(_status.__wrapped__(line) if "%" in line else _status(line))
    md = MdArray(name, activity, read_only, personality, devices, **found)  # type: ignore[arg-type]  # by name
    up, failed = (md.slots or "").count("U"), sum("F" in device.flags for device in devices)
    # Linux 2.4 counts failed members as long as they are listed.
    return replace(md, working=up) if md.slots and failed and md.working == up + failed else md


@lru_cache(maxsize=1024)
def _status(line: str) -> Mapping[str, object]:
    """Parse a line below the first line of an array into fields of MdArray."""
    blocks = _BLOCKS.match(line)
    if blocks:
        return {"size": int(blocks[1]) * KIB, **_layout(blocks[2])}
    progress = _PROGRESS.search(line)
    if progress:
        operation, done, total, minutes, tenth, speed = progress.groups()
        remaining = None if minutes is None else int(minutes) * 60 + int(tenth or 0) * 6
        rate = None if speed is None else int(speed) * KIB
        return {"progress": Progress(operation, int(done) * KIB, int(total) * KIB, remaining, rate)}
    waiting = _WAITING.search(line)
    if waiting:
        return {"waiting": PendingSync(waiting[1], waiting[2])}
    bitmap = _BITMAP.search(line)
    if bitmap:
        chunk = int(bitmap[3]) * (KIB if bitmap[4] == "KB" else 1)
        return {"bitmap": Bitmap(int(bitmap[1]), int(bitmap[2]), chunk, bitmap[5])}
    return {}


def _layout(text: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, pattern in _NUMBERS.items():
        number = pattern.search(text)
        if number:
            found[name] = int(number[1])
    metadata, chunk = _SUPER.search(text), _CHUNK.search(text)
    # The kernel prints nothing for a superblock of version 0.90.
    found["metadata"] = metadata[1] if metadata else "0.90"
    if chunk:
        found["chunk"] = int(chunk[1]) * KIB
    far = _FAR.search(text)
    if far:
        found["far_copies"] = int(far[1])
        found["offset_copies"] = far[2] == "offset"
    slots = _SLOTS.search(text)
    if slots:
        found["raid_disks"], found["working"] = int(slots[1]), int(slots[2])
        found["slots"] = slots[3] or None
    return found
