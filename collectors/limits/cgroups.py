"""Control group limits on block devices (io.max, or blkio.throttle of version 1), and their usage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sdstop.collectors.limits.controlgroup import (
    OWN_FILES,
    ROOT,
    THROTTLES,
    UNIFIED,
    V1,
    GroupIoTotals,
    Throttles,
    group_name,
    joined,
    parse_device,
    parse_max,
    parse_pressure,
    parse_service,
    parse_stat,
)
from sdstop.core.collector import Collector, Need, Question
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
    """Return a row for each group, device and direction with a limit. Raise Absent if no group has one."""
    v2, v1 = _limited(host)
    rows = [row for path in v2 for row in _version2(host, path)]
    rows += [row for path in v1 for row in _version1(host, path)]
    if not rows:
        raise Absent(ROOT, "no cgroup I/O limits")
    return rows


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


def _version2(host: Host, path: str) -> Iterator[Limit]:
    base = f"{ROOT}{path}"
    throttles = parse_max(host.maybe(f"{base}/io.max") or "")
    if not throttles:
        return
    stat = host.maybe(f"{base}/io.stat")
    passed = parse_stat(stat) if stat is not None else None
    pressure = parse_pressure(host.maybe(f"{base}/io.pressure") or "")
    origins = dict.fromkeys((READ, WRITE), f"{base}/io.max")
    yield from _rows(host, path, throttles, passed, pressure, origins, f"{base}/io.stat")


def _version1(host: Host, path: str) -> Iterator[Limit]:
    base = f"{V1}{path}/blkio.throttle."
    texts = {name: host.maybe(f"{base}{name}_device") or "" for name in THROTTLES}
    throttles = joined({name: parse_device(text, name) for name, text in texts.items()})
    if not throttles:
        return
    requests, moved = host.maybe(f"{base}io_serviced"), host.maybe(f"{base}io_service_bytes")
    passed = None
    if requests is not None and moved is not None:
        counts, sizes = parse_service(requests, "io_serviced"), parse_service(moved, "io_service_bytes")
        passed = {
            number: GroupIoTotals(
                counts[number][0], sizes.get(number, (0, 0))[0], counts[number][1], sizes.get(number, (0, 0))[1]
            )
            for number in counts
        }
    pressure = parse_pressure(host.maybe(f"{UNIFIED}{path}/io.pressure") or "") if path else None
    origins = {
        way: next(
            (f"{base}{way}_{unit}_device" for unit in ("iops", "bps") if texts[f"{way}_{unit}"]),
            f"{base}{way}_bps_device",
        )
        for way in (READ, WRITE)
    }
    yield from _rows(host, path, throttles, passed, pressure, origins, f"{base}io_serviced")


def _rows(
    host: Host,
    path: str,
    throttles: Throttles,
    passed: Mapping[str, GroupIoTotals] | None,
    pressure: float | None,
    origins: Mapping[str, str],
    used: str,
) -> Iterator[Limit]:
    for number, ways in throttles.items():
        name = host.target(f"/sys/dev/block/{number}") or _called(host, number)
        device = device_name(name) if name else number
        # A device without a line in io.stat received no requests from this group.
        done = passed.get(number, GroupIoTotals()) if passed is not None else None
        for way, throttle in zip((READ, WRITE), ways, strict=True):
            if throttle.is_set:
                requests = None if done is None else done.reads if way == READ else done.writes
                moved = None if done is None else done.read_bytes if way == READ else done.write_bytes
                yield Limit(
                    device, group_name(path), CGROUP, way, limited(throttle.iops, throttle.bytes),
                    throttle.iops, throttle.bytes, device=device, used_requests=requests, used_bytes=moved,
                    stalled=pressure, origin=origins[way], needle=f"{number} ",
                    used_origin=used if done is not None else "",
                )  # fmt: skip


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
)
