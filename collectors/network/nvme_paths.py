"""Paths of native NVMe multipath: the controllers that lead to a namespace, and the access that each one reports."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, ClassVar

from sdstop.core.collector import Collector, Need
from sdstop.core.host import Absent, Host
from sdstop.core.joins import Identity, Naming
from sdstop.core.model import Fact, Label, Name, Reading, Source, State

BLOCK = "/sys/block"
NVME = "/sys/class/nvme"
SUBSYSTEMS = "/sys/class/nvme-subsystem"
PACE = 5.0

LIVE_STATE = "live"
ACCESSIBLE = frozenset({"optimized", "non-optimized"})
"""Access states in which a controller serves requests."""
_PATH = re.compile(r"nvme(\d{1,9})c(\d{1,9})n(\d{1,9})")


class NvmePath(Reading, frozen=True):
    """A path of an NVMe namespace that the kernel reaches through several controllers.

    A hidden block device `nvmeXcYnZ`: subsystem X, controller Y, namespace Z (drivers/nvme/host/multipath.c:
    nvme_mpath_set_disk_name). The access state is only there if the controller reports it (asymmetric namespace
    access): optimized, non-optimized, inaccessible, persistent-loss, change.
    """

    family: ClassVar[str] = "nvme_path"
    title: ClassVar[str] = "NVMe paths"
    fields_of: ClassVar = {
        "access": Source(f"{BLOCK}/{{path}}/ana_state"),
        "policy": Source(f"{SUBSYSTEMS}/{{subsystem}}/iopolicy"),
    }
    rows_of = Source(f"{NVME}/{{controller}}/state")
    things: ClassVar = {
        "path": Identity(None, Naming.DEV),
    }

    path: Annotated[str, Label("Path", "Kernel name of the hidden device: nvme0c1n1", names=Name.DEVICE)]
    device: Annotated[str, Fact("Device", "Device that unites the paths: nvme0n1", names=Name.DEVICE)]
    controller: Annotated[str, Fact("Controller", "Controller of the path: nvme1", plain=True)]
    subsystem: Annotated[str, Fact("Subsystem", "Its name in sysfs: nvme-subsys0", plain=True)]
    state: Annotated[str | None, State("State", "State of the controller: live, connecting, resetting, dead ...")]
    access: Annotated[
        str | None,
        State("Access", "Access that the controller reports: optimized, non-optimized, inaccessible, persistent-loss"),
    ]
    policy: Annotated[
        str | None, Fact("Policy", "Choice among optimized paths: numa, round-robin, queue-depth", plain=True)
    ]

    @property
    def works(self) -> bool:
        """Whether requests can take the path now."""
        return self.state == LIVE_STATE and (self.access is None or self.access in ACCESSIBLE)

    @property
    def failed(self) -> bool:
        """Whether it is a fault that they cannot: a live controller may be inaccessible while another one serves."""
        return self.state != LIVE_STATE or self.access == "persistent-loss"


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
