"""States of iSCSI sessions and NVMe controllers, once a second: one file each."""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collectors.network.peer_readings import ISCSI, NVME, SessionState
from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Host
from sdstop.core.model import Reading


def read(host: Host) -> Iterable[Reading]:
    """Yield the state of each iSCSI session and NVMe controller."""
    for folder in (ISCSI, NVME):
        for name in host.names(folder):
            yield SessionState(name, host.maybe(f"{folder}/{name}/state") or None)


SESSION_STATES = Collector(
    "session-states",
    "States of storage sessions",
    read,
    (SessionState,),
    (
        Need(f"list:{ISCSI}", "which iSCSI sessions there are"),
        Need(f"{ISCSI}/*/state", "whether iSCSI sessions are logged in", filled=True),
        Need(f"list:{NVME}", "which NVMe controllers there are"),
        Need(f"{NVME}/*/state", "whether NVMe controllers are live", filled=True),
    ),
    LIVE,
)
