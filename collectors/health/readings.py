"""Health of disks, as the disks report it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from sdstop.core.format import number as short
from sdstop.core.format import plural, quantity
from sdstop.core.joins import Identity, Join, Naming, Relation, ThingKind
from sdstop.core.model import Fact, Kind, Label, Metric, Name, Reading, Source, State, Unplaced, files

ANSWERED = "answered"
STANDBY = "standby"
SKIPPED = "not asked"
UNSUPPORTED = "unsupported"
FAILED = "failed"
SILENT = "timed out"
UNREAD = "unread"


class DiskHealth(Reading, frozen=True, kw_only=True):
    """A disk's own account of its health: SMART data of ATA and SCSI disks, the health log of NVMe ones.

    All counts are lifetime totals. Raw values of SMART attributes have no common definition; those used here have the
    same meaning with all vendors: 5, 187, 197, 198 and 199, by the names of smartmontools' drive database
    (ATA8-ACS defines none of them). Of NVMe disks the health log of the NVMe base specification (log page 02h) is
    used, without its number of error log entries, which also counts commands that a disk does not support.
    """

    family: ClassVar[str] = "disk_health"
    title: ClassVar[str] = "Disk health"
    remarked: ClassVar[str] = "disk health"
    things: ClassVar = {"device": Identity(None, Naming.DEV)}

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    state: Annotated[
        str,
        State(
            "Answer",
            "Answer of the disk: answered, standby, not asked, unsupported, failed, timed out, unread",
            detail=True,
        ),
    ]
    reason: Annotated[str | None, Fact("Reason", "Reason for missing data", export=False, names=Name.TEXT)] = None
    protocol: Annotated[str | None, Fact("Protocol", "ATA, SCSI or NVMe", plain=True)] = None
    model: Annotated[str | None, Fact("Model", "Model as the disk reports it", plain=True)] = None
    serial: Annotated[str | None, Fact("Serial", "Serial number", export=False, names=Name.SERIAL)] = None
    passed: Annotated[bool | None, Metric("Passed", "Whether the disk's own assessment is good")] = None
    verdict: Annotated[str | None, Fact("Verdict", "The disk's warning, if it has one", plain=True)] = None
    critical_warning: Annotated[
        int | None,
        Metric(
            "Warning bits",
            "Critical warning of an NVMe disk; 1: spare, 2: temperature, 4: reliability, 8: read-only, 16: cache",
            exact=True,
        ),
    ] = None
    temperature: Annotated[float | None, Metric("Temperature", "Temperature", "celsius", detail=True)] = None
    warm: Annotated[
        float | None, Metric("Warm at", "Temperature from which the disk warns", "celsius", detail=True)
    ] = None
    hot: Annotated[
        float | None, Metric("Hot at", "Temperature that the disk calls critical", "celsius", detail=True)
    ] = None
    used: Annotated[float | None, Metric("Used", "Rated endurance used up; may exceed 100%", "ratio")] = None
    spare: Annotated[float | None, Metric("Spare", "Spare blocks left", "ratio")] = None
    spare_limit: Annotated[
        float | None, Metric("Spare limit", "Spare blocks below which the disk warns", "ratio", detail=True)
    ] = None
    pending: Annotated[
        int | None, Metric("Pending", "Sectors that cannot be read at present (attribute 197)", exact=True)
    ] = None
    offline_uncorrectable: Annotated[
        int | None,
        Metric("Offline bad", "Sectors that a self-check could not read (attribute 198)", exact=True, detail=True),
    ] = None
    uncorrected: Annotated[
        int | None,
        Metric("Uncorrected", "Reads and writes that failed (attribute 187; NVMe media errors; SCSI errors)",
               kind=Kind.COUNTER, exact=True),
    ] = None  # fmt: skip
    reallocated: Annotated[
        int | None,
        Metric("Reallocated", "Sectors replaced by spare ones (attribute 5; SCSI grown defects)", kind=Kind.COUNTER,
               exact=True, detail=True),
    ] = None  # fmt: skip
    crc_errors: Annotated[
        int | None,
        Metric("CRC errors", "Frames damaged on the link (attribute 199)", kind=Kind.COUNTER, exact=True),
    ] = None  # fmt: skip
    failing: Annotated[
        str | None, Fact("Failing", "SMART attributes below their threshold now, comma-separated", plain=True)
    ] = None
    selftest: Annotated[str | None, Fact("Self-test", "Result of the newest completed self-test", plain=True)] = None
    selftest_passed: Annotated[
        bool | None, Metric("Self-test passed", "Whether the newest completed self-test passed", detail=True)
    ] = None
    selftest_age: Annotated[
        float | None,
        Metric("Self-test age", "Power-on time since the newest completed self-test", "seconds", detail=True),
    ] = None
    error_age: Annotated[
        float | None,
        Metric("Last error", "Power-on time since the newest entry of the ATA error log", "seconds", detail=True),
    ] = None
    power_on: Annotated[
        float | None,
        Metric("Power-on time", "Time that the disk was powered", "seconds", kind=Kind.COUNTER, detail=True),
    ] = None
    flash: Annotated[bool | None, Metric("Flash", "Whether the disk has no rotating medium", detail=True)] = None
    protected: Annotated[
        bool | None,
        Metric("Protected", "Whether the disk has capacitors that protect its cache from a loss of power", detail=True),
    ] = None
    told: Annotated[str, Fact("Source", "Evidence", export=False, names=Name.EVIDENCE)]
    form: Annotated[
        str | None, Fact("Form", "Form of the evidence: json, text, or log (of nvme)", export=False, plain=True)
    ] = None
    attributes: Annotated[
        str | None, Fact("Attributes", "Whether counts of errors are part of the answer", export=False, plain=True)
    ] = None

    def source(self, field: str = "") -> Source | None:
        """Return the output that the row was read from, and the words before the value of a field."""
        if field in {"selftest", "failing"}:
            return Source(self.told, (getattr(self, field) or "").partition(",")[0])
        names = _NEEDLES.get(f"{self.protocol} {self.form}", {})
        return Source(self.told, names.get(field, names.get("passed", "")))

    def remark(self) -> str:
        """Return the disk's assessment with the counts of errors, and its temperature."""
        if self.state != ANSWERED:
            return f"unknown: {self.state}"
        word = "no assessment" if self.passed is None else "passed" if self.passed else "FAILING"
        counts = (
            ("pending", self.pending), ("uncorrected", self.uncorrected), ("reallocated", self.reallocated),
            ("CRC errors", self.crc_errors),
        )  # fmt: skip
        said = [f"{number} {name}" for name, number in counts if number]
        known = any(number is not None for _, number in counts)
        said = said or (["no errors counted"] if known else [])
        said += (
            [f"{quantity(self.used, 'ratio')} of endurance used"]
            if self.used is not None and self.used >= _WORTH
            else []
        )
        said += [quantity(self.temperature, "celsius")] if self.temperature is not None else []
        return ", ".join([word, *said])


class DiskErrorCount(Reading, frozen=True):
    """Lifetime error counts of a disk that answered, kept for a day: whether they grow needs two answers."""

    family: ClassVar[str] = "disk_error_count"
    title: ClassVar[str] = "Disk error counts"
    exported: ClassVar[bool] = False
    remembered: ClassVar[int] = 64
    rows_of = Unplaced("the counts are those of disk_health")
    things: ClassVar = {"device": Identity(None, Naming.DEV)}

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    serial: Annotated[str | None, Fact("Serial", "Serial number", export=False, names=Name.SERIAL)]
    pending: Annotated[int | None, Metric("Pending", "Sectors that cannot be read at present", exact=True)]
    uncorrected: Annotated[int | None, Metric("Uncorrected", "Reads and writes that failed", exact=True)]
    reallocated: Annotated[int | None, Metric("Reallocated", "Sectors replaced by spare ones", exact=True)]
    crc_errors: Annotated[int | None, Metric("CRC errors", "Frames damaged on the link", exact=True)]


_WORTH = 0.5
"""Share of the endurance from which a remark states it."""
_ATA = {
    "pending": "Current_Pending_Sector",
    "offline_uncorrectable": "Offline_Uncorrectable",
    "uncorrected": "Reported_Uncorrect",
    "reallocated": "Reallocated_Sector_Ct",
    "crc_errors": "UDMA_CRC_Error_Count",
}
_NEEDLES = {
    "ATA json": {"passed": "smart_status", "temperature": '"temperature"', **_ATA},
    "ATA text": {"passed": "self-assessment", "temperature": "Temperature_Celsius", **_ATA},
    "SCSI json": {
        "passed": "smart_status",
        "reallocated": "scsi_grown_defect_list",
        "uncorrected": "scsi_error_counter_log",
        "pending": "scsi_pending_defects",
        "temperature": '"temperature"',
        "used": "scsi_percentage_used_endurance_indicator",
    },
    "SCSI text": {
        "passed": "SMART Health Status",
        "reallocated": "grown defect list",
        "uncorrected": "read: ",
        "temperature": "Drive Temperature",
        "used": "endurance",
    },
    "NVMe json": {
        "passed": "critical_warning",
        "critical_warning": "critical_warning",
        "spare": '"avail',
        "used": '"percent',
        "uncorrected": "media_errors",
        "temperature": '"temperature"',
    },
    "NVMe text": {
        "passed": "Critical Warning",
        "critical_warning": "Critical Warning",
        "spare": "Available Spare",
        "used": "Percentage Used",
        "uncorrected": "Media and Data Integrity Errors",
        "temperature": "Temperature:",
    },
    "NVMe log": {
        "passed": "critical_warning",
        "critical_warning": "critical_warning",
        "spare": "available_spare",
        "used": "percentage_used",
        "uncorrected": "media_errors",
        "temperature": "temperature",
    },
}
"""Words before the value of a field, by protocol and form of the evidence; the log is the text of nvme-cli."""


BLOCK = "/sys/block"

FILES = {"completed": "iodone_cnt", "errors": "ioerr_cnt", "timeouts": "iotmo_cnt"}

_COMMANDS = 1000
"""Commands for each error from which the errors are worth a remark."""


class ScsiCommands(Reading, frozen=True):
    """Commands of a SCSI disk since it was found (kernel drivers/scsi/scsi_sysfs.c; timeouts since Linux 6.2)."""

    family: ClassVar[str] = "scsi_commands"
    title: ClassVar[str] = "SCSI commands"
    remarked: ClassVar[str] = "SCSI errors"
    rows_of = Source(f"{BLOCK}/{{device}}/device/ioerr_cnt")
    fields_of: ClassVar = files(f"{BLOCK}/{{device}}/device", **FILES)
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
        many = self.errors is not None and self.completed is not None and self.errors * _COMMANDS > self.completed
        if not self.timeouts and not (many and self.errors):
            return ""
        said = [plural(self.timeouts, "timeout")] if self.timeouts else []
        said += [f"{self.errors} of {short(self.completed)} commands with errors"] if self.errors else []
        return f"{', '.join(said)} since it was found"


ENCLOSURES = "/sys/class/enclosure"


class EnclosureSlot(Reading, frozen=True, kw_only=True):
    """A slot of an enclosure. The LEDs are those for fault and locate (IDENT), as the enclosure reports them."""

    family: ClassVar[str] = "enclosure_slot"
    title: ClassVar[str] = "Enclosure slots"
    remarked: ClassVar[str] = "slot"
    rows_of = Source(f"{ENCLOSURES}/{{address}}/{{slot}}/status")
    fields_of: ClassVar = {name: Source(f"{ENCLOSURES}/{{address}}/{{slot}}/{name}") for name in ("fault", "locate")}
    things: ClassVar = {
        "device": Identity(None, Naming.DEV),
        "bay": Identity(ThingKind.SLOT, Naming.ENCLOSURE, "{enclosure}/{number}"),
        "enclosure": Identity(ThingKind.ENCLOSURE, Naming.ENCLOSURE),
    }
    joins = (Join("device", "bay|enclosure", Relation.LOCATED), Join("bay", "enclosure", Relation.PART))

    address: Annotated[str, Label("Enclosure", "SCSI address of its processor", plain=True)]
    slot: Annotated[str, Label("Slot", "Name of the slot", plain=True)]
    enclosure: Annotated[str, Fact("Identifier", "Identifier of the enclosure", export=False, names=Name.IDENTIFIER)]
    number: Annotated[int | None, Metric("Number", "Number of the slot", export=False, exact=True)] = None
    device: Annotated[str | None, Fact("Device", "Kernel name of the disk in the slot", names=Name.DEVICE)] = None
    status: Annotated[
        str | None, State("Status", "OK, critical, non-critical, unrecoverable, not installed, unknown, unavailable")
    ] = None
    fault: Annotated[bool | None, Metric("Fault LED", "Whether a fault is signaled")] = None
    locate: Annotated[bool | None, Metric("Locate LED", "Whether the locate LED is lit")] = None

    def remark(self) -> str:
        """Return the slot, its status and the LEDs that are lit."""
        said = [f"{self.slot} of enclosure {self.address}"]
        said += [f"status {self.status}"] if self.status not in {None, "OK"} else []
        said += ["fault LED on"] if self.fault else []
        said += ["locate LED on"] if self.locate else []
        return ", ".join(said)


class SurfaceTest(Reading, frozen=True, kw_only=True):
    """A test of a disk, or of a part of it, by badblocks, as its output shows it."""

    family: ClassVar[str] = "surface_test"
    title: ClassVar[str] = "Tests of whole disks"
    rows_of = (Source("{told}", "{needle}"), Source("{told}"))
    things: ClassVar = {"device": Identity(None, Naming.DEV)}

    device: Annotated[str, Label("Device", "Kernel name of the device", names=Name.DEVICE)]
    mode: Annotated[str | None, State("Mode", "Test: read, write, non-destructive")] = None
    finished: Annotated[bool, Metric("Finished", "Whether a pass was finished and none was interrupted")] = False
    bad: Annotated[int | None, Metric("Bad blocks", "Blocks that failed, in the worst pass", export=False)] = None
    read_errors: Annotated[int | None, Metric("Read errors", "Errors of reading", export=False)] = None
    write_errors: Annotated[int | None, Metric("Write errors", "Errors of writing", export=False)] = None
    compare_errors: Annotated[
        int | None, Metric("Compare errors", "Blocks read with other data than was written", export=False)
    ] = None
    blocks: Annotated[int | None, Metric("Blocks", "Blocks in the tested range", export=False)] = None
    told: Annotated[str, Fact("Evidence", "Key of the evidence", export=False, names=Name.EVIDENCE)]
    needle: Annotated[str, Fact("Line", "Marks it in the output", export=False, names=Name.EVIDENCE)] = ""


class DiskMedium(Reading, frozen=True):
    """Recording of a disk, where anything is known of it."""

    family: ClassVar[str] = "disk_medium"
    title: ClassVar[str] = "Disk media"
    remarked: ClassVar[str] = "recording"
    rows_of = Source(f"{BLOCK}/{{device}}/queue/zoned")
    fields_of: ClassVar = files(f"{BLOCK}/{{device}}/device", known_by="model")
    things: ClassVar = {"device": Identity(None, Naming.DEV)}

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    recording: Annotated[
        str,
        Fact(
            "Recording",
            "not zoned; SMR, host-managed, host-aware or drive-managed",
            plain=True,
            detail=True,
        ),
    ]
    known_by: Annotated[str, Fact("Known by", "zoned, VPD page or model", plain=True, detail=True)]

    def remark(self) -> str:
        """Return the recording if it is shingled."""
        return f"{self.recording} ({self.known_by})" if self.recording.startswith("SMR") else ""


HWMON = "/sys/class/hwmon"


class DiskTemperature(Reading, frozen=True):
    """Temperature of a disk and the limits that it reports (kernel drivers/nvme/host/hwmon.c, hwmon/drivetemp.c)."""

    family: ClassVar[str] = "disk_temperature"
    title: ClassVar[str] = "Disk temperatures"
    remarked: ClassVar[str] = "temperature"
    rows_of = Source(f"{HWMON}/{{sensor}}/temp1_input")
    fields_of: ClassVar = files(f"{HWMON}/{{sensor}}", warm="temp1_max", hot="temp1_crit")
    things: ClassVar = {"device": Identity(None, Naming.DEV)}

    device: Annotated[str, Label("Device", "Kernel name", names=Name.DEVICE)]
    driver: Annotated[str, Fact("Driver", "nvme or drivetemp", plain=True, detail=True)]
    sensor: Annotated[str, Fact("Sensor", "Directory of the sensor (hwmonN)", export=False, plain=True)]
    temperature: Annotated[float, Metric("Temperature", "Temperature", "celsius")]
    warm: Annotated[float | None, Metric("Warm at", "Temperature from which the disk warns", "celsius", detail=True)]
    hot: Annotated[float | None, Metric("Hot at", "Temperature that the disk calls critical", "celsius", detail=True)]

    def remark(self) -> str:
        """Return the temperature with its limit."""
        limit = self.warm or self.hot
        return quantity(self.temperature, "celsius") + (f", limit {quantity(limit, 'celsius')}" if limit else "")
