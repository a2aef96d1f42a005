"""Messages of RAID controllers: megaraid_sas without Fusion, 3ware, Smart Array, mpi3mr and smartpqi."""

from __future__ import annotations

from sdstop.collectors.kernel.disk_patterns import SCSI
from sdstop.collectors.kernel.message import Found, LogPlace, Pattern, pattern

_PCI = r"(?P<dev>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)"
_SENSE = {"3": "sense-medium", "4": "sense-hardware", "b": "sense-aborted"}
"""Sense keys of failed commands (SPC-4)."""
_CODES = {
    0x0001: "controller-reset", 0x0002: "degraded-array", 0x0003: "controller-fault", 0x0006: "degraded-array",
    0x0009: "timeout", 0x000A: "io-error", 0x000F: "failure-predicted", 0x0016: "controller-hot", 0x0021: "link-slow",
    0x0023: "read-repaired", 0x0025: "write-lost", 0x0026: "medium-error", 0x002C: "medium-error",
    0x002D: "medium-error", 0x00FD: "controller-fault",
}  # fmt: skip
"""Kinds of events of 3ware controllers by their code (drivers/scsi/3w-9xxx.h)."""
_EVENTS = {
    "Unit degraded": "degraded-array", "Incomplete unit detected": "degraded-array",
    "Controller error": "controller-fault", "ATA port timeout": "timeout", "Drive error": "io-error",
    "SMART threshold exceeded": "failure-predicted", "ATA UDMA downgrade": "link-slow",
    "Sector repair occurred": "read-repaired", "Lost cached write": "write-lost",
    "Drive ECC error detected": "medium-error", "Overwrote bad sector during rebuild": "medium-error",
    "Encountered bad sector during rebuild": "medium-error", "Soft reset occurred": "controller-reset",
}  # fmt: skip
"""The same by the text of older controllers (drivers/scsi/3w-xxxx.h)."""


def _of_code(found: Found) -> str:
    return _CODES.get(int(found["code"], 16), "controller-alarm" if found["class"] == "ERROR" else "")


def _of_event(found: Found) -> str:
    return _EVENTS.get(found["event"], "controller-alarm" if found["class"] == "ERROR" else "")


def _megaraid(form: str, kind: str) -> tuple[Pattern, Pattern]:
    """Return the patterns of a message by the names that the driver had before and since Linux 4.4."""
    return (
        pattern("megaraid_sas ", rf"megaraid_sas {_PCI}: (?:\w{{1,60}}:\d{{1,6}} )?{form}", kind, LogPlace.PCI),
        pattern("sas: ", rf"(?P<dev>megasas|megaraid_sas): {form}", kind, LogPlace.CONTROLLER),
    )


PATTERNS = (
    *_megaraid(
        r"(?:cannot recover from previous reset failures|failed to do reset|HBA is killed|killing adapter scsi\d{1,4}"
        r"|cmd .{1,60}was tried multiple times during reset|(?:Found )?FW in FAULT state|reset: Stopping HBA"
        r"|FW detected to be in fault ?state|[Aa]dapter (?:not ready|already dead)|Controller in crit error"
        r"|Iop2SysDoorbellInt for scsi\d{1,4}|Reset not supported, killing adapter"
        r"|IO/DCMD timeout is detected, forcibly FAULT Firmware)",
        "controller-fault",
    ),
    *_megaraid(
        r"(?:[Rr]esetting fusion adapter|pending commands remain after waiting|HBA reset wait \.\.\."
        r"|RESET_?GEN2: retry=|ADP_RESET_GEN2: HostDiag=|HBA recovery state machine"
        r"|waiting_for_outstanding: (?:before|after) issue OCR"
        r"|command .{1,60}detected to be pending while HBA reset)",
        "controller-reset",
    ),
    *_megaraid(
        r"(?:\[ {0,3}\d{1,4}\] ?waiting for \d{1,6} commands to complete|DCMD(?:\(opcode: 0x[0-9a-f]{1,8}\))? is timed "
        r"out|Abort\(to be aborted DCMD opcode: 0x[0-9a-f]{1,8}\) is timed out)",
        "timeout",
    ),
    pattern("megasas: RESET", SCSI + r"megasas: RESET (?:-\d{1,20} )?cmd=[0-9a-f]{1,4}", "reset", LogPlace.SCSI),
    pattern(
        "is requested due to IO timeout",
        SCSI + r"Controller reset is requested due to IO timeout",
        "timeout",
        LogPlace.SCSI,
    ),
    pattern(
        "3w-",
        r"3w-(?:9xxx|sas): (?P<dev>scsi\d{1,4}): AEN: (?P<class>ERROR|WARNING|INFO) \(0x04:0x(?P<code>[0-9A-F]{4})\)",
        _of_code,
        LogPlace.CONTROLLER,
    ),
    pattern(
        "3w-",
        r"3w-xxxx: (?P<dev>scsi\d{1,4}): AEN: (?P<class>ERROR|WARNING|INFO): (?P<event>[\w /]{1,60})",
        _of_event,
        LogPlace.CONTROLLER,
    ),
    pattern(
        "3w-",
        r"3w-(?:9xxx|sas|xxxx): (?P<dev>scsi\d{1,4}): (?:(?:ERROR|WARNING): \(0x06:0x[0-9A-F]{4}\): )?"
        r"(?:[\w ]{1,40}\(0x[0-9A-Fa-f]{1,4}\) timed out, resetting card"
        r"|Unit #\d{1,3}: Command \(?\w{1,16}\)? timed out, resetting card)",
        "controller-reset",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "3w-",
        r"3w-(?:9xxx|sas|xxxx): (?P<dev>scsi\d{1,4}): (?:(?:ERROR|WARNING): \(0x06:0x[0-9A-F]{4}\): )?"
        r"(?:Reset (?:sequence )?failed|Controller errors, card not responding|Microcontroller Error|Clearing Q)",
        "controller-fault",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "3w-xxxx: ",
        r"3w-xxxx: (?P<dev>scsi\d{1,4}): Command failed: status = 0x[0-9a-f]{1,4}",
        "io-error",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "has CHECK CONDITION",
        r"(?P<dev>cciss)(?: [0-9a-f:.]{12})?: cmd \w{1,16} has CHECK CONDITION sense key = 0x(?P<key>[0-9a-f])",
        lambda found: _SENSE.get(found["key"], ""),
        LogPlace.CONTROLLER,
    ),
    pattern(
        "check condition: unknown type: Sense:",
        rf"hpsa {_PCI}: cp \w{{1,16}} has check condition: unknown type: Sense: 0x(?P<key>[0-9a-f])",
        lambda found: _SENSE.get(found["key"], ""),
        LogPlace.PCI,
    ),
    pattern(
        "mpi3mr",
        r"(?P<dev>mpi3mr\d{1,3}): controller reset is triggered by \w",
        "controller-reset",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "eset is issued to handle",
        SCSI + r"(?:Target|Device\(lun\)) Reset is issued to handle\(0x[0-9a-f]{1,4}\)",
        "reset",
        LogPlace.SCSI,
    ),
    pattern("Attempting Device(lun) Reset", SCSI + r"Attempting Device\(lun\) Reset!", "reset", LogPlace.SCSI),
    pattern(
        "waiting ",
        r"(?:smartpqi|hpsa) [0-9a-f:.]{12}: scsi (?P<dev>\d{1,4}:\d{1,4}:\d{1,6}:\d{1,20}): waiting \d{1,9} seconds for"
        r" (?:LUN reset to complete|[1-9]\d{0,8} outstanding command)",
        "reset",
        LogPlace.SCSI,
    ),
    pattern("aacraid", r"(?P<dev>aacraid): SCSI bus appears hung", "controller-fault", LogPlace.CONTROLLER),
    pattern(
        "aacraid ",
        rf"aacraid {_PCI}: (?:Issuing (?:IOP|SOFT) reset|Controller reset type is \d)",
        "controller-reset",
        LogPlace.PCI,
    ),
    pattern(
        "arcmsr",
        r"(?P<dev>arcmsr)\d{0,3}: (?:there is a {1,2}bus reset eh proceeding|executing hw bus reset)",
        "controller-reset",
        LogPlace.CONTROLLER,
    ),
)
