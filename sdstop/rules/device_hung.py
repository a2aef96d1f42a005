"""Block devices with requests in flight that complete none."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Collection, Container, Hashable, Iterator, Sequence

from msgspec import Struct

from sdstop.collectors.block.devices import BlockDevice
from sdstop.collectors.system.node import STAT, Node
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.finding import (
    Damage,
    Finding,
    Gap,
    Limits,
    Rule,
    Severity,
    Threshold,
    Unchecked,
    Value,
    Verdict,
    cites,
    passed,
    unchecked,
)
from sdstop.core.history import Moment, Window
from sdstop.core.joins import Naming
from sdstop.core.snapshot import Snapshot
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology
from sdstop.readings.disk import Disk

_ID = "device-hung"
_GRACE = 0.5
"""Tolerance in seconds for the window: samples arrive slightly early or late."""

_NEVER = frozenset({"loop", "rom", "ram", "zram", "floppy"})
"""Kinds that wait for something external (a file, a person) or for nothing."""
_COUNTED = frozenset({"partition", "md", "dm", "drbd", "bcache", *_NEVER})
"""Kinds whose requests the kernel counts regardless of queue/iostats (bio-based), or that are not judged."""
_NAMES_SHOWN = 12
"""Maximum number of names of things built on a device."""
_NAMES = re.compile(r"(loop|ram|zram|sr|fd)\d")
_STACKED = re.compile(r"(md_?|dm-)\w+")
"""Names of stacked devices, for use if sysfs does not list the lower devices."""
_PARTITION = re.compile(r"(.*\d)p\d+|(.*\D)\d+")
_ONE_SUM = (6, 10)
"""First kernel that derives the in-flight count and the busy time from one sum over the processors.

From this kernel on, a lost completion leaves a permanent in-flight count of 1, and the idle device counts as busy.
"""
_RELEASE = re.compile(r"(\d{1,6})\.(\d{1,6})")


def _disk_of(name: str) -> str:
    """Return the disk of a partition by its name: `sda1` -> `sda`, `nvme0n1p1` -> `nvme0n1`; "" for other names."""
    found = _PARTITION.fullmatch(name)
    return (found[1] or found[2]) if found else ""


class _Stall(Struct, frozen=True):
    """A device with requests in flight and no completions for `seconds`.

    `worked`: it completed requests earlier in this window; `whole`: the silence covers the whole window; `since` is the
    monotonic time of the first reading that shows it.
    """

    device: str
    seconds: float
    readings: int
    in_flight: int
    ticking: bool
    worked: bool
    whole: bool
    since: float


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    moments = window.moments(Disk)
    silent = {s.device: s for s in _silences(window, moments)}
    hung = {
        name: s for name, s in silent.items() if s.seconds >= limits["seconds"] and s.readings >= limits["readings"]
    }
    node = _Surroundings(window, silent)
    for name in sorted(hung):
        leaves = [device for device in window.topology.devices(name)[1:] if device in hung]
        if leaves:
            yield Unchecked(f"waits for {leaves[0]}, which hangs", name, calm=True)
        else:
            yield _hung(window, hung[name], limits, hung, node)
    uncounted = set[str]()
    for device in sorted(window.rows(BlockDevice).values(), key=lambda row: row.device):
        if device.iostats_enabled == 0 and device.kind not in _COUNTED and _stand(moments, device.device):
            uncounted.add(device.device)
    yield from unchecked(sorted(uncounted), "I/O accounting is off (queue/iostats = 0)")
    span = moments[-1].started - moments[0].started
    short = limits["seconds"] - span
    if short > _GRACE or (short > 0 and any(s.whole for s in silent.values())):
        yield Unchecked(f"collecting data: {math.floor(span * 10) / 10:g} of {limits['seconds']:g} s")
    else:
        waiting = [str(name) for name, row in moments[-1].rows.items() if row.in_flight]
        alien = {name for name in waiting if _exempt(window, name)}
        yield from unchecked(
            sorted(alien), "partition, whose disk is judged, or device that waits for a file", calm=True
        )
        early = {name for name, s in silent.items() if s.seconds >= limits["seconds"]} - hung.keys()
        yield from unchecked(sorted(early), f"collecting data: needs {limits['readings']:g} samples", gap=Gap.EARLY)
        rest = hung.keys() | uncounted | alien | early
        good = [str(name) for name in moments[-1].rows if name not in rest]
        yield from passed(good, _good([silence for name, silence in silent.items() if name not in rest]))


def _stand(moments: Sequence[Moment[Disk]], name: str) -> bool:
    """Return whether the counters of a device are the same in all samples."""
    first, last = moments[0].rows.get(name), moments[-1].rows.get(name)
    return first is None or last is None or _completed(first) == _completed(last)


def _good(silent: Sequence[_Stall]) -> str:
    longest = max(silent, key=lambda s: s.seconds, default=None)
    if longest is None or not longest.seconds:
        return "all requests in flight: some completed in the last sample"
    return f"longest time without a completion {human.duration(longest.seconds)} ({longest.device})"


def _silences(window: Window, moments: Sequence[Moment[Disk]]) -> Iterator[_Stall]:
    newest, starts = moments[-1], [moment.started for moment in moments]
    for name, stretch in _stretches(window, moments).items():
        row, first = newest.rows[name], bisect_left(starts, stretch.since)
        yield _Stall(
            row.device,
            newest.started - starts[first],
            len(moments) - first,
            row.in_flight or 0,
            stretch.ticked > starts[first],
            first > 0 and _worked(moments, name, row),
            first == 0,
            starts[first],
        )


class _Stretch(Struct, frozen=True):
    """Time without a completion: its start, and when the busy time last moved (monotonic seconds)."""

    since: float
    ticked: float


def _stretches(window: Window, moments: Sequence[Moment[Disk]]) -> dict[Hashable, _Stretch]:
    """Return the silent devices of the newest moment, kept with it: the next moment continues where this one ends."""
    newest, earlier = moments[-1], moments[-2::-1]
    found: dict[Hashable, _Stretch] = newest.memo.setdefault(_ID, {})
    if found or not earlier:
        return found
    before: dict[Hashable, _Stretch] = earlier[0].memo.pop(_ID, {})  # needed only by the next moment
    for name, row in newest.rows.items():
        if not row.in_flight:
            continue
        last = earlier[0].rows.get(name)
        # Fast path: skip devices that completed I/O since the last sample.
        if last is None or last.reads != row.reads or last.writes != row.writes or _exempt(window, str(name)):
            continue
        known = before.get(name)
        if known is not None and _completed(last) == _completed(row):
            found[name] = _Stretch(known.since, newest.started if row.io_time > last.io_time else known.ticked)
            continue
        since, ticked, later = newest.started, -math.inf, row
        for moment in earlier:
            then = moment.rows.get(name)
            if then is None or not then.in_flight or _completed(then) != _completed(row):
                break
            if math.isinf(ticked) and later.io_time > then.io_time:
                ticked = since
            since, later = moment.started, then
        found[name] = _Stretch(since, ticked)
    return found


def _worked(moments: Sequence[Moment[Disk]], name: Hashable, row: Disk) -> bool:
    first = next((then for then in (moment.rows.get(name) for moment in moments) if then is not None), row)
    return _completed(first) != _completed(row)


def _completed(row: Disk) -> tuple[int, int, int, int]:
    return row.reads, row.writes, row.discards or 0, row.flushes or 0


def _exempt(window: Window, name: str) -> bool:
    """Return whether a device cannot hang by itself: loop and similar kinds, and partitions, whose disk is checked."""
    device = window.get(BlockDevice, name)
    if device is None:
        return _NAMES.match(name) is not None or window.get(Disk, _disk_of(name)) is not None
    return device.kind in _NEVER or (device.kind == "partition" and device.parent is not None)


def _above(topology: Topology, thing: Thing | None, hung: Container[str]) -> tuple[list[str], list[str]]:
    """Return the hung devices built on a thing, and the names of everything else that it is a part of or used by."""
    if thing is None:
        return [], []
    devices = sorted(name for other in topology.above(thing) if (name := other.device) is not None and name in hung)
    users = dict.fromkeys((*topology.part_of(thing), *topology.affected(thing)))
    return devices, [other.label for other in users if other.device not in devices]


def _keeps(kernel: str | None) -> bool:
    """Return whether a kernel may keep a stale in-flight count, as may one of unknown release."""
    found = _RELEASE.match(kernel or "")
    return found is None or (int(found[1]), int(found[2])) >= _ONE_SUM


class _BlockedTasks(Struct, frozen=True):
    """Tasks that wait for I/O while a device is silent.

    `tasks` waited in every sample, None if the node does not report it; `for_it`: in at least one sample they can only
    have waited for this device, because no responding device had a request.
    """

    tasks: int | None
    for_it: bool


class _Surroundings:
    """Facts that all hung devices share: the node, its stacked devices, and its tasks in each snapshot."""

    def __init__(self, window: Window, silent: Collection[str]) -> None:
        self.stacked = window.once("stacked devices", lambda: _stacked(window.topology))
        self.kernel = next((node.kernel for node in window.rows(Node).values()), None)
        self._window = window
        self._silent = silent
        self._tasks: list[tuple[Snapshot, int]] = []
        for shot in reversed(window.snapshots):
            tasks = [node.tasks_blocked for node in shot.rows(Node).values() if node.tasks_blocked is not None]
            self._tasks += [(shot, tasks[0])] if tasks else []
        self.blocked = window.quote(STAT, "procs_blocked") if self._tasks and silent else None
        self._quiet: dict[int, bool] = {}
        self._waiting: dict[float, _BlockedTasks] = {}

    def waiting(self, silence: _Stall) -> _BlockedTasks:
        """Return which tasks wait while a device is silent."""
        known = self._waiting.get(silence.since)
        if known is None:
            shots = [each for each in self._tasks if each[0].monotonic >= silence.since]
            fewest = min((tasks for _, tasks in shots), default=None)
            known = _BlockedTasks(fewest, bool(fewest) and any(self._is_quiet(shot) for shot, _ in shots))
            self._waiting[silence.since] = known
        return known

    def _is_quiet(self, shot: Snapshot) -> bool:
        """Return whether no responding device had a request, leaving out those that cannot hang by themselves."""
        if shot.number not in self._quiet:
            self._quiet[shot.number] = all(
                name in self._silent or name in self.stacked or _STACKED.fullmatch(name) or _exempt(self._window, name)
                for name, row in ((str(key), row) for key, row in shot.rows(Disk).items())
                if row.in_flight
            )
        return self._quiet[shot.number]


def _stacked(topology: Topology) -> frozenset[str]:
    return frozenset(thing.device for thing in topology.things if thing.device and topology.is_stacked(thing))


def _hung(window: Window, silence: _Stall, limits: Limits, hung: Container[str], node: _Surroundings) -> Finding:
    name, row = silence.device, window.get(Disk, silence.device)
    device = window.get(BlockDevice, name)
    thing = window.topology.named(Naming.DEV, name)
    above, users = _above(window.topology, thing, hung)
    linked = name in node.stacked
    stacked = linked or _STACKED.fullmatch(name) is not None
    waking = not silence.worked and silence.seconds < limits["timeout"] and device is not None and device.rotational
    waiting, kernel = node.waiting(silence), node.kernel
    # A single request that no task waits for is as likely a stale count.
    lost = silence.in_flight == 1 and not above and not waiting.for_it and _keeps(kernel)
    atleast = "at least " if silence.whole else ""
    requests = human.plural(silence.in_flight, "request")
    if above:
        impact = f"Blocked on it: {human.listed(above)}."
    elif lost:
        impact = f"{_blocked(waiting.tasks)}; the kernel may count one for an idle device."
    elif stacked and not linked:
        impact = "Tasks that use the data wait; the underlying devices are unknown."
    elif stacked:
        impact = "Tasks that use the data wait; no device below has the requests."
    elif waking:
        impact = "Tasks that use the data wait; the disk may be spinning up."
    else:
        impact = "Tasks that use the data wait."
    return Finding(
        severity=Severity.WARNING if stacked or waking or lost else Severity.CRITICAL,
        subject=name,
        title=(
            f"DEVICE MAY BE HUNG: {requests} waits"
            if lost
            else "DISK SILENT: may be spinning up"
            if waking and not above and not stacked
            else f"{'STACK' if stacked and not above else 'DEVICE'} HUNG: {requests} waiting"
        ),
        cause=f"{requests} in flight, none completed for {atleast}{human.duration(silence.seconds)}.",
        impact=impact,
        values=(
            Value("seconds", "time without a completion", silence.seconds, "seconds", above=limits["seconds"]),
            Value("in_flight", "requests in flight", silence.in_flight, "", above=0),
            Value("readings", "samples that show it", silence.readings, "", above=limits["readings"]),
            Value("ticking", "counted as busy", "yes" if silence.ticking else "no"),
            Value("above", "built on it, waiting", human.listed([*above, *users], _NAMES_SHOWN, 200) or None),
            Value("blocked", "tasks blocked in every sample", waiting.tasks),
            Value("kernel", "kernel", kernel if lost else None),
        ),
        evidence=cites(
            window.cite(row) if row is not None else None,
            node.blocked if waiting.tasks is not None else None,
            *(window.cite(r) for r in (window.get(Disk, upper) for upper in above[:3]) if r is not None),
        ),
        advice=tuple(_advice(name, device, stacked=stacked)),
        refuted_by=f"a completed read or write of {name} in /proc/diskstats"
        + (", or a stale count: it stays at 1 with no blocked task" if stacked or lost else ""),
        confidence=0.5 if stacked or waking or lost else None,
        cost=float(silence.in_flight),
        lasting=silence.seconds,
    )


def _blocked(tasks: int | None) -> str:
    if tasks is None:
        return "Blocked tasks are unknown"
    return "Blocked tasks may wait for other devices" if tasks else "No task is blocked"


def _advice(name: str, device: BlockDevice | None, *, stacked: bool) -> Iterator[Advice]:
    yield "Look for timeouts, resets and link loss in the kernel log."
    yield run("journalctl", "-k").pipe("grep", "-w", *operands(name))
    yield run("ps", "axo", "pid,stat,wchan:30,comm", note="blocked tasks").pipe("awk", "$2 ~ /^D/")
    if stacked:
        yield run("dmsetup", "info", note="suspended devices")
        yield run("dmsetup", "status", note="multipath queueing with no path")
        return
    kind = device.kind if device is not None else ""
    if kind == "nvme" or name.startswith("nvme"):
        yield run("nvme", "list-subsys", f"/dev/{name}", note="state of the controller and its paths")
    elif kind == "aoe" or name.startswith("etherd"):
        yield run("aoe-stat", note="state of the targets")
        yield run("ip", "-s", "link", note="dropped frames")
    else:
        path = f"/sys/block/{name.replace('/', '!')}/device"
        yield run("cat", f"{path}/state", f"{path}/timeout", note="state; command timeout in seconds")
        yield run("smartctl", "-x", f"/dev/{name}", background=True, note="can hang as well")


DEVICE_HUNG = Rule(
    _ID,
    "block device with requests in flight that completes none",
    Severity.CRITICAL,
    _check,
    (Disk,),
    (
        Threshold("seconds", 10.0, "time without a completion", "seconds"),
        Threshold("readings", 3.0, "samples that must show it"),
        Threshold("timeout", 30.0, "time for an idle disk to spin up", "seconds"),
    ),
    explains=(
        _ID,
        "rebuild-slow",
        "rebuild-stalled",
        "stripe-convoy",
        "hot-stripe-member",
        "slow-stripe-member",
        "slow-device",
        "tasks-stuck",
        "volume-qos-saturated",
        "volume-below-promise",
        "ceph-daemon-down",
        "osd-down",
        "osd-slow",
    ),
    many="do not respond",
    damage=Damage.AVAILABILITY,
    view="disks",
)
