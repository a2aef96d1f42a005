"""Paths of NVMe namespaces with native multipath: whether the target serves the namespace by each controller.

Asymmetric namespace access (ANA, NVMe base specification 2.0, 8.1): a controller can be live and its target refuse the
namespace there. With no path that is served, the kernel holds every request, and each controller still looks healthy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, ClassVar

from sdstop.collectors.network.sessions import NVME
from sdstop.core.collector import Collector, Need
from sdstop.core.host import Absent, Host
from sdstop.core.joins import Identity, Naming, ThingKind
from sdstop.core.model import Fact, Label, Name, Reading, Source, State

PACE = 5.0
_PATH = re.compile(r"(nvme[0-9]+)c[0-9]+(n[0-9]+)")


class NvmePath(Reading, frozen=True):
    """A path to an NVMe namespace by one controller, of targets that report ANA.

    States (drivers/nvme/host/multipath.c: nvme_ana_state_names): optimized, non-optimized, inaccessible,
    persistent-loss, change.
    """

    family: ClassVar[str] = "nvme_path"
    title: ClassVar[str] = "Paths of NVMe namespaces"
    rows_of = Source(f"{NVME}/{{controller}}/{{path}}/ana_state")
    things: ClassVar = {
        "namespace": Identity(ThingKind.DEVICE, Naming.DEV),
        "controller": Identity(ThingKind.SESSION, Naming.SESSION),
    }

    path: Annotated[str, Label("Path", "Its name in sysfs: nvme0c1n1", names=Name.DEVICE)]
    controller: Annotated[str, Fact("Controller", "Controller of the path: nvme1", plain=True)]
    namespace: Annotated[str, Fact("Namespace", "Device above all paths: nvme0n1", names=Name.DEVICE)]
    state: Annotated[
        str | None,
        State("ANA state", "State that the target reports: optimized, non-optimized, inaccessible ..."),
    ]


def read(host: Host) -> Iterable[NvmePath]:
    """Yield the paths of all controllers whose targets report ANA. Raises Absent without any.

    /sys/class/nvme/nvme1/nvme0c1n1/ana_state holds `optimized`.
    """
    found = []
    for controller in host.names(NVME):
        for name in host.names(f"{NVME}/{controller}"):
            match = _PATH.fullmatch(name)
            state = host.maybe(f"{NVME}/{controller}/{name}/ana_state") if match is not None else None
            if match is not None and state is not None:
                found.append(NvmePath(name, controller, match[1] + match[2], state or None))
    if not found:
        raise Absent(f"{NVME}/*/nvme*c*n*/ana_state", "no NVMe namespace with several paths")
    return found


NVME_PATHS = Collector(
    "nvme-paths",
    "Paths of NVMe namespaces",
    read,
    (NvmePath,),
    (
        Need(f"list:{NVME}", "which NVMe controllers there are"),
        Need(f"list:{NVME}/*", "paths of a controller"),
        Need(f"{NVME}/*/nvme*/ana_state", "whether the target serves a namespace there", filled=True),
    ),
    PACE,
)
