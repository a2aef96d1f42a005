"""SMART data and NVMe health logs of the node's disks.

Asking a disk is not free: some USB bridges and RAID controllers reset when they get such a command, opening a disk that
the kernel has suspended spins it up, and a disk that hangs holds the program that asks it. Therefore only disks behind
drivers that are known to pass these commands through are asked (ALLOWED), none that sleeps (`smartctl -n standby`, and
the kernel's own power state before the disk is opened), one after the other, twice an hour. A disk that does not answer
in time is left alone for a while. No self-test is started and no setting changed.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sdstop.collectors.health import nvme_log, smartctl
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
from sdstop.core.collector import Collector, Command, Need
from sdstop.core.evidence import command_key
from sdstop.core.form import Form, Several
from sdstop.core.host import Absent, Denied, Host, Malformed, Output, TimedOut, Unreadable
from sdstop.core.model import Reading

BLOCK = "/sys/block"
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

ALLOWED = re.compile(
    r"ahci|acard-ahci|ahci_\w+|ata_piix|ata_generic|pata_\w+|sata_\w+|isci|mptsas|mpt2sas|mpt3sas|mpi3mr|pm80xx|mvsas|"
    r"smartpqi|scsi_debug"
)
"""SCSI host drivers whose disks are asked. Not: USB (bridges that reset), megaraid_sas, aacraid, hpsa, arcmsr and 3w-*
(their disks are asked through the controller's own program), and networks (a remote disk is its owner's)."""
_NO_DISK = re.compile(r"(?i)logical.?volume|virtual.?(?:disk|drive)|RAID")
_DISK = re.compile(r"sd[a-z]+")
_NVME = re.compile(r"nvme(\d+)n(\d+)")
_SUBJECT = re.compile(r"[ _](?:[/._]?dev[/._])(?P<device>[\w./!-]+?)(?:[ _]-(?:o|-output-format)\W?.*)?$")
_INNER = re.compile(r"-d[ _]?(?P<type>(?:sat\+)?(?:megaraid|cciss|aacraid|3ware|areca|hpt)[,_]\w+)")


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
            rows[disk.device] = _unknown(disk.device, disk.state, disk.reason)
        elif not ask:
            rows[disk.device] = _unknown(disk.device, SKIPPED, "disabled by --no-smart")
        else:
            try:
                rows[disk.device] = _asked(host, disk.device)
            except Absent as error:
                if error.recorded:
                    rows[disk.device] = _unknown(disk.device, SKIPPED, error.detail)
                else:
                    unrecorded.append(disk.device)
                absent = absent or error
    for row in _recorded(host):
        known = rows.get(row.device)
        if known is None or (known.state != ANSWERED and row.state == ANSWERED):
            rows[row.device] = row
    if any(row.state != SKIPPED for row in rows.values()):
        missing = (device for device in unrecorded if device not in rows)
        rows |= {device: _unknown(device, SKIPPED, "no answer recorded") for device in missing}
    for row in rows.values():
        if row.state == UNREAD:
            host.defect(row.told, f"not understood: {row.reason}", row.device)
    if not rows:
        raise absent or Absent(BLOCK, "no disk with health data", recorded=bool(host.names(BLOCK)))
    return [*rows.values(), *(_counts(row) for row in rows.values() if row.state == ANSWERED)]


def _counts(row: DiskHealth) -> DiskErrorCount:
    return DiskErrorCount(row.device, row.serial, row.pending, row.uncorrected, row.reallocated, row.crc_errors)


def _unknown(device: str, state: str, reason: str, told: str = "") -> DiskHealth:
    return DiskHealth(device=device, state=state, reason=reason, told=told or f"list:{BLOCK}")


def _command(device: str, argv: tuple[str, ...]) -> list[str]:
    return [f"/dev/{device}" if word == "*" else word for word in argv]


def _asked(host: Host, device: str) -> DiskHealth:
    """Return the row of a disk. Raises Absent without a program, and Denied."""
    if host.rests(device):
        return _unknown(device, SILENT, "did not answer the last time; left alone")
    wanted: tuple[tuple[tuple[str, ...], Callable[[str], smartctl.Fields]], ...] = ((ASK, smartctl.parse_json),)
    if _NVME.fullmatch(device):
        wanted = (*wanted, (ASK_NVME, nvme_log.parse_json))
    absent: Absent | None = None
    for argv, parse in wanted:
        command = _command(device, argv)
        try:
            return _row(device, command_key(command), host.run(command, PROMPT), parse)
        except TimedOut as error:  # of this disk, not of all
            host.rest(device, REST)
            return _unknown(device, SILENT, error.detail, command_key(command))
        except Absent as error:
            absent = error if absent is None or error.recorded else absent
        except Denied:
            raise
        except Unreadable as error:
            return _unknown(device, FAILED, error.detail, command_key(command))
    raise absent or Absent(device)


def _row(device: str, key: str, output: Output, parse: Callable[[str], smartctl.Fields]) -> DiskHealth:
    """Return the row of an output. Raises Denied if a privilege is missing."""
    text = output.text
    said = smartctl.messages(text) or smartctl.messages(output.stderr.decode("utf-8", "replace"))
    if smartctl.is_asleep(said):
        return _unknown(device, STANDBY, "asleep; not woken up", key)
    if output.exit and smartctl.is_denied([*said, output.stderr.decode("utf-8", "replace")]):
        raise Denied(key, "requires root; run with sudo")
    try:
        fields = parse(text)
    except Malformed as error:
        first = next(iter(said), "")
        if (output.exit or 0) & 1 and "option" in f"{text[:4000]}".lower():
            return _unknown(device, SKIPPED, "smartctl is older than 7.0, which brought JSON", key)
        if output.exit and first and not text.lstrip().startswith("{"):
            return _unknown(device, FAILED, first[:120], key)
        return _unknown(device, UNREAD, str(error)[:120], key)
    found = DiskHealth(device=device, state=ANSWERED, told=key, form=_form(text), **fields)
    if found.reason is not None:
        return replace(found, state=UNSUPPORTED)
    if _is_empty(found):
        unopened = (output.exit or smartctl.exit_status(text)) & 2
        reason = (said[0] if said else "the disk reports no SMART data")[:120]
        return replace(found, state=FAILED if unopened else UNSUPPORTED, reason=reason)
    return found


def _form(text: str) -> str:
    start = text.lstrip()[:40]
    return "json" if start.startswith("{") else "text" if "smartctl" in text[:4096] else "log"


def _is_empty(row: DiskHealth) -> bool:
    return row.passed is None and row.critical_warning is None and row.attributes is None


# --- what others recorded ---------------------------------------------------------------------------------


def _recorded(host: Host) -> Iterator[DiskHealth]:
    """Yield the disks in recorded output of smartctl and nvme with any options; of several, the best one.

    The output of our own commands counts only without a list of disks: that of a disk that was pulled or fell asleep
    since is old.
    """
    found: dict[str, DiskHealth] = {}
    known = bool(host.names(BLOCK))
    for program in ("smartctl", "nvme"):
        for name in host.recorded(program):
            if known and _is_own(name):
                continue
            if program == "nvme" and not _LOG.match(name):
                _pass(host, name)
                continue
            for row in _of_recorded(host, program, name):
                before = found.get(row.device)
                if before is None or _rank(row) > _rank(before):
                    found[row.device] = row
    yield from found.values()


def _pass(host: Host, name: str) -> None:
    """Mark the output of another command of nvme as known: it has no health data in another form."""
    with contextlib.suppress(Unreadable):
        host.recorded_output(name)


_LOG = re.compile(r"nvme[ _]smart-log")


def _is_own(name: str) -> bool:
    """Return whether a recorded command is one that this source runs."""
    words = tuple(name.split(" "))
    return any(
        len(words) == len(argv) and all(asked in {"*", word} for asked, word in zip(argv, words, strict=True))
        for argv in (ASK, ASK_NVME)
    )


def _rank(row: DiskHealth) -> tuple[bool, bool, int]:
    known = sum(getattr(row, field) is not None for field in row.__struct_fields__)
    return row.state == ANSWERED, row.attributes is not None, known


def _named(host: Host, name: str) -> str | None:
    """Return the kernel name of the disk that a recorded command is about, None if it names none.

    A disk behind a RAID controller is named by its number there.
    """
    found = _SUBJECT.search(name)
    if found is None:
        return None
    device = found["device"].rstrip(".")
    inner = _INNER.search(name)
    return f"{device}:{inner['type'].replace('_', ',')}" if inner else _disk(host, device)


def _disk(host: Host, device: str) -> str:
    """Return the disk of a name: the only disk of an NVMe controller."""
    only = re.fullmatch(r"nvme\d+", device) is not None and host.names(f"{BLOCK}/{device}n1")
    return f"{device}n1" if only else device


def _of_recorded(host: Host, program: str, name: str) -> Iterator[DiskHealth]:
    key = f"cmd:{name}" if " " in name else f"slug:{name}"
    device = _named(host, name)
    try:
        output = host.recorded_output(name)
    except TimedOut:
        if device is not None:
            yield _unknown(device, SILENT, f"{program} did not answer", key)
        return
    except Unreadable:
        return
    text = output.text.strip()
    if device is not None and text:
        yield _parsed(device, key, output, program)
    elif text:  # pasted without the command: several outputs follow each other
        for at, part in enumerate(_PARTS.split(text)[1:] if not text.startswith("{") else _documents(text)):
            own = _disk(host, found[1] or found[2]) if (found := _OWN_NAME.search(part)) else None
            row = _parsed(
                own or f"disk {at + 1}", key, replace(output, stdout=part.encode("utf-8", "surrogateescape")), program
            )
            masked = re.search(r"(?i)\bserial[ _]number\b", part) is not None
            if own is None and row.serial is None and row.state == ANSWERED and not masked:
                row = _unknown(row.device, UNREAD, "the text names no disk", key)
            yield replace(row, device=own or row.serial or row.device)


_PARTS = re.compile(r"(?m)^(?=smartctl \d\.\d|Smart Log for NVME device)")
_OWN_NAME = re.compile(r'Smart Log for NVME device: ?(nvme\w+)|"name": ?"/dev/([\w/]+)"')


def _documents(text: str) -> list[str]:
    """Return the JSON documents that follow each other in a text; the rest of the text if one is damaged."""
    found: list[str] = []
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return [*found, text[at:]]
        found.append(text[at:end])
        at = end + len(text[end:]) - len(text[end:].lstrip())
    return found


def _parsed(device: str, key: str, output: Output, program: str) -> DiskHealth:
    """Return the row of an output that others recorded, as JSON or text."""
    parsers: dict[tuple[str, bool], Callable[[str], smartctl.Fields]] = {
        ("smartctl", True): smartctl.parse_json, ("smartctl", False): smartctl.parse_text,
        ("nvme", True): nvme_log.parse_json, ("nvme", False): nvme_log.parse_text,
    }  # fmt: skip
    try:
        return _row(device, key, output, parsers[program, output.text.lstrip().startswith("{")])
    except Denied:
        return _unknown(device, FAILED, "no permission", key)


_NAMES = re.compile(
    rb'(?m)"(?:wwn|eui64|nguid)":\s*(?:\{[^}]*\}|"[^"]*")\s*,?|'
    rb"^(?:LU WWN Device Id|Logical Unit id|.{0,24}IEEE EUI-64)[^\n]*\n"
)
"""World wide names that smartctl divides into numbers or words."""


def without_names(data: bytes) -> bytes:
    """Return an answer without the world wide name of the disk."""
    return _NAMES.sub(b"", data)


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
    first=r"smartctl \d\.\d[^\n]* \[[^\n]*\]",
    reads="assessment, attributes, self-tests, health logs of ATA, SCSI and NVMe disks",
    versions="smartmontools 6 and 7, with -H, -A, -a or -x",
    fault=smartctl.fault,
    several=Several.JOINED,
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
    goes_on=r"[\w /#()-]+(?:\[\d+\])?\s*: ?.*",
    fault=nvme_log.fault,
    several=Several.JOINED,
)

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
        *(
            Need(other, "output of nvme without health data, from captures only; not kept", keep=_nothing)
            for other in ("cmd:nvme [!s]*", "cmd:nvme s[!m]*")
        ),
    ),
    PACE,
    deadline=ROUND,
    lacks=_lacking,
    forms=(TEXT, DOCUMENT, LOG),
)


def without_smart() -> Collector:
    """Return the collector without the commands that ask disks."""
    needs = tuple(need for need in SMART.needs if not isinstance(need, Command))
    return replace(SMART, read=_read_unasked, needs=needs)
