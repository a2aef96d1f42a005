"""Storage services at the limits of their control group: processor time, memory, and number of tasks.

Formats: Documentation/admin-guide/cgroup-v2.rst of the kernel (cpu.max, cpu.stat, memory.max, memory.events,
memory.pressure, pids.max, pids.events), and scheduler/sched-bwc.rst for cpu.cfs_quota_us and cpu.stat of version 1. The
groups of a node are many, and few have both a limit and a storage service; only these are recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sdstop.collectors.limits.controlgroup import OWN_FILES, ROOT, parse_pressure
from sdstop.collectors.limits.readings import SERVICES_QUESTION, ServiceGroup
from sdstop.core.collector import Collector, Need, Question
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Failed, Host, Malformed, TimedOut, Unreadable
from sdstop.core.model import Reading
from sdstop.core.text import json_number, json_text, json_whole

PACE = 5.0
"""Seconds between two runs."""
AGAIN = 60.0
"""Seconds after which the groups are searched for limits, if any were added or removed."""
ALWAYS = 600.0
"""Seconds after which they are searched anyway: a limit can be set while a service runs."""
MOST = 20_000
"""Maximum number of groups searched."""
_CPU_V1 = ("/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu")
_TASKS = 256
"""Maximum number of processes of a group whose names are read."""

_SERVICES = expression(
    r"(?:ceph-(?:osd|mon|mds|mgr)|radosgw|smbd|winbindd|ctdbd?|ganesha\.nfsd|rpc\.(?:nfsd|mountd|statd)|nfsdcld|gluster(?:d|fsd|fs)"
    r"|tgtd|iscsid|multipathd|spdk_tgt|nvmf_tgt|reactor_0|qemu-(?:system-|kvm|nbd).*|kvm|zed|dmeventd|mdadm|drbdadm"
    r"|corosync|pacemakerd?|sbd|minio|vblade|aoe(?:tools|cfgd)?|sds|mdm|lia|virtiofsd|qemu-storage-d.*"
    r"|lvmlockd|sanlock|dlm_controld|ietd|scst.*|beegfs-.*|lizardfs|mfschunkserver|weed|garage|linstor.*)",
)
"""Names of programs (comm, at most 15 characters) that serve storage or that clusters of it need."""
_UNIT = expression(r"(?:^|/)([\w.-]+?)(?:@[^/]*)?\.(?:service|scope)$")
_QEMU = expression(r"qemu-.*|kvm")


class ServiceSearch:
    """Answer to the question; remembers the groups with a limit between two searches.

    A search of 200 groups takes 18 ms of CPU, and the names of the groups in their slices 1 ms.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start without groups; `clock` returns seconds."""
        self._clock = clock
        self._found: Mapping[str, tuple[str, ...]] | None = None
        self._names: frozenset[str] = frozenset()
        self._looked = self._searched = 0.0

    def __call__(self, host: Host) -> list[dict[str, Any]]:
        """Return the limited groups with a storage service, each with its limits and counters."""
        now = self._clock()
        if self._found is None or now - self._looked >= AGAIN:
            names = _in_slices(host)
            if self._found is None or names != self._names or now - self._searched >= ALWAYS:
                self._found, self._searched = search(host), now
            self._looked, self._names = now, names
        return [_counted(host, base, programs) for base, programs in self._found.items()]


def _in_slices(host: Host) -> frozenset[str]:
    """Return the groups in all slices but those of users, who start and end sessions all the time."""
    found = [top for top in (ROOT, *_CPU_V1) if host.names(top)]
    for folder in found:  # grows while it is read
        if folder.endswith(".slice") or folder in {ROOT, *_CPU_V1}:
            names = (name for name in host.names(folder) if name.endswith(_UNITS) and name != "user.slice")
            found += [f"{folder}/{name}" for name in names]
    return frozenset(found)


_UNITS = (".slice", ".service", ".scope")


def search(host: Host) -> Mapping[str, tuple[str, ...]]:
    """Return the folders of limited groups with the names of the storage services below them.

    Raises Absent without control groups, Failed if there are too many.
    """
    tops = [top for top in (ROOT, *_CPU_V1) if host.names(top)]
    if not tops:
        raise Absent(f"list:{ROOT}", "no control groups are mounted")
    found: dict[str, tuple[str, ...]] = {}
    for top in tops:
        folders = _folders(host, top)
        for folder in folders:
            if folder != top and _is_limited(host, folder):
                programs = _programs(host, [each for each in folders if f"{each}/".startswith(f"{folder}/")])
                if programs:
                    found[folder] = programs
    return found


def _folders(host: Host, top: str) -> list[str]:
    found, queue = [], [top]
    for folder in queue:
        if len(queue) > MOST:
            raise Failed(f"list:{top}", f"more than {MOST} folders")
        names = host.names(folder)
        if names:
            found.append(folder)
            queue += [f"{folder}/{name}" for name in names if not name.startswith(OWN_FILES)]
    return found


def _is_limited(host: Host, folder: str) -> bool:
    if (host.maybe(f"{folder}/cpu.max") or "max").split()[0] != "max":
        return True
    if (host.maybe(f"{folder}/memory.max") or "max").strip() != "max":
        return True
    if (host.number(f"{folder}/cpu.cfs_quota_us") or -1) > 0:
        return True
    return bool(_pairs(host.maybe(f"{folder}/pids.events")).get("max"))


def _programs(host: Host, folders: Sequence[str]) -> tuple[str, ...]:
    """Return the storage services that run in these groups; by the names of units where processes are unknown."""
    names: dict[str, None] = {}
    for folder in folders:
        pids = [word for word in (host.maybe(f"{folder}/cgroup.procs") or "").split() if word.isdecimal()][:_TASKS]
        known = [name for pid in pids if (name := (host.maybe(f"/proc/{pid}/comm") or "").strip())]
        if not known and (unit := _UNIT.search(folder)) is not None:
            known = [unit[1]]
        names |= dict.fromkeys(name for name in known if _SERVICES.fullmatch(name))
    return tuple(names)


def _pairs(text: str | None) -> dict[str, int]:
    """Return the counters of a file with one `name value` a line, such as cpu.stat or memory.events."""
    words = [line.split() for line in (text or "").splitlines()]
    return {pair[0]: int(pair[1]) for pair in words if len(pair) == 2 and pair[1].isdecimal() and len(pair[1]) < 20}


def _counted(host: Host, base: str, programs: tuple[str, ...]) -> dict[str, Any]:
    top = next(top for top in (*_CPU_V1, ROOT) if base.startswith(f"{top}/"))
    said: dict[str, Any] = {"group": base.removeprefix(top), "programs": list(programs)}
    words = (host.maybe(f"{base}/cpu.max") or "max").split()
    if len(words) == 2 and all(word.isdecimal() for word in words) and int(words[1]):
        said["quota"] = int(words[0]) / int(words[1])
    elif (quota := host.number(f"{base}/cpu.cfs_quota_us") or -1) > 0:
        said["quota"] = quota / (host.number(f"{base}/cpu.cfs_period_us") or 100_000)
    if "quota" in said:
        spent = _pairs(host.maybe(f"{base}/cpu.stat"))
        said |= {"periods": spent.get("nr_periods"), "throttled": spent.get("nr_throttled")}
    memory = (host.maybe(f"{base}/memory.max") or "max").strip()
    if memory.isdecimal():
        said |= {
            "memory_max": int(memory),
            "memory_used": host.number(f"{base}/memory.current"),
            "killed": _pairs(host.maybe(f"{base}/memory.events")).get("oom_kill"),
        }
        pressure = host.maybe(f"{base}/memory.pressure")
        if pressure:
            said["memory_stalled"] = parse_pressure(pressure)
    refused = _pairs(host.maybe(f"{base}/pids.events")).get("max")
    if refused:
        said |= {"tasks_max": host.number(f"{base}/pids.max"), "refused": refused}
    return said


def parse(said: Any) -> list[ServiceGroup]:
    """Return the rows of an answer. Raises Malformed.

    [{"group": "/system.slice/ceph-osd@1.service", "programs": ["ceph-osd"], "quota": 2.0,
      "periods": 81203, "throttled": 40110}]
    """
    if not isinstance(said, list):
        raise Malformed(f"{SERVICES_QUESTION}: not a list of groups")
    rows = []
    for each in said:
        group = json_text(each.get("group")) if isinstance(each, Mapping) else None
        programs = each.get("programs") if isinstance(each, Mapping) else None
        if not group or not isinstance(programs, list) or not all(isinstance(name, str) for name in programs):
            raise Malformed(f"{SERVICES_QUESTION}: a group without a name or programs")
        counts = {
            name: json_whole(each.get(name))
            for name in ("periods", "throttled", "memory_max", "memory_used", "killed", "tasks_max", "refused")
        }
        rows.append(
            ServiceGroup(
                group=group,
                programs=", ".join(programs[:_NAMED]),
                machine=all(_QEMU.fullmatch(name) for name in programs),
                quota=json_number(each.get("quota")),
                memory_stalled=json_number(each.get("memory_stalled")),
                **counts,
            )
        )
    return rows


_NAMED = 4
"""Maximum names of programs of a service."""


def read(host: Host) -> Iterable[Reading]:
    """Return the limited groups with a storage service; in captures that have only files, from these.

    Raises Absent if there are none.
    """
    try:
        said = host.answer(SERVICES_QUESTION)
    except TimedOut:
        raise
    except Unreadable:
        said = [_counted(host, base, programs) for base, programs in _recorded(host).items()]
        if not said:
            raise
    rows = parse(said)
    if not rows:
        raise Absent(f"answer:{SERVICES_QUESTION}", "no storage service has a limit")
    return rows


def _recorded(host: Host) -> Mapping[str, tuple[str, ...]]:
    try:
        return search(host)
    except Absent:
        return {}


SERVICES = Collector(
    "services",
    "Storage services with limits",
    read,
    (ServiceGroup,),
    (
        Question(
            SERVICES_QUESTION,
            "limits of the control groups of storage services, and how often they bind",
            "",
            ServiceSearch(),
        ),
        Need(f"{ROOT}/*", "the limits, if they cannot be queried"),
        Need(f"list:{ROOT}*", "control groups, if their limits cannot be queried"),
        Need("/proc/*/comm", "names of the programs of a group, if they cannot be queried"),
    ),
    PACE,
    deadline=10.0,
    eager=True,
)
