"""State of the raid volumes of device mapper: failed and stale members, synchronization, mismatches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from sdstop.collectors.devicemapper.dmtable import SECTOR, Segment
from sdstop.collectors.devicemapper.volume_readings import MappedRaidState
from sdstop.core.expression import expression
from sdstop.core.host import Malformed
from sdstop.core.model import Reading
from sdstop.core.text import whole
from sdstop.readings.mismatch import Mismatch
from sdstop.readings.rebuild import Rebuild

TARGETS = ("raid", "mirror", "striped")
ALIVE, STALE = "A", "a"
_LETTERS = {"raid": frozenset("AaD-"), "mirror": frozenset("AFDSRU"), "striped": frozenset("AD")}
ACTIONS = frozenset({"idle", "frozen", "resync", "recover", "check", "repair", "reshape"})
"""Actions of the target raid (drivers/md/dm-raid.c: sync_str)."""
_MIRROR, STRIPED = "mirror", "striped"


class RaidStatus(Struct, frozen=True):
    """Status of a raid target; see MappedRaidState."""

    level: str
    health: str
    done: int | None = None
    total: int | None = None
    action: str | None = None
    mismatches: int | None = None
    journal: str | None = None


_MOVES = expression(r".*-pvmove\d+")
_RATIO = expression(r"(\d{1,20})/(\d{1,20})", re.ASCII)


def parse(target: str, text: str) -> RaidStatus:
    """Parse the status line of the target raid (drivers/md/dm-raid.c: raid_status), mirror (dm-raid1.c) or striped.

        raid1 2 AD 65536/65536 idle 0 0 -
        raid5_ls 3 AAA 1024/16384 resync 0 0 -
        2 254:3 254:4 64/64 1 AA 3 disk 254:2 A
        2 254:3 254:4 1 AD

    Level, number of members, their health, progress in sectors; since 1.5.0 (2013) action and mismatched sectors; since
    1.10 the data offset and the state of the journal. A mirror has its devices, progress in regions, health, log;
    stripes (dm-stripe.c) have devices and health. Raises Malformed for other lines, such as one that was cut off.
    """
    if not text.endswith("\n"):
        raise Malformed(f"the line is cut off: {text[:80]!r}")
    words = text.split()
    try:
        found = _PARSERS[target](words)
    except (IndexError, ValueError) as error:
        raise Malformed(f"status of a raid volume not understood: {text.strip()[:80]!r}") from error
    if not found.health or not set(found.health) <= _LETTERS[target] or (found.done or 0) > (found.total or 0):
        raise Malformed(f"status of a raid volume not understood: {text.strip()[:80]!r}")
    return found


def _raid(words: Sequence[str]) -> RaidStatus:
    level, count, health = words[0], int(words[1]), words[2]
    if len(health) != count:
        raise ValueError(health)
    done, total = _ratio(words[3])
    action = words[4] if len(words) > 4 else None
    mismatches = int(words[5]) * SECTOR if action is not None else None
    journal = words[7] if len(words) > 7 and words[7] != "-" else None
    return RaidStatus(level, health, done, total, action, mismatches, journal)


def _mirror(words: Sequence[str]) -> RaidStatus:
    count = int(words[0])
    done, total = _ratio(words[1 + count])
    health = words[3 + count]
    if len(health) != count:
        raise ValueError(health)
    return RaidStatus(_MIRROR, health, done, total, "idle" if done == total else "resync")


def _striped(words: Sequence[str]) -> RaidStatus:
    count = int(words[0])
    health = words[2 + count]
    if len(health) != count or len(words) != 3 + count:
        raise ValueError(health)
    return RaidStatus(STRIPED, health)


_PARSERS = {"raid": _raid, _MIRROR: _mirror, STRIPED: _striped}


def _ratio(word: str) -> tuple[int, int]:
    found = _RATIO.fullmatch(word)
    if found is None:
        raise ValueError(word)
    return int(found[1]), int(found[2])


class RaidTable(Struct, frozen=True):
    """Table of a raid target: numbers of the devices that hold data, copies of a raid10, whether these are far."""

    images: tuple[str, ...] = ()
    copies: int | None = None
    far: bool = False


def parse_table(target: str, text: str) -> RaidTable:
    """Parse the table line of the target raid, mirror or striped; unknown parts are left out.

    raid10 5 128 region_size 1024 raid10_copies 2 4 254:2 254:3 254:4 254:5 - - 254:8 254:9
    disk 2 254:2 1024 2 254:3 0 254:4 0 1 handle_errors
    2 128 254:3 2048 254:4 2048
    """
    words = text.split()
    if target == STRIPED:
        return RaidTable(tuple(words[2::2]))
    if target == _MIRROR:
        start = 2 + (whole(words[1], 3) or 0) if len(words) > 1 else 0
        count = whole(words[start], 3) or 0 if len(words) > start else 0
        return RaidTable(tuple(words[start + 1 : start + 1 + 2 * count : 2]))
    params = whole(words[1], 3) if len(words) > 1 else None
    if params is None or len(words) < 3 + params:
        return RaidTable()
    options = words[2 : 2 + params]
    pairs = dict(pairwise(options))
    copies = whole(pairs.get("raid10_copies"), 3) or 2 if words[0].startswith("raid10") else None
    devices = tuple(words[4 + params :: 2])
    return RaidTable(devices, copies, pairs.get("raid10_format") in {"far", "offset"})


def volume(
    segment: Segment, name: str, device: str | None, table: RaidTable, images: Sequence[str | None], origin: str
) -> MappedRaidState:
    """Return the row of a raid volume; without health if its line is not understood."""
    needle = f"{segment.name}:" if segment.name else ""
    known = ",".join(filter(None, images)) or None
    try:
        said = parse(segment.target, segment.text)
    except Malformed:
        return MappedRaidState(
            mapping=segment.name, volume=name, device=device, images=known, origin=origin, needle=needle
        )
    stale = said.health.count(STALE)
    return MappedRaidState(
        mapping=segment.name,
        volume=name,
        device=device,
        level=said.level,
        health=said.health,
        members=len(said.health),
        failed=len(said.health) - stale - said.health.count(ALIVE),
        stale=stale,
        action=said.action,
        done=said.done,
        total=said.total,
        mismatches=said.mismatches,
        journal=said.journal,
        copies=table.copies,
        far=table.far,
        images=known,
        size=segment.length,
        origin=origin,
        needle=needle,
    )


def beside(row: MappedRaidState) -> Iterator[Reading]:
    """Yield the synchronization of a volume while it runs or is frozen, and its mismatches."""
    if row.health is None or row.done is None or row.total is None:
        return
    operation = _operation(row)
    if operation:
        unit = row.size // row.total if row.level == _MIRROR and row.size and row.total else SECTOR
        yield Rebuild(
            row.volume,
            operation,
            "frozen" if row.action == "frozen" else "running",
            row.done * unit,
            row.total * unit,
            kind="lvm",
            step=unit if row.level == _MIRROR else 0,
            devices=row.images,
            carrier=row.device,
            where=row.origin,
            needle=row.needle,
        )
    if row.mismatches is not None:
        yield Mismatch(
            thing=row.volume,
            kind="lvm",
            # The kernel reports 0 as well if the last action was not a check.
            found_by="check" if row.mismatches or row.action == "check" else None,
            running=row.action == "check",
            differ=row.mismatches,
            size=row.size,
            mirror=row.level in {"raid1", "raid10"},
            origin=row.origin,
            needle=row.needle,
        )


def _operation(row: MappedRaidState) -> str | None:
    """Return the operation that runs, or that is frozen before its end; None for none. pvmove mirrors to move data."""
    if row.action == "resync" and _MOVES.fullmatch(row.mapping) is not None:
        return "rebalance"
    if row.action in {"resync", "recover", "check", "repair", "reshape"}:
        return "recovery" if row.action == "recover" else row.action
    if row.action == "frozen" and not row.in_sync:
        return "recovery" if row.health is not None and ALIVE in row.health else "resync"
    return None
