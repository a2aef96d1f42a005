"""Messages of SAS and SCSI HBAs: Fusion MPT, old mpt2sas, and those on libsas (pm80xx, mvsas, isci)."""

from __future__ import annotations

from sdstop.collectors.kernel.disk_patterns import SCSI
from sdstop.collectors.kernel.message import Found, LogPlace, pattern

_IOC = r"(?:mptbase|mptscsih|mptsas|mptspi|mptfc|mptctl): (?P<dev>ioc\d{1,3}): (?:WARNING - |ERROR - )?"
_MPT2 = r"(?P<dev>mpt2sas\d{1,3}): "
_SAS = r"(?P<dev>sas): (?:\w{1,60}: )?"
_PM = r"(?P<dev>pm80(?:xx|01)\d{0,3})(?:::)? {1,2}\w{1,60} {1,2}\d{1,6}: ?"


def _of_volume(found: Found) -> str:
    if found["what"] == "PhysDisk":
        return "member-failed"
    return "degraded-array" if found["state"] == "degraded" else "array-failed"


PATTERNS = (
    pattern("mpt", _IOC + r"(?:attempting )?task abort(?:!|: FAILED)", "abort", LogPlace.CONTROLLER),
    pattern("mpt", _IOC + r"(?:attempting )?(?:target|bus) reset(?:!|: FAILED)", "reset", LogPlace.CONTROLLER),
    pattern(
        "mpt",
        _IOC + r"(?:attempting host reset!|host reset: FAILED|Issuing (?:Hard)?Reset from \w|Initiating recovery)",
        "controller-reset",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "mpt",
        _IOC + r"(?:IOC is in FAULT state|TaskMgmt HardReset FAILED|Cannot recover|IOC Not operational)",
        "controller-fault",
        LogPlace.CONTROLLER,
    ),
    # Volumes that the HBA itself mirrors (SAS 6/iR).
    pattern(
        " is now ",
        _IOC + r" {1,3}(?P<what>volume|PhysDisk) is now (?P<state>degraded|failed|missing|offline)",
        _of_volume,
        LogPlace.CONTROLLER,
    ),
    pattern(
        "SMART data received",
        _IOC + r" {1,3}SMART data received, ASC/ASCQ = 5dh",
        "failure-predicted",
        LogPlace.CONTROLLER,
    ),
    pattern("LogInfo(", _IOC + r"LogInfo\(0x[0-9a-f]{8}\)", "hba-event", LogPlace.CONTROLLER),
    pattern("mpt2sas", _MPT2 + r"(?:attempting )?task abort(?:!|: FAILED)", "abort", LogPlace.CONTROLLER),
    pattern("mpt2sas", _MPT2 + r"(?:attempting )?(?:device|target) reset(?:!|: FAILED)", "reset", LogPlace.CONTROLLER),
    pattern("task abort: FAILED", SCSI + r"task abort: FAILED", "abort", LogPlace.SCSI),
    pattern(" reset: FAILED", SCSI + r"(?:device|target) reset: FAILED", "reset", LogPlace.SCSI),
    pattern(
        " target reset",
        r"scsi (?P<dev>target\d{1,4}:\d{1,4}:\d{1,6}): (?:attempting )?target reset(?:!|: FAILED)",
        "reset",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "reset: FAILED",
        r"(?P<dev>mpt[23]sas(?:_cm)?\d{1,3}): (?:\w{1,60}: )?(?:hard|host) reset: FAILED",
        "controller-fault",
        LogPlace.CONTROLLER,
    ),
    # Discovery of a SATA disk enters the error handler without a failed command.
    pattern(
        "sas_scsi_recover_host",
        r"(?P<dev>sas): (?:Enter|---? Exit) sas_scsi_recover_host:? busy: \d{1,6} failed: [1-9]\d{0,5}",
        "timeout",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "sas: ",
        _SAS + r"(?:trying to find task 0x|aborting task 0x|task 0x\w{1,16} (?:is aborted|failed to abort)"
        r"|Executing internal abort failed|Internal abort: timeout)",
        "abort",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "sas: ",
        _SAS + r"(?:task 0x\w{1,16} is not at LU: I_T recover|task 0x\w{1,16} is at LU: lu recover"
        r"|I_T nexus reset for dev [0-9a-f]|TMF task timeout for|executing TMF)",
        "reset",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "sas: ",
        _SAS + r"(?:error from {1,2}device [0-9a-f]{1,16}, LUN [0-9a-f]{1,16} couldn't be recovered in any way"
        r"|clearing nexus for (?:port|host))",
        "io-error",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "sas: ",
        _SAS + r"(?:smp_execute_task(?:_sg)?: timeout or error|smp task timed out or aborted|SMP task aborted and not "
        r"done|executing SMP task failed|The phy\d{1,3} bursting events, shut it down)",
        "link-error",
        LogPlace.CONTROLLER,
    ),
    pattern("task abort failed", _PM + r"task abort failed", "abort", LogPlace.CONTROLLER),
    pattern(
        "pm80",
        _PM + r"(?:Firmware is not ready|FW is not ready|MPI state is not ready)",
        "controller-fault",
        LogPlace.CONTROLLER,
    ),
    pattern("pm80", _PM + r"(?:sas|sata|smp) IO status 0x[0-9a-f]{1,8}", "link-error", LogPlace.CONTROLLER),
    pattern(
        "mvsas",
        r"(?:drivers/scsi/)?(?P<dev>mvsas)/mv_\w{2,6}\.c {1,2}\d{1,6}: ?Release slot \[[0-9a-f]{1,4}\] tag\[",
        "abort",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "emoving handle(",
        r"(?P<dev>mp[ti]\w{0,10}_cm\d{1,3}|mpt2sas\d{1,3}|mpi3mr\d{1,3}): (?:\w{1,60} ?: ?)?[Rr]emoving handle\("
        r"0x[0-9a-f]{1,8}\), (?:sas_addr|wwid)",
        "device-removed",
        LogPlace.CONTROLLER,
    ),
    pattern("device_block", SCSI + r"device_block, handle\(0x[0-9a-f]{1,8}\)", "device-blocked", LogPlace.SCSI),
)
