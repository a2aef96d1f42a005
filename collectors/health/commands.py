"""Commands that the SCSI layer completed, failed and timed out, by disk.

The count of errors includes harmless ones: commands that a disk does not support, and the sense data of each SMART
query through a SATA translation layer. Timeouts have no harmless cause.
"""

from __future__ import annotations

from collections.abc import Iterable

from sdstop.collectors.health.readings import BLOCK, FILES, ScsiCommands
from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.host import Absent, Host
from sdstop.core.model import Reading


def read(host: Host) -> Iterable[Reading]:
    """Return the counts of all SCSI disks. Raises Absent without one."""
    rows = []
    names = host.names(BLOCK)
    for entry in names:
        if entry.startswith("sd"):
            counts = [host.number(f"{BLOCK}/{entry}/device/{file}") for file in FILES.values()]
            if any(count is not None for count in counts):
                rows.append(ScsiCommands(entry, *counts))
    if not rows:
        raise Absent(f"{BLOCK}/*/device/ioerr_cnt", "no SCSI disk", recorded=bool(names))
    return rows


COMMANDS = Collector(
    "scsi-commands",
    "Commands of SCSI disks",
    read,
    (ScsiCommands,),
    (
        Need(f"list:{BLOCK}", "which disks there are"),
        Need(f"{BLOCK}/*/device/io*_cnt", "commands completed, failed and timed out", filled=True),
    ),
    SLOW,
    deadline=15.0,
)
