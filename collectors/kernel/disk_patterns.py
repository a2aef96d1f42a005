"""Messages of block devices, SCSI, ATA and NVMe."""

from __future__ import annotations

from sdstop.collectors.kernel.message import DEVICE, Found, LogPlace, pattern

_LIKE_BLOCK = {
    "critical medium": "medium-error", "I/O": "io-error", "critical target": "target-error", "protection":
    "protection-error", "critical space allocation": "no-space", "recoverable transport": "transport-error",
    "timeout": "io-error", "device offline": "io-error", "offline": "io-error", "critical nexus": "transport-error",
    "reservation conflict": "reservation-conflict", "duration limit exceeded": "io-error",
    "command timeout": "io-error",
}  # fmt: skip
_PROBES = frozenset({"DISCARD", "WRITE_ZEROES", "SECURE_ERASE", "WRITE_SAME", "ZONE_RESET"})


def _of_block(found: Found) -> str:
    kind = _LIKE_BLOCK.get(found["status"], "")
    return "" if kind == "target-error" and found["op"] in _PROBES else kind


def _of_ata(found: Found) -> str:
    """Return the kind of an exception: 0xe repairs a lost link, which is an error if requests were in flight."""
    if not found["frozen"]:
        return ""
    if found["action"] == "e":
        return "link-error" if int(found["active"], 16) else ""
    return "timeout" if found["action"] == "6" else ""


SCSI = (
    r"(?:sd|scsi|ses|st|sr|ch|osst) (?P<dev>\d{1,4}:\d{1,4}:\d{1,6}:\d{1,20}): "
    r"(?:\[(?P<also>[a-z]\w{0,30})\] )?(?:tag#\d{1,6} )?"
)
"""Driver and address of a SCSI device."""
HOSTBYTES = {
    "DID_TIME_OUT": "timeout", "DID_NO_CONNECT": "transport-error", "DID_BUS_BUSY": "transport-error",
    "DID_BAD_TARGET": "transport-error", "DID_ERROR": "transport-error", "DID_RESET": "reset",
    "DID_SOFT_ERROR": "transport-error", "DID_TRANSPORT_DISRUPTED": "transport-error",
    "DID_TRANSPORT_FAILFAST": "transport-error", "DID_TRANSPORT_MARGINAL": "transport-error",
    "DID_ABORT": "abort", "DID_PARITY": "link-error",
}  # fmt: skip
_SENSE = {
    "Medium Error": "sense-medium", "Hardware Error": "sense-hardware", "Aborted Command": "sense-aborted",
}  # fmt: skip
_ATA = r"(?P<dev>ata\d{1,4}(?:\.\d\d)?): "
_NVME = r"nvme (?P<dev>nvme\d{1,5}): "
_NVME_STATUS = {
    (0, 0x06): "sense-hardware", (0, 0x07): "abort", (0, 0x20): "target-error", (0, 0x80): "beyond-end",
    (0, 0x81): "no-space", (0, 0x82): "sense-hardware", (2, 0x80): "sense-medium", (2, 0x81): "sense-medium",
    (2, 0x82): "protection-error", (2, 0x83): "protection-error", (2, 0x84): "protection-error", (3, 0x71): "abort",
}  # fmt: skip
"""Status code types and codes of failed commands (NVMe base specification). Kernels without CONFIG_NVME_VERBOSE_ERRORS
print "I/O Error" for all of them."""
_OF_FC = {"max": "device-gone", "dev_loss_tmo": "device-gone", "resetting": "controller-reset", "io": "timeout"}
"""Kinds of messages of NVMe over Fibre Channel by their first word; others are errors of the association."""

PATTERNS = (
    pattern(
        " error, dev ",
        r"(?:\w{1,40}: )?(?P<status>[A-Za-z/ ]{1,40}?) error, dev "
        + DEVICE
        + (
            r", sector \d{1,20}(?: op 0x[0-9a-f]{1,4}:\((?P<op>\w{1,30})\))?(?: flags"
            r" 0x[0-9a-f]{1,8})?"
        ),
        _of_block,
        LogPlace.DISK,
    ),
    pattern(
        "Buffer I/O error",
        r"Buffer I/O error on dev(?:ice)? "
        + DEVICE
        + (
            r", logical block (?:in range )?\d{1,20}(?: - \d{1,20}|-\d{1,20})?(?P<lost>, lost "
            r"(?:a?sync )?page write)?"
        ),
        lambda found: "write-lost" if found["lost"] else "buffer-error",
        LogPlace.DISK,
    ),
    pattern("lost page write", r"lost page write due to I/O error on " + DEVICE, "write-lost", LogPlace.DISK),
    pattern(
        "FAILED Result: hostbyte=",
        SCSI + r"(?:\w[\w() ]{0,40} )?FAILED Result: hostbyte=(?P<host>\w{1,40})",
        lambda found: HOSTBYTES.get(found["host"], ""),
        LogPlace.SCSI,
    ),
    pattern(
        "Sense Key",
        SCSI + r" ?Sense Key ?: (?P<sense>[A-Z][A-Za-z]{1,20} [A-Z][a-z]{1,20})(?: \[\w{1,20}\])?",
        lambda found: _SENSE.get(found["sense"], ""),
        LogPlace.SCSI,
    ),
    pattern("ttempting task abort", SCSI + r"[Aa]ttempting task abort", "abort", LogPlace.SCSI),
    pattern("ttempting Task Abort", SCSI + r"Attempting Task Abort", "abort", LogPlace.SCSI),
    pattern("ttempting ", SCSI + r"[Aa]ttempting (?:device|target|lun|Device|Target) [Rr]eset", "reset", LogPlace.SCSI),
    pattern("timing out command", SCSI + r"timing out command, waited \d{1,9}s", "timeout", LogPlace.SCSI),
    pattern(
        "Device offlined", SCSI + r"Device offlined - not ready after error recovery", "device-gone", LogPlace.SCSI
    ),
    pattern("rejecting I/O", SCSI + r"rejecting I/O to (?:offline|dead) device", "offline-io", LogPlace.SCSI),
    pattern("Power-on or device reset", SCSI + r"Power-on or device reset occurred", "power-on", LogPlace.SCSI),
    pattern("Synchronize Cache", SCSI + r"Synchronize Cache\(\d\d\) failed", "flush-failed", LogPlace.SCSI),
    pattern(
        "uas_eh_abort",
        (
            r"(?:sd|scsi) (?P<dev>[\d:]{7,40}): (?:\[(?P<also>\w{1,30})\] )?(?:tag#\d{1,6}"
            r" )?uas_eh_abort_handler"
        ),
        "abort",
        LogPlace.SCSI,
    ),
    pattern(
        ": exception Emask",
        _ATA
        + (
            r"exception Emask 0x[0-9a-f]{1,4} SAct 0x(?P<active>[0-9a-f]{1,8}) SErr 0x[0-9a-f]{1,8} action 0x"
            r"(?P<action>[0-9a-f]{1,3})(?P<frozen> frozen)?"
        ),
        _of_ata,
        LogPlace.ATA,
    ),
    pattern(
        "qc timeout", _ATA + r"qc timeout (?:after \d{1,9} msecs )?\(cmd 0x[0-9a-f]{1,2}\)", "timeout", LogPlace.ATA
    ),
    pattern("NCQ disabled due to", _ATA + r"NCQ disabled due to excessive errors", "link-error", LogPlace.ATA),
    pattern("ICRC", _ATA + r"error: \{ (?:\w{1,6} )*ICRC (?:\w{1,6} )*\}", "link-error", LogPlace.ATA),
    pattern("resetting link", _ATA + r"(?:hard|soft) resetting link", "link-reset", LogPlace.ATA),
    pattern(
        "failed (errno=",
        _ATA + r"(?:COMRESET|[SH]RST|softreset|hardreset) failed \(errno=-\d{1,4}\)",
        "link-down",
        LogPlace.ATA,
    ),
    pattern("reset failed, giving up", _ATA + r"reset failed, giving up", "device-gone", LogPlace.ATA),
    pattern("limiting speed to", _ATA + r"limiting speed to (?:U?DMA|MWDMA|PIO)\S{1,20}", "link-slow", LogPlace.ATA),
    pattern("link speed to", _ATA + r"limiting SATA link speed to [\d.]{1,4} Gbps", "link-slow", LogPlace.ATA),
    pattern(": disable", _ATA + r"disabled?(?: device)?$", "device-gone", LogPlace.ATA),
    pattern(
        " timeout, ",
        _NVME
        + (
            r"I/O (?:tag )?\d{1,6} .{0,80}?QID \d{1,5} timeout, (?P<then>aborting|reset"
            r" controller|completion polled|disable controller)"
        ),
        lambda found: "missed-interrupt" if found["then"] == "completion polled" else "timeout",
        LogPlace.NVME,
    ),
    pattern(" timeout", _NVME + r"I/O (?:tag )?\d{1,6} .{0,80}?QID \d{1,5} timeout$", "timeout", LogPlace.NVME),
    pattern(": timeout request", _NVME + r"queue \d{1,5}: timeout request 0x[0-9a-f]{1,8}", "timeout", LogPlace.NVME),
    pattern(
        "controller is down",
        _NVME + r"controller is down; will reset: CSTS=0x(?P<status>[0-9a-f]{1,8})",
        lambda found: "pcie-fatal" if found["status"] == "ffffffff" else "controller-reset",  # no answer on the bus
        LogPlace.NVME,
    ),
    pattern("resetting controller", _NVME + r"resetting controller", "controller-reset", LogPlace.NVME),
    pattern(
        "reset controller", _NVME + r"frozen state error detected, reset controller", "controller-reset", LogPlace.NVME
    ),
    pattern(
        "Device not ready",
        _NVME + r"Device not ready; aborting \w{1,20}(?:, CSTS=0x[0-9a-f]{1,8})?",
        "controller-fault",
        LogPlace.NVME,
    ),
    pattern(
        " failure",
        _NVME
        + (
            r"(?:Removing after (?:probe|reset) failure|Disabling device after reset failure)(?:"
            r" status)?: -?\d{1,4}"
        ),
        "device-gone",
        LogPlace.NVME,
    ),
    pattern("error recovery", _NVME + r"starting error recovery", "session-error", LogPlace.NVME),
    pattern("reconnect attempt", _NVME + r"[Ff]ailed reconnect attempt \d{1,6}", "session-error", LogPlace.NVME),
    pattern("uccessfully reconnected", _NVME + r"[Ss]uccessfully reconnected", "session-restored", LogPlace.NVME),
    pattern(
        " @ LBA ",
        (
            r"(?P<dev>nvme\d{1,5}(?:c\d{1,5})?n\d{1,6}): [\w/ ]{1,30}\(0x[0-9a-f]{1,3}\) @ LBA \d{1,20}, \d{1,8}"
            r" blocks, [A-Z][A-Za-z/ -]{1,60} \(sct 0x(?P<type>[0-9a-f]) / sc 0x(?P<code>[0-9a-f]{1,2})\)"
        ),
        lambda found: _NVME_STATUS.get((int(found["type"], 16), int(found["code"], 16)), ""),
        LogPlace.DISK,
    ),
    pattern(
        "no usable path",
        r"block (?P<dev>nvme\d{1,5}n\d{1,6}): no usable path - requeuing I/O",
        "path-wait",
        LogPlace.DISK,
    ),
    pattern(
        "no available path",
        r"block (?P<dev>nvme\d{1,5}n\d{1,6}): no available path - failing I/O",
        "io-error",
        LogPlace.DISK,
    ),
    pattern("OCR is requested", SCSI + r"OCR is requested due to IO timeout", "timeout", LogPlace.SCSI),
    pattern(
        "detected capacity change",
        r"(?P<dev>sd[a-z]{1,4}|nvme\d{1,5}n\d{1,6}|vd[a-z]{1,4}): detected capacity change from \d{1,20} to 0$",
        "device-gone",
        LogPlace.DISK,
    ),
    pattern(
        "read-only block-device",
        r"(?:generic_make_request: )?Trying to write to read-only block-device (?P<dev>[a-z][\w!-]{0,30})",
        "read-only-write",
        LogPlace.DISK,
    ),
    pattern(
        " limit",
        DEVICE + r": rw=\d{1,9}, (?:want=\d{1,20}|sector=\d{1,20}, nr_sectors ?= ?\d{1,20}),? limit=\d{1,20}",
        "beyond-end",
        LogPlace.DISK,
    ),
    pattern(
        "Read Capacity(", SCSI + r"Read Capacity\(1[06]\) failed: Result: hostbyte=", "capacity-error", LogPlace.SCSI
    ),
    pattern(
        "uplicate IDs",
        _NVME + r"(?:globally duplicate IDs|duplicate IDs in subsystem) for nsid \d{1,9}",
        "duplicate-id",
        LogPlace.NVME,
    ),
    pattern(
        "Card not present",
        r"pcieport (?P<dev>[0-9a-f]{4}:[0-9a-f:.]{7}): pciehp: Slot\([\w-]{1,12}\): Card not present",
        "slot-empty",
        LogPlace.PCI,
    ),
    pattern(
        "HC died",
        r"xhci_hcd (?P<dev>[0-9a-f]{4}:[0-9a-f:.]{7}): HC died; cleaning up",
        "controller-fault",
        LogPlace.PCI,
    ),
    pattern(
        "thin provisioning soft threshold",
        SCSI + r"Warning! Received an indication that the LUN reached a thin provisioning soft threshold",
        "thin-low",
        LogPlace.SCSI,
    ),
    pattern("pg failed", SCSI + r"alua: (?:rtpg|stpg) failed", "transport-error", LogPlace.SCSI),
    pattern(
        "Other side returned error",
        r"block (?P<dev>nbd\d{1,5}): Other side returned error \(\d{1,5}\)",
        "io-error",
        LogPlace.DISK,
    ),
    pattern("Possible stuck request", r"block (?P<dev>nbd\d{1,5}): Possible stuck request", "timeout", LogPlace.DISK),
    pattern("UNC", _ATA + r"error: \{ (?:\w{1,6} )*UNC (?:\w{1,6} )*\}", "medium-error", LogPlace.ATA),
    pattern(
        " tag error at ",
        DEVICE + r": (?:guard|ref|app) tag error at (?:sector|location) \d{1,20}",
        "protection-error",
        LogPlace.DISK,
    ),
    pattern(
        "writeback failed for block device",
        r"VFS: Dirty inode writeback failed for block device " + DEVICE + r" \(err=-\d{1,4}\)",
        "write-lost",
        LogPlace.DISK,
    ),
    pattern("beyond end of device", SCSI + r"access beyond end of device", "beyond-end", LogPlace.SCSI),
    pattern("retrying FLUSH", _ATA + r"retrying FLUSH 0x[0-9a-f]{1,2} Emask", "flush-failed", LogPlace.ATA),
    pattern(
        "is smaller than sectors",
        _ATA + r"native sectors \(\d{1,20}\) is smaller than sectors \(\d{1,20}\)",
        "capacity-error",
        LogPlace.ATA,
    ),
    pattern(
        "is not allowed",
        _NVME + r"Connect for subsystem (?P<hidden>\S{1,223}) is not allowed",
        "session-error",
        LogPlace.NVME,
    ),
    pattern(
        "NVME-FC{",
        _NVME
        + r"NVME-FC\{\d{1,6}\}: (?P<then>Max reconnect attempts|dev_loss_tmo \(\d{1,9}\) expired|transport association"
        r" (?:event|error)|controller connectivity lost|resetting controller|error_recovery|io timeout)",
        lambda found: _OF_FC.get(found["then"].partition(" ")[0].lower(), "session-error"),
        LogPlace.NVME,
    ),
    pattern(
        "identifiers changed for nsid", _NVME + r"identifiers changed for nsid \d{1,9}", "device-gone", LogPlace.NVME
    ),
    pattern(
        "shared namespace",
        _NVME + r"(?:IDs don't match for |Duplicate un)shared namespace \d{1,9}",
        "duplicate-id",
        LogPlace.NVME,
    ),
    pattern(
        "keep_alive_end_io", _NVME + r"failed nvme_keep_alive_end_io error=\d{1,5}", "session-error", LogPlace.NVME
    ),
    pattern(
        "emoving controller", _NVME + r"Removing controller(?: \(-?\d{1,5}\))?\.\.\.", "session-lost", LogPlace.NVME
    ),
    pattern(
        "Medium access timeout",
        SCSI + r"Medium access timeout failure\. Offlining disk!",
        "device-gone",
        LogPlace.SCSI,
    ),
    pattern("C2HTermReq", _NVME + r"Received C2HTermReq \(FES =", "session-error", LogPlace.NVME),
    # A paravirtual adapter of a hypervisor: virtio_scsi and vmw_pvscsi.
    pattern(
        " reset",
        SCSI + r"(?:device reset$|SCSI device reset on scsi\d|SCSI (?:Bus|Host) reset$|Forced reset on cmd )",
        "reset",
        LogPlace.SCSI,
    ),
    pattern(
        "tmo expired for SRP",
        r"(?:fast_io_fail|dev_loss)_tmo expired for SRP (?P<dev>port-\d{1,5}:\d{1,5})",
        "session-lost",
        LogPlace.SESSION,
    ),
)
