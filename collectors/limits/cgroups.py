"""Control group limits on block devices (io.max, or blkio.throttle of version 1), and their usage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sdstop.collectors.limits.controlgroup import (
    OWN_FILES,
    ROOT,
    THROTTLES,
    UNIFIED,
    V1,
    GroupIoTotals,
    Throttle,
    Throttles,
    joined,
    parse_device,
    parse_max,
    parse_pressure,
    parse_service,
    parse_stat,
)
from sdstop.collectors.limits.readings import group_name
from sdstop.core.collector import Collector, Need, Question
from sdstop.core.columns import Batch
from sdstop.core.host import Absent, Host, Malformed, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.readings.disk import device_name
from sdstop.readings.limit import CGROUP, READ, USE, WRITE, Limit, limited

QUESTION = "cgroup.limited"
AGAIN = 10.0
"""Seconds between searches of all groups."""
DEEPEST = 16
"""Maximum depth of groups searched in captures that have only files."""


def read(host: Host) -> Iterable[Reading]:
    """Return a row for each group, device and direction with a limit. Raise Absent if no group has one.

    This call only reads; rows are made when they are consumed, which a sampler never does.
    """
    v2, v1 = _limited(host)
    groups = [group for path in v2 if (group := _version2(host, path)) is not None]
    groups += [group for path in v1 if (group := _version1(host, path)) is not None]
    if not groups:
        raise Absent(ROOT, "no cgroup I/O limits")
    numbers = dict.fromkeys(number for group in groups for number in group.throttles)
    devices = {number: host.target(f"/sys/dev/block/{number}") or _called(host, number) for number in numbers}
    return _batches(host, groups, {number: device_name(name) if name else number for number, name in devices.items()})


def limited_groups(host: Host) -> dict[str, Any]:
    """Return the paths of the groups with a limit, by version: `{"v2": ["/a.slice"], "v1": [], "groups": 212}`.

    Raises Absent if no control groups are mounted or none has the controller for block devices, and Failed if there
    are too many.
    """
    v1: list[str] = []
    v2: list[str] = []
    controllers = host.maybe(f"{ROOT}/cgroup.controllers")
    if controllers is not None:
        if "io" not in controllers.split():
            raise Absent(f"answer:{QUESTION}", "cgroups without the io controller")
        v2, count = host.holding(ROOT, ("io.max",))
    elif host.names(V1):
        v1, count = host.holding(V1, [f"blkio.throttle.{name}_device" for name in THROTTLES])
    else:
        raise Absent(f"answer:{QUESTION}", "no cgroup hierarchy that limits block devices is mounted")
    return {"v1": v1, "v2": v2, "groups": count}


def _called(host: Host, number: str) -> str | None:
    """Return the disk with a device number, for captures without /sys/dev/block links."""
    disks = host.names("/sys/block")
    return next((disk for disk in disks if host.maybe(f"/sys/block/{disk}/dev") == number), None)


def _limited(host: Host) -> tuple[list[str], list[str]]:
    """Return the paths of groups that may have limits, of version 2 and version 1."""
    try:
        return parse_answer(host.answer(QUESTION))
    except TimedOut:
        raise
    except Unreadable:  # --root and foreign captures have only the files
        v2 = [path.removeprefix(ROOT) for path in _groups(host, ROOT, "io.max", 0)]
        names = [f"blkio.throttle.{name}_device" for name in THROTTLES]
        v1 = {path for name in names for path in _groups(host, V1, name, 0)}
        if not v2 and not v1 and not host.names(ROOT):
            raise
        return v2, sorted(path.removeprefix(V1) for path in v1)


def parse_answer(said: Any) -> tuple[list[str], list[str]]:
    """Parse an answer into groups of version 2 and 1: `{"v1": [], "v2": ["/system.slice/a"], "groups": 212}`.

    Raises Malformed.
    """
    found = []
    for version in ("v2", "v1"):
        paths = said.get(version) if isinstance(said, Mapping) else None
        if not isinstance(paths, list) or not all(isinstance(p, str) and p.startswith("/") for p in paths):
            raise Malformed(f"{QUESTION}: no list of groups of {version}")
        found.append([path.rstrip("/") for path in paths])
    return found[0], found[1]


def _groups(host: Host, folder: str, name: str, level: int) -> Iterator[str]:
    names = host.names(folder)
    if name in names:
        yield folder
    if level < DEEPEST:
        for entry in names:
            if not entry.startswith(OWN_FILES):
                yield from _groups(host, f"{folder}/{entry}", name, level + 1)


_Row = tuple[str, str, str, str, str, int | None, int | None, str, str, str, str]
_STILL = (
    "volume", "owner", "kind", "direction", "limited", "iops", "bandwidth", "device", "origin", "needle", "used_origin",
)  # fmt: skip
"""Fields that change only with a limit; the others are counters."""


class _Group(NamedTuple):
    """Files of a group: its limits, the text of its requests and bytes so far, and keys of evidence.

    Version 2 has requests and bytes in one file. `pressure` is a key with its text; `origins` are the keys of the
    limits on reads and on writes, `used` that of the use.
    """

    path: str
    throttles: Throttles
    requests: str | None
    moved: str | None
    pressure: tuple[str, str]
    origins: tuple[str, str]
    used: str


def _batches(host: Host, groups: Sequence[_Group], devices: Mapping[str, str]) -> Iterator[Batch]:
    """Yield all rows; a device without a line in io.stat received no requests from a group."""
    found: list[_Row] = []
    requests: list[int | None] = []
    moved: list[int | None] = []
    stalled: list[float | None] = []
    for group in groups:
        key = group.used
        try:
            passed = _passed(group)
            key, text = group.pressure
            pressure = parse_pressure(text)
        except Malformed:
            host.maybe(key)  # the evidence that is not understood is the one read last
            raise
        for number, ways in group.throttles.items():
            done = passed.get(number, _NOTHING) if passed is not None else None
            used = group.used if done is not None else ""
            rows = _still(group.path, number, devices[number], ways, group.origins, used)
            found += rows
            for row in rows:
                reads = row[3] == READ
                requests.append(None if done is None else done.reads if reads else done.writes)
                moved.append(None if done is None else done.read_bytes if reads else done.write_bytes)
                stalled.append(pressure)
    if not found:  # a live node was not asked for limits, and is read for its evidence alone
        return
    values: dict[str, list[Any]] = {"used_requests": requests, "used_bytes": moved, "stalled": stalled}
    for name, column in zip(_STILL, zip(*found, strict=True), strict=True):
        values[name] = list(column)
    yield Batch(Limit, values)


def _passed(group: _Group) -> Mapping[str, GroupIoTotals] | None:
    """Return requests and bytes of a group by device; None if they are unknown. Raises Malformed."""
    if group.requests is None:
        return None
    if group.moved is None:
        return parse_stat(group.requests)
    counts, sizes = parse_service(group.requests, "io_serviced"), parse_service(group.moved, "io_service_bytes")
    return {
        number: GroupIoTotals(
            counts[number][0], sizes.get(number, (0, 0))[0], counts[number][1], sizes.get(number, (0, 0))[1]
        )
        for number in counts
    }


_NOTHING = GroupIoTotals()
_MOST = 16384
"""Limited groups whose constant fields are kept from one reading to the next."""
_throttles = lru_cache(_MOST)(parse_max)


@lru_cache(_MOST)
def _still(
    path: str, number: str, device: str, ways: tuple[Throttle, Throttle], origins: tuple[str, str], used: str
) -> tuple[_Row, ...]:
    """Return the constant fields of a group's limits on a device, for each direction with a limit."""
    return tuple(
        (
            device, group_name(path), CGROUP, way, limited(throttle.iops, throttle.bytes), throttle.iops,
            throttle.bytes, device, origin, f"{number} ", used,
        )
        for way, throttle, origin in zip((READ, WRITE), ways, origins, strict=True) if throttle.is_set
    )  # fmt: skip


def _version2(host: Host, path: str) -> _Group | None:
    base = f"{ROOT}{path}"
    limits, used = f"{base}/io.max", f"{base}/io.stat"
    throttles: Throttles = {}
    if not host.rests(limits):
        throttles = _throttles(host.maybe(limits) or "")
        if not throttles:
            return None
        host.rest_apart(limits, AGAIN, path)  # new limits are searched for as often
    pressure = f"{base}/io.pressure"
    moved = host.maybe(used)
    return _Group(path, throttles, moved, None, (pressure, host.maybe(pressure) or ""), (limits, limits), used)


def _version1(host: Host, path: str) -> _Group | None:
    base = f"{V1}{path}/blkio.throttle."
    texts = {name: host.maybe(f"{base}{name}_device") or "" for name in THROTTLES}
    throttles = joined({name: parse_device(text, name) for name, text in texts.items()})
    if not throttles:
        return None
    requests, moved = host.maybe(f"{base}io_serviced"), host.maybe(f"{base}io_service_bytes")
    pressure = f"{UNIFIED}{path}/io.pressure"
    text = (host.maybe(pressure) or "") if path else ""
    reads, writes = (
        next(
            (f"{base}{way}_{unit}_device" for unit in ("iops", "bps") if texts[f"{way}_{unit}"]),
            f"{base}{way}_bps_device",
        )
        for way in (READ, WRITE)
    )
    known = requests is not None and moved is not None
    return _Group(
        path, throttles, requests if known else None, moved, (pressure, text), (reads, writes), f"{base}io_serviced"
    )


CGROUPS = Collector(
    "cgroups",
    "I/O limits of cgroups",
    read,
    (Limit,),
    (
        Question(QUESTION, "which control groups have limits on block devices", "", limited_groups, AGAIN),
        Need(f"{ROOT}/*", "the limits, what passed, and how long tasks waited", filled=("io.pressure",)),
        Need(f"list:{ROOT}*", "control groups, if their limits cannot be queried"),
        Need("link:/sys/dev/block/*", "name of the limited device"),
        Need("/sys/block/*/dev", "name of the limited device, if a capture lacks the link"),
        Need("list:/sys/block", "name of the limited device, if a capture lacks the link"),
    ),
    deadline=4.0,
    derives=(USE,),
    eager=True,
)
