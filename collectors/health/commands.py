"""Commands that the SCSI layer completed, failed and timed out, by disk.

The count of errors includes harmless ones: commands that a disk does not support, and the sense data of each SMART
query through a SATA translation layer. Timeouts have no harmless cause.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar

from sdstop.core.collector import SLOW, Collector, Need
from sdstop.core.format import number as short
from sdstop.core.format import plural
from sdstop.core.host import Absent, Host
from sdstop.core.joins import Identity, Naming
from sdstop.core.model import Kind, Label, Metric, Name, Reading, Source, files

BLOCK = "/sys/block"
_FILES = {"completed": "iodone_cnt", "errors": "ioerr_cnt", "timeouts": "iotmo_cnt"}
_WORTH = 1000
"""Commands for each error from which the errors are worth a remark."""


class ScsiCommands(Reading, frozen=True):
    """Commands of a SCSI disk since it was found (kernel drivers/scsi/scsi_sysfs.c; timeouts since Linux 6.2)."""

    family: ClassVar[str] = "scsi_commands"
    title: ClassVar[str] = "SCSI commands"
    remarked: ClassVar[str] = "SCSI errors"
    rows_of = Source(f"{BLOCK}/{{device}}/device/ioerr_cnt")
    fields_of: ClassVar = files(f"{BLOCK}/{{device}}/device", **_FILES)
    things: ClassVar = {"device": Identity(None, Naming.DEV)}

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    completed: Annotated[int | None, Metric("Completed", "Commands completed", kind=Kind.COUNTER, detail=True)]
    errors: Annotated[
        int | None, Metric("Errors", "Commands with an error, harmless ones included", kind=Kind.COUNTER, exact=True)
    ]
    timeouts: Annotated[
        int | None, Metric("Timeouts", "Commands that timed out", kind=Kind.COUNTER, exact=True, detail=True)
    ]

    def remark(self) -> str:
        """Return the timeouts, and the errors if they are more than a few."""
        many = self.errors is not None and self.completed is not None and self.errors * _WORTH > self.completed
        if not self.timeouts and not (many and self.errors):
            return ""
        said = [plural(self.timeouts, "timeout")] if self.timeouts else []
        said += [f"{self.errors} of {short(self.completed)} commands with errors"] if self.errors else []
        return f"{', '.join(said)} since it was found"


def read(host: Host) -> Iterable[Reading]:
    """Return the counts of all SCSI disks. Raises Absent without one."""
    rows = []
    names = host.names(BLOCK)
    for entry in names:
        if entry.startswith("sd"):
            counts = [host.number(f"{BLOCK}/{entry}/device/{file}") for file in _FILES.values()]
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
