"""md arrays and their rebuilds from /proc/mdstat and /sys/block/mdX/md/.

If both report a value, sysfs takes precedence, except for progress: md updates `sync_completed` only about every
sixteenth of a device, whereas mdstat advances with every window of sectors.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.md import details, mdadm, mdstat
from sdstop.collectors.md.details import RecordedArray
from sdstop.collectors.md.readings import Array
from sdstop.collectors.md.redundancy import Layout, tolerated
from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Host
from sdstop.core.model import Reading
from sdstop.readings.mismatch import Mismatch
from sdstop.readings.rebuild import MDSTAT, Rebuild, folder

_LEVEL_OF_NUMBER = {
    "-1": "linear",
    "0": "raid0",
    "1": "raid1",
    "4": "raid4",
    "5": "raid5",
    "6": "raid6",
    "10": "raid10",
}
_ALGORITHMS = {
    0: "left-asymmetric", 1: "right-asymmetric", 2: "left-symmetric", 3: "right-symmetric", 4: "parity-first",
    5: "parity-last", 8: "ddf-zero-restart", 9: "ddf-N-restart", 10: "ddf-N-continue", 16: "left-asymmetric-6",
    17: "right-asymmetric-6", 18: "left-symmetric-6", 19: "right-symmetric-6", 20: "parity-first-6",
}  # fmt: skip
_SECTOR = 512


def read(host: Host) -> Iterable[Reading]:
    """Yield an Array for each array in mdstat, and a Rebuild for each one that is synchronizing or waiting to.

    Arrays of recorded `mdadm -D` are added where mdstat does not have them.
    """
    found = details.listed(host)
    for each in found.unlisted:
        yield each.array
        yield from () if each.rebuild is None else (each.rebuild,)
    for reason in mdstat.defects(found.text) if found.text is not None else ():
        host.defect(MDSTAT, reason)
    for md in found.arrays:
        array = _array(host, md)
        yield array
        _compare_recorded(host, array, found.recorded.get(md.name))
        yield from _mismatch(array)
        yield from _rebuild(host, md)


def _compare_recorded(host: Host, array: Array, recorded: RecordedArray | None) -> None:
    """Note a number of missing members that contradicts that of recorded mdadm -D."""
    if recorded is None or recorded.array.degraded in {None, array.degraded} or array.degraded is None:
        return
    said = f"{array.degraded} members missing, and {recorded.array.degraded} in {recorded.array.where}"
    host.defect(MDSTAT, said, array.array, contradiction=True)


def _array(host: Host, md: mdstat.MdArray) -> Array:
    base = folder(md.name)
    shape = _Shape() if _is_known(host, md) else _shape(host, md, base)
    level = shape.level or _level(md)
    running = md.activity != "inactive"
    raid_disks, before = _now_and_before(shape.raid_disks)
    _compare_shape(host, md, shape.level, raid_disks if before is None else None)
    raid_disks = md.raid_disks if raid_disks is None else raid_disks
    chunk, _ = _now_and_before(shape.chunk)
    redundant = _is_redundant(level)
    degraded = shape.degraded if redundant else None
    now = _State() if host.rests(f"state of {md.name}", _lines(md)) else _state(host, md, base, redundant=redundant)
    state = now.state
    _compare(host, md, state)
    if degraded is None and redundant and md.working is not None and md.raid_disks is not None:
        degraded = md.raid_disks - md.working
    elif degraded == 0 and "_" in (md.slots or ""):
        host.defect(MDSTAT, f'"[{md.slots}]", and {base}/degraded is 0', md.name, contradiction=True)
    action = now.action
    if not action and md.progress:
        action = "recover" if md.progress.operation == "recovery" else md.progress.operation
    parity = level in {"raid4", "raid5", "raid6"}
    return Array(
        array=md.name,
        state=state or md.read_only or md.activity,
        level=level,
        layout=_layout(md),
        metadata=_metadata(shape.metadata) or md.metadata,
        size=md.size if running else None,
        chunk=(md.chunk if chunk is None else chunk) or None,
        near_copies=(md.near_copies or 1) if level == "raid10" and running else None,
        far_copies=(md.far_copies or 1) if level == "raid10" and running else None,
        raid_disks=raid_disks,
        old_raid_disks=before,
        working=md.working,
        degraded=degraded,
        tolerates=_tolerates(md, level) if running else None,
        spares=sum("S" in d.flags and "F" not in d.flags for d in md.devices) if running else None,
        failed=sum("F" in d.flags for d in md.devices),
        slots=md.slots,
        action=action or None,
        last_action=shape.last_action,
        mismatch=shape.mismatch,
        policy=shape.policy,
        bitmap=(md.bitmap.file or "internal") if md.bitmap else None,
        bitmap_chunk=md.bitmap.chunk if md.bitmap else None,
        stripe_cache=host.number(f"{base}/stripe_cache_size") if parity else None,
        stripe_cache_active=host.number(f"{base}/stripe_cache_active") if parity else None,
        suspended_from=now.suspended_from,
        suspended_to=now.suspended_to,
        reshape_position=now.reshape_position,
    )


class _Shape(Struct, frozen=True):
    """What changes together with mdstat, or with the end of a synchronization, as sysfs has it."""

    level: str | None = None
    raid_disks: str | None = None
    chunk: str | None = None
    metadata: str | None = None
    policy: str | None = None
    last_action: str | None = None
    mismatch: int | None = None
    degraded: int | None = None


_SHAPES = 30.0
"""Seconds after which it is read again, as long as the lines of an array in mdstat stay as they are and nothing
synchronizes."""
_CALMS = 4.0
"""The same for the state of an array in which nothing is wrong: of 200 arrays, it is 800 files."""


def _is_known(host: Host, md: mdstat.MdArray) -> bool:
    """Return whether a live node was asked for the shape of this array lately; the evidence is as it was then.

    It was asked when the lines were as they are now: of a member that fails, returns and fails again, the first answer
    is overwritten by the second.
    """
    works, shape = f"{md.name} synchronizes", f"shape of {md.name}"
    if md.activity != "active" or md.progress is not None or md.waiting is not None:
        host.rest(works, _SHAPES)
        host.rest(shape, 0.0)
        return False
    if host.rests(shape, _lines(md)) and not host.rests(works):
        return True
    host.rest_apart(shape, _SHAPES, md.name, _lines(md))
    return False


def _shape(host: Host, md: mdstat.MdArray, base: str) -> _Shape:
    level = _known_level(host.maybe(f"{base}/level"))
    redundant = _is_redundant(level or _level(md))
    return _Shape(
        level,
        host.maybe(f"{base}/raid_disks"),
        host.maybe(f"{base}/chunk_size"),
        host.maybe(f"{base}/metadata_version"),
        host.maybe(f"{base}/consistency_policy") or None,
        (host.maybe(f"{base}/last_sync_action") or None) if redundant else None,
        host.number(f"{base}/mismatch_cnt") if redundant else None,
        host.number(f"{base}/degraded") if redundant else None,
    )


class _State(Struct, frozen=True):
    """Facts that change without a sign in mdstat: state and action of an array, and the writes that it holds back."""

    state: str | None = None
    action: str | None = None
    suspended_from: int | None = None
    suspended_to: int | None = None
    reshape_position: int | None = None


_CALM = frozenset({"clean", "active", "active-idle", "readonly", "read-auto"})


def _lines(md: mdstat.MdArray) -> Hashable:
    """Return the lines of an array in mdstat without its bitmap, whose pages change all the time."""
    return hash(replace(md, bitmap=None))


def _state(host: Host, md: mdstat.MdArray, base: str, *, redundant: bool) -> _State:
    """Return the state of an array; if nothing is wrong, a live node is not asked again for some seconds."""
    state = host.maybe(f"{base}/array_state")
    if not redundant:
        found = _State(state)
    else:
        action = host.maybe(f"{base}/sync_action")
        low, high = _suspended(host, base)
        rests = md.progress is None and md.waiting is None and action in _RESTS
        position = host.number(f"{base}/reshape_position") if rests else None
        found = _State(state, action, low, high, None if position is None else position * _SECTOR)
    if state in _CALM and found.action in {"idle", None} and not found.suspended_to and found.reshape_position is None:
        host.rest_apart(f"state of {md.name}", _CALMS, md.name, _lines(md))
    else:
        host.rest(f"state of {md.name}", 0.0)
    return found


def _is_redundant(level: str | None) -> bool:
    return level not in {"raid0", "linear", "container", "faulty", None}


_RESTS = frozenset({"idle", "frozen"})


def _suspended(host: Host, base: str) -> tuple[int | None, int | None]:
    """Return the range in bytes whose writes md holds back (kernel drivers/md/md.c: is_suspended); (0, 0) for none."""
    high = host.number(f"{base}/suspend_hi")
    if not high:
        return high, high
    low = host.number(f"{base}/suspend_lo") or 0
    return (low * _SECTOR, high * _SECTOR) if low < high else (0, 0)


def _mismatch(array: Array) -> Iterator[Mismatch]:
    """Yield the mismatches of the last or the running check; each synchronization restarts mismatch_cnt at 0."""
    if array.mismatch is None:
        return
    running = array.action not in {"idle", "frozen", None}
    yield Mismatch(
        thing=array.array,
        kind="md",
        found_by=array.action if running else array.last_action,
        running=running,
        differ=array.mismatch * _SECTOR,
        size=array.size,
        mirror=array.level in {"raid1", "raid10"},
        origin=f"{folder(array.array)}/mismatch_cnt",
        needle=str(array.mismatch),
    )


def _compare(host: Host, md: mdstat.MdArray, state: str | None) -> None:
    """Note a count of members in sync that contradicts the slots (`[2/2] [U_]`), and states that do not agree.

    During a reshape the count is that of the geometry that lacks more members.
    """
    reshapes = md.progress is not None and md.progress.operation == "reshape"
    counted = md.slots is not None and md.working is not None and not reshapes
    if counted and md.slots and (md.slots.count("U") != md.working or len(md.slots) != md.raid_disks):
        said = f'"[{md.raid_disks}/{md.working}]" contradicts "[{md.slots}]"'
        host.defect(MDSTAT, said, md.name, contradiction=True)
    for device in md.devices:
        if unknown := device.flags - mdstat.FLAGS:
            host.defect(MDSTAT, f"unknown flag {min(unknown)} of {device.name}", md.name)
    names = [device.name for device in md.devices]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        host.defect(MDSTAT, f"{twice} is listed twice", md.name, contradiction=True)
    if md.read_only == "read-only" and state in _SERVING - {"readonly"}:
        said = f'"({md.read_only})", and {folder(md.name)}/array_state is {state}'
        host.defect(MDSTAT, said, md.name, contradiction=True)
    if md.activity != "active" and state in _SERVING:
        said = f'"{md.activity}", and {folder(md.name)}/array_state is {state}'
        host.defect(MDSTAT, said, md.name, contradiction=True)


def _compare_shape(host: Host, md: mdstat.MdArray, level: str | None, raid_disks: int | None) -> None:
    """Note a level or a number of members in sysfs that is not that of mdstat; both may change with a reshape."""
    if md.progress is not None or md.waiting is not None or md.activity != "active":
        return
    if level and md.personality and level != md.personality:
        host.defect(MDSTAT, f'"{md.personality}", and {folder(md.name)}/level is {level}', md.name, contradiction=True)
    if raid_disks is not None and md.raid_disks is not None and raid_disks != md.raid_disks:
        said = f'"[{md.raid_disks}/", and {folder(md.name)}/raid_disks is {raid_disks}'
        host.defect(MDSTAT, said, md.name, contradiction=True)


_SERVING = frozenset({"clean", "active", "active-idle", "write-pending", "readonly", "read-auto"})
"""Values of array_state of arrays that run."""


def _level(md: mdstat.MdArray) -> str | None:
    """Return the level in mdstat; an array without an active personality has none there."""
    if md.personality:
        return _known_level(md.personality)
    # A container, which only holds the metadata of other arrays, never runs; those refer to it: external:/md127/0.
    outside = md.metadata is not None and md.metadata.startswith("external:")
    return "container" if outside and not (md.metadata or "").startswith("external:/") else None


def _known_level(said: str | None) -> str | None:
    """Return a level by its name; sysfs has only a number, or nothing, without an active personality."""
    return _LEVEL_OF_NUMBER.get(said, said) if said else None


def _layout(md: mdstat.MdArray) -> str | None:
    if md.algorithm is not None:
        return _ALGORITHMS.get(md.algorithm, f"algorithm {md.algorithm}")
    if md.near_copies is None and md.far_copies is None:
        return None
    near = f"near={md.near_copies}" if md.near_copies else ""
    far = f"{'offset' if md.offset_copies else 'far'}={md.far_copies}" if md.far_copies else ""
    return " ".join(part for part in (near, far) if part)


def _metadata(said: str | None) -> str | None:
    """Return the metadata version; the kernel prints `none` without a superblock."""
    return said.split()[0] if said else None


def _tolerates(md: mdstat.MdArray, level: str | None) -> int | None:
    if level is None or md.raid_disks is None or md.working is None:
        return None
    return tolerated(layout_of(level, md), md.working, md.slots)


def layout_of(level: str, md: mdstat.MdArray) -> Layout:
    """Return the Layout that determines where an array stores its copies."""
    return Layout(level, md.raid_disks or 0, md.near_copies or 1, md.far_copies or 1, md.far_set)


def _now_and_before(said: str | None) -> tuple[int | None, int | None]:
    """Parse `4`, or `4 (3)` during a reshape from 3 to 4, into the new and the old value."""
    found = re.fullmatch(r"(\d{1,18})(?: \((\d{1,18})\))?", said or "")
    return (int(found[1]), int(found[2]) if found[2] else None) if found else (None, None)


_STATES = {"DELAYED": "delayed", "PENDING": "pending", "REMOTE": "remote"}


def _rebuild(host: Host, md: mdstat.MdArray) -> Iterator[Rebuild]:
    """Yield the synchronization in mdstat; sysfs distinguishes repair from resync and frozen from running."""
    if md.progress is None and md.waiting is None:
        return
    base = folder(md.name)
    action = host.maybe(f"{base}/sync_action")
    if md.progress is not None:
        operation, state = md.progress.operation, "frozen" if action == "frozen" else "running"
    else:
        operation, state = "resync", "delayed"
        if md.waiting is not None:
            operation, state = md.waiting.operation, _STATES[md.waiting.word]
    # `resync=` is printed for any waiting operation, and mdstat calls a repair a resync.
    if action in {"recover", "reshape", "check", "repair"} and (action == "repair" or md.progress is None):
        operation = action
    least, least_by = _limit(host, f"{base}/sync_speed_min", "min")
    most, most_by = _limit(host, f"{base}/sync_speed_max", "max")
    completed = re.match(r"(\d{1,20}) / \d", host.maybe(f"{base}/sync_completed") or "")
    stop = host.number(f"{base}/sync_max")
    yield Rebuild(
        array=md.name,
        operation="recovery" if operation == "recover" else operation,
        state=state,
        done=md.progress.done if md.progress else None,
        total=md.progress.total if md.progress else None,
        speed=md.progress.speed if md.progress else None,
        remaining=md.progress.remaining if md.progress else None,
        speed_min=least,
        speed_max=most,
        speed_min_set=least_by,
        speed_max_set=most_by,
        completed=int(completed[1]) * _SECTOR if completed else None,
        stop=stop * _SECTOR if stop is not None else None,
    )


def _limit(host: Host, path: str, which: str) -> tuple[int | None, str | None]:
    """Return a speed limit in bytes per second and its origin (`system` or `local`).

    The file has KiB: `1000 (system)`. Without it, the node-wide limit applies.
    """
    found = re.fullmatch(r"(\d{1,15}) \((system|local)\)", host.maybe(path) or "")
    if found:
        return int(found[1]) * 1024, found[2]
    kib = host.number(f"/proc/sys/dev/raid/speed_limit_{which}")
    return (None, None) if kib is None else (kib * 1024, "system")


MDRAID = Collector(
    "mdraid",
    "md arrays and their rebuilds",
    read,
    (Array, Rebuild, Mismatch),
    (
        Need(MDSTAT, "arrays, devices, slots and progress", filled=True, everyone=True),
        Need("cmd:mdadm *", "arrays, as others recorded them; never run", redact=mdadm.without_hosts),
        Need(
            "/sys/block/*/md/*",
            "level, state, degraded, sync_action, mismatches, speed limits, range of suspended writes, reshape",
            filled=("array_state", "degraded", "sync_action", "mismatch_cnt", "sync_speed_min", "sync_speed_max"),
        ),
        Need("/proc/sys/dev/raid/speed_limit_*", "the node's speed limits, where the array does not say", filled=True),
    ),
    LIVE,
    devices=r"md(\d+|_\S+)",
    forms=(mdstat.FORM, mdadm.DETAIL, mdadm.SCAN, mdadm.EXAMINE),
)
