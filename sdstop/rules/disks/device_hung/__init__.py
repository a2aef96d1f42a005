"""Block devices with requests in flight that complete none, or none of one direction."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from sdstop.collectors.block.readings import BlockDevice
from sdstop.core import format as human
from sdstop.core.advice import Advice, operands, run
from sdstop.core.columns import values_of
from sdstop.core.finding import (
    SIGN,
    Damage,
    Finding,
    Gap,
    Severity,
    Unchecked,
    Value,
    Verdict,
    cites,
    passed,
    unchecked,
)
from sdstop.core.history import Moment, Window
from sdstop.core.joins import Naming
from sdstop.core.rule import Limits, Rule, Threshold
from sdstop.core.thing import Thing
from sdstop.core.topology import Topology
from sdstop.readings.disk import Disk
from sdstop.readings.service import Service
from sdstop.rules.disks.device_hung.one_way import OneWay, one_way
from sdstop.rules.disks.device_hung.printed import printed
from sdstop.rules.disks.device_hung.stall import NEVER, Stall, completions, exempt, is_exempt, is_loop, stalls
from sdstop.rules.disks.device_hung.surroundings import STACKED, Surroundings, keeps_stale_counts

_ID = "device-hung"
_GRACE = 0.5
"""Tolerance in seconds for the window: samples arrive slightly early or late."""

_COUNTED = frozenset({"partition", "md", "dm", "drbd", "bcache", "loop", *NEVER})
"""Kinds whose requests the kernel counts regardless of queue/iostats (bio-based), or that are not judged."""
_NAMES_SHOWN = 12
"""Maximum number of names of things built on a device."""


def _check(window: Window, limits: Limits) -> Iterator[Verdict]:
    moments = window.moments(Disk)
    if not moments:
        yield from printed(window, limits)
        return
    silent = {s.device: s for s in stalls(window, moments)}
    loops = {name for name in silent if is_loop(window, name)}
    hung = {
        name: s
        for name, s in silent.items()
        if s.seconds >= limits["file" if name in loops else "seconds"] and s.readings >= limits["readings"]
        and (name not in loops or s.in_flight > 1)
    }  # fmt: skip
    node = Surroundings(window, silent)
    waiting_for = dict[str, str]()
    disks = sorted(hung.keys() - loops)
    for name in sorted(hung):
        leaves = [device for device in window.topology.devices(name)[1:] if device in hung]
        leaves = leaves or (disks if name in loops else [])
        if leaves:
            waiting_for[name] = leaves[0]
        else:
            yield _hung(window, hung[name], limits, hung, node)
    halted = {s.device: s for s in one_way(window, moments, limits["seconds"]) if s.readings >= limits["readings"]}
    for name in sorted(halted):
        leaves = [device for device in window.topology.devices(name)[1:] if device in halted or device in hung]
        if leaves:
            waiting_for[name] = leaves[0]
        else:
            yield _halted(window, halted[name], limits)
    below = set(waiting_for.values())
    reason = f"waits for {below.pop()}, which hangs" if len(below) == 1 else "waits for a device that hangs"
    yield from unchecked(waiting_for, reason, calm=True)
    uncounted = set[str]()
    for device in window.of_run(BlockDevice, "devices without accounting", lambda: _unaccounted(window)):
        if _stand(moments, device):
            uncounted.add(device)
    yield from unchecked(sorted(uncounted), "I/O accounting is off (queue/iostats = 0)")
    yield from _verdicts_on_others(window, limits, moments, silent, node, {*hung, *halted, *uncounted})


def _verdicts_on_others(
    window: Window, limits: Limits, moments: Sequence[Moment[Disk]], silent: Mapping[str, Stall], node: Surroundings,
    judged: AbstractSet[str],
) -> Iterator[Verdict]:  # fmt: skip
    """Yield the verdicts on devices that complete requests, or have not completed any for too short a time."""
    span = moments[-1].started - moments[0].started
    short = limits["seconds"] - span
    if short > _GRACE or (short > 0 and any(s.whole for s in silent.values())):
        seen = f"{math.floor(span * 10) / 10:g} of {limits['seconds']:g} s"
        yield Unchecked(f"collecting data: {seen}", gap=Gap.EARLY)
        late = {s.device for s in one_way(window, moments, SIGN)} | _signs(silent.values(), node)
        still = sorted(name for name in late if not is_exempt(window, name) and not is_loop(window, name))
        yield from unchecked(still, f"no completion in {seen}", gap=Gap.SIGNS)
        return
    rows = moments[-1].rows
    waiting = [str(name) for name, count in zip(rows, values_of(rows, "in_flight"), strict=True) if count]
    alien = exempt(window, waiting)
    yield from unchecked(sorted(alien), _ALIEN, calm=True)
    files = {name for name in silent if name not in judged and is_loop(window, name)}
    waiting_files = sorted(name for name in files if silent[name].seconds >= limits["seconds"])
    yield from unchecked(waiting_files, "waits for its file, which may be flushed", calm=True)
    early = {name for name, s in silent.items() if s.seconds >= limits["seconds"]} - judged - files
    yield from unchecked(sorted(early), f"collecting data: needs {limits['readings']:g} samples", gap=Gap.SIGNS)
    lasts = [s for s in silent.values() if s.device not in {*judged, *alien, *files, *early} and _is_new(window, s)]
    signs = _signs(lasts, node)
    longest = human.duration(max((s.seconds for s in lasts if s.device in signs), default=0.0))
    yield from unchecked(
        sorted(signs), f"no completion for {longest}: hung after {limits['seconds']:g} s", gap=Gap.SIGNS
    )
    rest = {*judged, *alien, *waiting_files, *early, *signs}
    good = [str(name) for name in rows if name not in rest]
    yield from passed(good, _good([silence for name, silence in silent.items() if name not in rest]))


_ALIEN = "partition, whose disk is judged, or memory or drive, which cannot hang"


def _signs(silent: Iterable[Stall], node: Surroundings) -> set[str]:
    """Return the devices that may hang, but for less time than is needed; a single request may be a stale count."""
    stale = keeps_stale_counts(node.kernel)
    return {s.device for s in silent if s.seconds >= SIGN and (s.in_flight > 1 or not stale)}


def _is_new(window: Window, silence: Stall) -> bool:
    """Return whether a silence is unusual: a rotating disk that was idle may be spinning up."""
    device = window.get(BlockDevice, silence.device)
    return silence.worked or device is None or not device.rotational


def _unaccounted(window: Window) -> list[str]:
    """Return the devices whose requests the kernel does not count."""
    rows = window.rows(BlockDevice).values()
    return [row.device for row in rows if row.iostats_enabled == 0 and row.kind not in _COUNTED]


def _stand(moments: Sequence[Moment[Disk]], name: str) -> bool:
    """Return whether the counters of a device are the same in all samples."""
    first, last = moments[0].rows.get(name), moments[-1].rows.get(name)
    return first is None or last is None or completions(first) == completions(last)


def _good(silent: Sequence[Stall]) -> str:
    longest = max(silent, key=lambda s: s.seconds, default=None)
    if longest is None or not longest.seconds:
        return "all requests complete"
    return f"longest time without a completion {human.duration(longest.seconds)} ({longest.device})"


def _above(topology: Topology, thing: Thing | None, hung: Container[str]) -> tuple[list[str], list[str]]:
    """Return the hung devices built on a thing, and the names of everything else that it is a part of or used by."""
    if thing is None:
        return [], []
    devices = sorted(name for other in topology.above(thing) if (name := other.device) is not None and name in hung)
    users = dict.fromkeys((*topology.part_of(thing), *topology.affected(thing)))
    return devices, [other.label for other in users if other.device not in devices]


def _hung(window: Window, silence: Stall, limits: Limits, hung: Container[str], node: Surroundings) -> Finding:
    name, row = silence.device, window.get(Disk, silence.device)
    device = window.get(BlockDevice, name)
    thing = window.topology.named(Naming.DEV, name)
    above, users = _above(window.topology, thing, hung)
    linked = name in node.stacked
    of_file = is_loop(window, name)
    stacked = linked or of_file or STACKED.fullmatch(name) is not None
    waking = not silence.worked and silence.seconds < limits["timeout"] and device is not None and device.rotational
    kind = device.kind if device is not None else ""
    waiting, kernel = node.waiting(silence), node.kernel
    # A single request that no task waits for is as likely a stale count.
    lost = silence.in_flight == 1 and not above and not waiting.for_it and keeps_stale_counts(kernel)
    atleast = "at least " if silence.whole else ""
    requests = human.plural(silence.in_flight, "request")
    if above:
        impact = f"Blocked: {human.listed(above)}."
    elif lost:
        impact = f"{_blocked(waiting.tasks)}; the kernel may count one for an idle device."
    elif of_file:
        impact = "Tasks that use the data wait for the file behind the device."
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
        advice=window.topology.latest(
            "advice on a hung device",
            name,
            (kind, stacked),
            lambda: tuple(_advice(name, kind, stacked=stacked and not of_file)),
        ),
        refuted_by=f"a completed read or write of {name} in /proc/diskstats"
        + (", or a stale count: it stays at 1 with no blocked task" if stacked or lost else ""),
        confidence=0.5 if stacked or waking or lost else None,
        cost=float(silence.in_flight),
        lasting=silence.seconds,
    )


def _halted(window: Window, each: OneWay, limits: Limits) -> Finding:
    """Return the finding for a device that completes no request of one direction."""
    name, row = each.device, window.get(Disk, each.device)
    stacked = STACKED.fullmatch(name) is not None
    others = "reads" if each.way == "writes" else "writes"
    done = f"{human.number(each.rate)} {others}/s did"
    thing = window.topology.named(Naming.DEV, name)
    users = dict.fromkeys((*window.topology.part_of(thing), *window.topology.affected(thing))) if thing else {}
    return Finding(
        severity=Severity.WARNING if stacked else Severity.CRITICAL,
        subject=name,
        title=f"{each.way.upper()} HUNG: {human.plural(each.waiting, 'request')} waiting",
        cause=f"No {each.way[:-1]} completed in {human.duration(each.seconds)}, {done}.",
        impact=f"Tasks that wait for {each.way} of the device are blocked.",
        values=(
            Value("seconds", f"time without a completed {each.way[:-1]}", each.seconds, "seconds",
                  above=limits["seconds"]),
            Value("in_flight", "requests in flight in every sample", each.waiting, "", above=2),
            Value("others", f"mean number of {others} in flight", each.others),
            Value("readings", "samples that show it", each.readings, "", above=limits["readings"]),
            Value("above", "built on it", human.listed([each.label for each in users], _NAMES_SHOWN, 200) or None),
        ),
        evidence=cites(window.cite(row) if row is not None else None),
        advice=(
            "Look for timeouts and resets of a queue in the kernel log.",
            run("cat", f"/sys/block/{name.replace('/', '!')}/inflight", note="reads and writes in flight"),
            run("journalctl", "-k").pipe("grep", "-w", *operands(name)),
            run("ps", "axo", "pid,stat,wchan:30,comm", note="blocked tasks").pipe("awk", "$2 ~ /^D/"),
        ),
        refuted_by=f"a completed {each.way[:-1]} of {name} in /proc/diskstats",
        confidence=0.5 if stacked else None,
        cost=float(each.waiting),
        lasting=each.seconds,
    )  # fmt: skip


def _blocked(tasks: int | None) -> str:
    if tasks is None:
        return "Blocked tasks are unknown"
    return "Blocked tasks may wait for other devices" if tasks else "No task is blocked"


def _advice(name: str, kind: str, *, stacked: bool) -> Iterator[Advice]:
    yield "Look for timeouts, resets and link loss in the kernel log."
    yield run("journalctl", "-k").pipe("grep", "-w", *operands(name))
    yield run("ps", "axo", "pid,stat,wchan:30,comm", note="blocked tasks").pipe("awk", "$2 ~ /^D/")
    if stacked:
        yield run("dmsetup", "info", note="suspended devices")
        yield run("dmsetup", "status", note="multipath queueing with no path")
        return
    if kind == "nvme" or name.startswith("nvme"):
        yield run("nvme", "list-subsys", f"/dev/{name}", note="state of the controller and its paths")
    elif kind == "aoe" or name.startswith("etherd"):
        yield run("aoe-stat", note="state of the targets")
        yield run("ip", "-s", "link", note="dropped frames")
    elif name.startswith("nbd"):
        yield run("ss", "-tnpo", "dport", "=", ":10809", note="connection to the server, at its usual port")
    elif name.startswith("rbd"):
        yield run("ceph", "health", "detail")
        yield run("grep", "-r", ".", "/sys/kernel/debug/ceph/", "--include=osdc", note="requests in flight by OSD")
    elif name.startswith("scini"):
        yield run("/bin/emc/scaleio/drv_cfg", "--query_mdms", note="MDMs that the client knows")
    elif name.startswith("loop"):
        yield run("losetup", "-l", f"/dev/{name}", note="file behind it")
    elif name.startswith(("vd", "xvd")):
        yield "Check the storage of the hypervisor, which provides the disk."
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
        Threshold("file", 60.0, "time without a completion of a loop device, whose file may be flushed", "seconds"),
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
        "nfs-server-busy",
        "volume-qos-saturated",
        "volume-below-promise",
        "ceph-daemon-down",
        "osd-down",
        "osd-slow",
    ),
    instead=(Service,),
    many="do not respond",
    damage=Damage.AVAILABILITY,
    view="disks",
    advice="Look for timeouts, resets and link loss of {subject} in the kernel log.",
)
