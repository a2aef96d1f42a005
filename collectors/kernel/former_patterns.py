"""Messages as Linux 2.6.32 to 4.17 printed them, of forms that later versions do not have (EL6, EL7)."""

from __future__ import annotations

from sdstop.collectors.kernel.disk_patterns import HOSTBYTES, SCSI
from sdstop.collectors.kernel.message import DEVICE, LogPlace, pattern

_RAID = r"raid\d{1,2}: ?"
_OPERATIONAL = r"(?P<dev>md[\w-]{1,60})"
_NVME = r"nvme (?P<dev>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d): "
_QLA = r"qla2xxx (?P<dev>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d): (?:scsi\(\d{1,4}:\d{1,6}:\d{1,20}\): )?"
_XFS = r"Filesystem \"(?P<dev>[\w!/-]{1,60})\": "

PATTERNS = (
    pattern(
        "Result: hostbyte=",
        SCSI + r" ?Result: hostbyte=(?P<host>\w{1,40})",
        lambda found: HOSTBYTES.get(found["host"], ""),
        LogPlace.SCSI,
    ),
    pattern("Unhandled ", SCSI + r" ?Unhandled (?:error|sense) code", "request-failed", LogPlace.SCSI),
    # Linux 2.6.32 names no array in these.
    pattern(
        "isk failure on", _RAID + r"Disk failure on " + DEVICE + r", disabling device", "member-failed", LogPlace.DISK
    ),
    pattern(
        " read error",
        r"raid\d{1,2}: ?(?P<hidden>[\w-]{1,60}): read error corrected \(\d{1,9} sectors at \d{1,20} on "
        + DEVICE
        + r"\)",
        "read-repaired",
        LogPlace.DISK,
    ),
    pattern(
        " read error",
        r"raid\d{1,2}: ?(?P<hidden>[\w-]{1,60}): read error (?:not correctable|NOT corrected!!) \(sector \d{1,20} on "
        + DEVICE
        + r"\)",
        "read-unrepaired",
        LogPlace.DISK,
    ),
    pattern(
        "Too many read errors",
        r"(?:md/)?raid\d{0,2}: ?(?P<hidden>[\w-]{1,60}): Too many read errors, failing device " + DEVICE + r"\.",
        "read-unrepaired",
        LogPlace.DISK,
    ),
    pattern("rescheduling sector", _RAID + DEVICE + r": rescheduling sector \d{1,20}", "read-repaired", LogPlace.DISK),
    pattern(
        "unrecoverable I/O", _RAID + DEVICE + r": unrecoverable I/O (?:read )?error", "read-unrepaired", LogPlace.DISK
    ),
    pattern(
        "perational ",
        _RAID + r"(?:not enough|no) operational (?:devices|mirrors) for " + _OPERATIONAL,
        "array-failed",
        LogPlace.DISK,
    ),
    pattern(
        "degraded array",
        _RAID + r"cannot start dirty degraded array for " + _OPERATIONAL,
        "array-failed",
        LogPlace.DISK,
    ),
    pattern("failed to run raid", _RAID + r"failed to run raid set " + _OPERATIONAL, "array-failed", LogPlace.DISK),
    pattern(
        " out of ",
        _RAID + r"(?:raid level \d{1,2} |raid )set " + _OPERATIONAL + r" active with (?P<active>\d{1,5}) out of "
        r"(?P<all>\d{1,5}) (?:devices|mirrors)",
        lambda found: "degraded-array" if int(found["active"]) < int(found["all"]) else "",
        LogPlace.DISK,
    ),
    pattern(
        "-fs error (device",
        r"EXT[234]-fs error \(device (?P<dev>[\w!/-]{1,60})\)(?: in|:) \w{1,60}",
        "fs-error",
        LogPlace.DISK,
    ),
    pattern(
        "emounting filesystem read-only",
        r"EXT3-fs \((?P<dev>[\w!/-]{1,60})\): (?:error: )?remounting filesystem read-only",
        "fs-readonly",
        LogPlace.DISK,
    ),
    pattern(
        "while flushing file data",
        r"JBD: Detected IO errors (?:-?\d{1,4} )?while flushing file data on " + DEVICE,
        "fs-write-lost",
        LogPlace.DISK,
    ),
    pattern(
        "journal superblock",
        r"JBD: I/O error detected when updating journal superblock for (?P<dev>[\w!/-]{1,60})",
        "fs-error",
        LogPlace.DISK,
    ),
    pattern("commit I/O error", r"(?P<dev>journal) commit I/O error", "journal-abort", LogPlace.CONTROLLER),
    pattern(
        "Aborting journal",
        r"Aborting journal on device (?P<dev>[a-z]{3,4}\d{0,3}|dm-\d{1,5})\.",
        "journal-abort",
        LogPlace.DISK,
    ),
    pattern(
        " timeout, ",
        _NVME + r"I/O \d{1,6} QID \d{1,5} timeout, (?:aborting|reset controller|disable controller)",
        "timeout",
        LogPlace.PCI,
    ),
    pattern("Device not ready", _NVME + r"Device not ready; aborting \w{1,20}", "controller-fault", LogPlace.PCI),
    pattern(
        "nvalidating snapshot",
        r"device-mapper: (?P<dev>snapshots): Invalidating snapshot: (?:Unable to allocate exception"
        r"|Error reading/writing)",
        "snapshot-invalid",
        LogPlace.CONTROLLER,
    ),
    pattern("qla2xxx", _QLA + r"Abort command issued --", "abort", LogPlace.PCI),
    pattern("qla2xxx", _QLA + r"(?:DEVICE|TARGET) RESET (?:ISSUED|FAILED)", "reset", LogPlace.PCI),
    pattern(
        "qla2xxx",
        _QLA + r"(?:(?:BUS|ADAPTER) RESET ISSUED|Mailbox command timeout occurred)",
        "controller-reset",
        LogPlace.PCI,
    ),
    pattern("qla2xxx", _QLA + r"LOOP DOWN detected", "port-down", LogPlace.PCI),
    pattern(
        "qla2xxx",
        _QLA + r"(?:ISP System Error|RISC paused|Unrecoverable Hardware Error: adapter)",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern(
        "hutting down filesystem",
        _XFS
        + r"(?:Corruption of in-memory data|Log I/O Error|I/O Error|All device paths) (?:Detected|detected|lost)\. "
        r"{1,2}Shutting down filesystem",
        "fs-shutdown",
        LogPlace.DISK,
    ),
    pattern(
        "xfs_force_shutdown",
        r"xfs_force_shutdown\((?P<dev>[\w!/-]{1,60}),0x[0-9a-f]{1,4}\) called",
        "fs-shutdown",
        LogPlace.DISK,
    ),
    pattern(
        "I/O error in filesystem",
        r"I/O error in filesystem \(\"(?P<dev>[\w!/-]{1,60})\"\) meta-data dev",
        "fs-error",
        LogPlace.DISK,
    ),
    pattern("XFS internal error", _XFS + r"XFS internal error \w{1,60}", "fs-corruption", LogPlace.DISK),
    pattern("xfs_log_force", _XFS + r"xfs_log_force: error -?\d{1,4} returned", "fs-error", LogPlace.DISK),
    pattern(
        "error",
        r"EXT3-fs \((?P<dev>[\w!/-]{1,60})\): error(?: in|:) ext3_\w{1,60}",
        "fs-error",
        LogPlace.DISK,
    ),
)
