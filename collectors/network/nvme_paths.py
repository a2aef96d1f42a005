"""Paths of native NVMe multipath: the controllers that lead to a namespace, and the access that each one reports."""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collectors.network.peer_readings import BLOCK, NVME, SUBSYSTEMS, NvmePath
from sdstop.core.collector import Collector, Need
from sdstop.core.expression import expression
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading

PACE = 5.0
"""Seconds between runs."""

_PATH = expression(r"nvme(\d{1,9})c(\d{1,9})n(\d{1,9})")


def read(host: Host) -> Iterable[Reading]:
    """Return a row for each path. Raises Absent without any."""
    entries = host.entries(BLOCK)
    found = [match for entry in entries if (match := _PATH.fullmatch(entry)) is not None]
    if not found:
        raise Absent(f"list:{BLOCK}", "no NVMe namespace with several controllers")
    policies = {
        number: host.maybe(f"{SUBSYSTEMS}/nvme-subsys{number}/iopolicy") or None
        for number in dict.fromkeys(match[1] for match in found)
    }
    states = {
        number: host.maybe(f"{NVME}/nvme{number}/state") or None
        for number in dict.fromkeys(match[2] for match in found)
    }
    return [
        NvmePath(
            path=match[0],
            device=f"nvme{match[1]}n{match[3]}",
            controller=f"nvme{match[2]}",
            subsystem=f"nvme-subsys{match[1]}",
            state=states[match[2]],
            access=host.maybe(f"{BLOCK}/{match[0]}/ana_state") or None,
            policy=policies[match[1]],
        )
        for match in found
    ]


NVME_PATHS = Collector(
    "nvme-paths",
    "Paths of native NVMe multipath",
    read,
    (NvmePath,),
    (
        Need(f"list:{BLOCK}", "which paths there are"),
        Need(f"{NVME}/*/state", "whether a path's controller is live", filled=True),
        Need(f"{BLOCK}/nvme*/ana_state", "access that a controller reports", filled=True),
        Need(f"{SUBSYSTEMS}/*/iopolicy", "choice among the paths", filled=True),
    ),
    PACE,
    deadline=5.0,
)
