"""States of iSCSI sessions and NVMe controllers, once a second: one file each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from sdstop.collectors.network.sessions import ISCSI, NVME
from sdstop.core.collector import LIVE, Collector, Need
from sdstop.core.host import Host
from sdstop.core.joins import Identity, Naming
from sdstop.core.model import Fact, Label, Name, Reading, Source, State


class SessionState(Reading, frozen=True):
    """State of an iSCSI session or NVMe controller (of PCIe too).

    iSCSI: LOGGED_IN, FAILED, FREE (drivers/scsi/scsi_transport_iscsi.c: iscsi_session_state_names). NVMe: new, live,
    resetting, connecting, deleting, deleting (no IO), dead (drivers/nvme/host/sysfs.c: nvme_sysfs_show_state).
    """

    family: ClassVar[str] = "session_state"
    title: ClassVar[str] = "States of storage sessions"
    exported: ClassVar[bool] = False  # of sessions it is exported with them
    things: ClassVar = {
        "session": Identity(None, Naming.SESSION),
    }

    session: Annotated[str, Label("Session", "Its name in sysfs: session1, nvme0", plain=True)]
    state: Annotated[
        str | None,
        State("State", "State of the session: LOGGED_IN, FAILED, FREE; live, connecting, resetting, dead ..."),
    ]
    told: Annotated[str | None, Fact("Source", "Output that shows it", export=False, names=Name.EVIDENCE)] = None
    needle: Annotated[str, Fact("Line", "Marks it in the output", export=False, names=Name.EVIDENCE)] = ""

    def source(self, field: str = "") -> Source | None:
        """Return the state file, or the line of an output."""
        del field
        if self.told is not None:
            return Source(self.told, self.needle)
        return Source(f"{ISCSI if self.session.startswith('session') else NVME}/{self.session}/state")


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
