"""SMART data and NVMe health logs of the node's disks.

Asking a disk is not free: some USB bridges and RAID controllers reset when they get such a command, opening a disk that
the kernel has suspended spins it up, and a disk that hangs holds the program that asks it. Therefore only disks behind
drivers that are known to pass these commands through are asked (ALLOWED), none that sleeps (`smartctl -n standby`, and
the kernel's own power state before the disk is opened), one after the other, twice an hour. A disk that does not answer
in time is left alone for a while. No self-test is started and no setting changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.health import nvme_log, smartctl, smartctl_text
from sdstop.collectors.health.disk_answers import BLOCK, row_of, unknown
from sdstop.collectors.health.readings import (
    ANSWERED,
    FAILED,
    SILENT,
    SKIPPED,
    STANDBY,
    UNREAD,
    UNSUPPORTED,
    DiskErrorCount,
    DiskHealth,
)
from sdstop.collectors.health.recorded_health import recorded_rows
from sdstop.collectors.health.smart_fields import Fields
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.expression import expression
from sdstop.core.form import Form, Several
from sdstop.core.host import Absent, Denied, Host, TimedOut, Unreadable, again
from sdstop.core.model import Reading

HOSTS = "/sys/class/scsi_host"
CONTROLLERS = "/sys/class/nvme"
SUBSYSTEMS = "/sys/class/nvme-subsystem"
PACE = 1800.0
"""Seconds between rounds, as smartd's default."""
PROMPT = 15.0
"""Seconds for the answer of one disk, which needs a fraction of one."""
REST = 6 * 3600.0
"""Seconds without questions to a disk that did not answer in time."""
ROUND = 1200.0
"""Seconds that a round may take."""

ASK = ("smartctl", "--json=c", "-n", "standby", "-a", "-l", "devstat", "*")
ASK_NVME = ("nvme", "smart-log", "*", "-o", "json")
"""Commands; the last `*` is the disk. The second one is for NVMe disks without smartctl."""

ALLOWED = expression(
    r"ahci|acard-ahci|ahci_\w+|ata_piix|ata_generic|pata_\w+|sata_\w+|isci|mptsas|mpt2sas|mpt3sas|mpi3mr|pm80xx|mvsas|"
    r"smartpqi|scsi_debug"
)
"""SCSI host drivers whose disks are asked. Not: USB (bridges that reset), megaraid_sas, aacraid, hpsa, arcmsr and 3w-*
(their disks are asked through the controller's own program), and networks (a remote disk is its owner's)."""
_NO_DISK = expression(r"(?i)logical.?volume|virtual.?(?:disk|drive)|RAID")
_DISK = expression(r"sd[a-z]+")
_NVME = expression(r"nvme(\d+)n(\d+)")


class _Candidate(Struct, frozen=True):
    """A disk that has health data, or why it is not asked: the state of its row, and the reason."""

    device: str
    state: str = ""
    reason: str = ""


def candidates(host: Host) -> Iterator[_Candidate]:
    """Yield the local disks that have health data; of several paths or namespaces of one disk the first."""
    seen = set[str]()
    for entry in sorted(host.names(BLOCK), key=lambda name: (len(name), name)):
        if _DISK.fullmatch(entry):
            found = _scsi(host, entry)
            wide = host.maybe(f"{BLOCK}/{entry}/device/wwid") if found is not None and not found.state else None
        elif match := _NVME.fullmatch(entry):
            found, wide = _nvme(host, entry), f"nvme {match[1]}"
        else:
            continue
        if found is not None and (not wide or wide not in seen):
            seen.update({wide} if wide else ())
            yield found


def _scsi(host: Host, entry: str) -> _Candidate | None:
    device = f"{BLOCK}/{entry}/device"
    number = (host.target(device) or "").partition(":")[0]
    driver = host.maybe(f"{HOSTS}/host{number}/proc_name") if number.isdecimal() else None
    if not driver or driver in _VIRTUAL:
        return None
    if not ALLOWED.fullmatch(driver):
        return _Candidate(entry, SKIPPED, f"driver {driver} is not on the list of those that pass SMART commands")
    if _NO_DISK.search(host.maybe(f"{device}/model") or ""):
        return _Candidate(entry, SKIPPED, "a volume of a RAID controller has no SMART data")
    state = host.maybe(f"{device}/state")
    if state not in {None, "running"}:
        return _Candidate(entry, SKIPPED, f"the kernel's state of the disk is {state}")
    return _awake(host, entry, f"{device}/power/runtime_status")


_VIRTUAL = frozenset({"virtio_scsi", "vmw_pvscsi", "xen_scsi", "storvsc", "hv_storvsc"})
"""Drivers of virtual disks, which have no health."""


def _nvme(host: Host, entry: str) -> _Candidate | None:
    above = host.target(f"{BLOCK}/{entry}/device") or ""
    names = [above]
    if above.startswith("nvme-subsys"):
        names = [name for name in host.names(f"{SUBSYSTEMS}/{above}") if re.fullmatch(r"nvme\d+", name)]
    local = [name for name in names if host.maybe(f"{CONTROLLERS}/{name}/transport") in {"pcie", "apple-nvme"}]
    if not local:
        return None
    state = host.maybe(f"{CONTROLLERS}/{local[0]}/state")
    if state not in {None, "live"}:
        return _Candidate(entry, SKIPPED, f"the state of its controller is {state}")
    return _awake(host, entry, f"{CONTROLLERS}/{local[0]}/device/power/runtime_status")


def _awake(host: Host, entry: str, power: str) -> _Candidate:
    """Return a disk; one that the kernel has suspended would be woken up by opening it."""
    asleep = host.maybe(power) in {"suspended", "suspending"}
    return _Candidate(entry, STANDBY, "suspended by the kernel") if asleep else _Candidate(entry)


def read(host: Host, *, ask: bool = True) -> Iterable[Reading]:
    """Return a row for each disk; with `ask` being false, only what others recorded.

    Raises Absent without any disk that has health data, and Denied without the privilege.
    """
    rows: dict[str, DiskHealth] = {}
    absent: Absent | None = None
    unrecorded: list[str] = []
    for disk in candidates(host):
        if disk.state:
            rows[disk.device] = unknown(disk.device, disk.state, disk.reason)
        elif not ask:
            rows[disk.device] = unknown(disk.device, SKIPPED, "disabled by --no-smart")
        else:
            try:
                rows[disk.device] = _asked(host, disk.device)
            except Absent as error:
                if error.recorded:
                    rows[disk.device] = unknown(disk.device, SKIPPED, error.detail)
                else:
                    unrecorded.append(disk.device)
                absent = absent or again(error)
    for row in recorded_rows(host, (ASK, ASK_NVME)):
        known = rows.get(row.device)
        if known is None or (known.state != ANSWERED and row.state == ANSWERED):
            rows[row.device] = row
    if any(row.state != SKIPPED for row in rows.values()):
        missing = (device for device in unrecorded if device not in rows)
        rows |= {device: unknown(device, SKIPPED, "no answer recorded") for device in missing}
    for row in rows.values():
        if row.state == UNREAD:
            host.defect(row.told, f"not understood: {row.reason}", row.device)
    if not rows:
        raise again(absent or Absent(BLOCK, "no disk with health data", recorded=bool(host.names(BLOCK))))
    return [*rows.values(), *(_counts(row) for row in rows.values() if row.state == ANSWERED)]


def _counts(row: DiskHealth) -> DiskErrorCount:
    return DiskErrorCount(row.device, row.serial, row.pending, row.uncorrected, row.reallocated, row.crc_errors)


def _command(device: str, argv: tuple[str, ...]) -> list[str]:
    return [f"/dev/{device}" if word == "*" else word for word in argv]


def _asked(host: Host, device: str) -> DiskHealth:
    """Return the row of a disk. Raises Absent without a program, and Denied."""
    if host.rests(device):
        return unknown(device, SILENT, "did not answer the last time; left alone")
    wanted: tuple[tuple[tuple[str, ...], Callable[[str], Fields]], ...] = ((ASK, smartctl.parse_json),)
    if _NVME.fullmatch(device):
        wanted = (*wanted, (ASK_NVME, nvme_log.parse_json))
    absent: Absent | None = None
    for argv, parse in wanted:
        command = _command(device, argv)
        try:
            return row_of(device, command_key(command), host.run(command, PROMPT), parse)
        except TimedOut as error:  # of this disk, not of all
            host.rest(device, REST)
            return unknown(device, SILENT, error.detail, command_key(command))
        except Absent as error:
            absent = again(error) if absent is None or error.recorded else absent
        except Denied:
            raise
        except Unreadable as error:
            return unknown(device, FAILED, error.detail, command_key(command))
    raise again(absent or Absent(device))


_NAMES = expression(
    rb'(?m)"(?:wwn|eui64|nguid)":\s*(?:\{[^}]*\}|"[^"]*")\s*,?|'
    rb"^(?:LU WWN Device Id|Logical Unit id|.{0,24}IEEE EUI-64)[^\n]*\n"
)
"""World wide names that smartctl divides into numbers or words."""


def without_names(data: bytes) -> bytes:
    """Return an answer without the world wide name of the disk."""
    return _NAMES.sub(b"", data)


def _all(data: bytes) -> bytes:
    return data


def _nothing(data: bytes) -> bytes:
    del data
    return b""


def _read_unasked(host: Host) -> Iterable[Reading]:
    return read(host, ask=False)


_QUIET = frozenset({ANSWERED, STANDBY, SKIPPED, UNSUPPORTED})


def _lacking(tables: Any) -> str:
    """Return a text that counts the disks without data."""
    rows = [row for row in tables.get(DiskHealth, {}).values() if row.state not in _QUIET]
    return f"{rows[0].device}: {rows[0].state}, {rows[0].reason}" if rows else ""


TEXT = Form(
    key="cmd:smartctl -a",
    first=(
        r"smartctl \d\.\d[^\n]* \[[^\n]*\]|ID# ATTRIBUTE_NAME +FLAGS? "
        r"| {0,2}\d{1,3} [A-Z]\w+ +(?:0x[0-9a-f]{4}|[POSRCK-]{6}) +(?:\d{3} +){3}"
    ),
    reads="assessment, attributes, self-tests, health logs of ATA, SCSI and NVMe disks",
    versions="smartmontools 6 and 7, with -H, -A, -a or -x; single lines of attributes",
    fault=smartctl_text.fault,
    several=Several.JOINED,
    about=r"(?mi)^Serial number: +(\S+)",
)
DOCUMENT = Form(
    key="cmd:smartctl --json -a",
    first=r'\{\s*"json_format_version": ?\[',
    reads="the same as the text",
    versions="smartmontools 7",
    several=Several.JOINED,
)
LOG = Form(
    key="cmd:nvme smart-log",
    first=r"Smart Log for NVME device",
    reads="health log of an NVMe disk",
    versions="nvme-cli 1 and 2",
    goes_on=r"[\w /#().-]+(?:\[\d+\])?\s*: ?.*",
    fault=nvme_log.fault,
    several=Several.JOINED,
    about=r"Smart Log for NVME device: ?(\w+)",
)
LOG_DOCUMENT = Form(
    key="cmd:nvme smart-log -o json",
    first=r'\{\s*"critical_warning": ?[\d{]',
    reads="the same as JSON",
    versions="nvme-cli 1 and 2",
    several=Several.JOINED,
)
_OTHERS = ("cmd:nvme [!ls]*", "cmd:nvme s[!m]*", "cmd:nvme l[!i]*", "cmd:nvme list*")
"""Commands of nvme other than smart-log and list-subsys: their outputs have serial numbers, and no health."""

SMART = Collector(
    "smart",
    "Health of disks (SMART, NVMe)",
    read,
    (DiskHealth, DiskErrorCount),
    (
        Need(f"list:{BLOCK}", "which disks there are"),
        Need(f"link:{BLOCK}/*/device", "SCSI host or NVMe controller of a disk"),
        Need(f"{BLOCK}/*/device/*", "whether a disk is a RAID volume or offline; its world wide name"),
        Need(f"{BLOCK}/*/device/power/runtime_status", "whether the kernel suspended a disk: it is not asked then"),
        Need(f"{HOSTS}/*/proc_name", "driver of a disk: only some pass SMART commands without harm"),
        Need(f"{CONTROLLERS}/*/*", "transport and state of an NVMe controller: only local ones are asked"),
        Need(f"{CONTROLLERS}/*/device/power/runtime_status", "whether the kernel suspended an NVMe controller"),
        Need(f"list:{SUBSYSTEMS}/*", "controllers of an NVMe subsystem"),
        Command(ASK, "health of a disk that does not sleep; with --no-smart never", "root"),
        Command(ASK_NVME, "health of an NVMe disk, where smartctl is not installed; with --no-smart never", "root"),
        Need("cmd:smartctl*", "health of a disk, from captures only", redact=without_names),
        Need("cmd:nvme smart-log*", "health of an NVMe disk, from captures only"),
        Need("cmd:nvme list-subsys*", "output of nvme without health data, from captures only", keep=_all),
        *(
            Need(other, "output of nvme without health data, from captures only; not kept", keep=_nothing)
            for other in _OTHERS
        ),
    ),
    PACE,
    deadline=ROUND,
    lacks=_lacking,
    forms=(TEXT, DOCUMENT, LOG, LOG_DOCUMENT),
)


def without_smart() -> Collector:
    """Return the collector without the commands that ask disks."""
    needs = tuple(need for need in SMART.needs if not isinstance(need, Command))
    return replace(SMART, read=_read_unasked, needs=needs)
