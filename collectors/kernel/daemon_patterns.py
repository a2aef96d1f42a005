"""Messages in system logs of smartd, mdadm's monitor, udev, multipathd, iscsid, dmeventd, corosync and ceph-osd."""

from __future__ import annotations

from sdstop.collectors.kernel.message import LogPlace, pattern

_SMARTD = r"Device: /dev/(?P<dev>sd[a-z]{1,4}|nvme\d{1,5}(?:n\d{1,6})?)(?: \[\w{1,20}\])?, "
_MDADM = r" event detected on md device /dev/"

PATTERNS = (
    pattern("FAILED SMART self-check", _SMARTD + r"FAILED SMART self-check", "failure-predicted", LogPlace.DISK),
    pattern(
        "Failed SMART usage Attribute",
        _SMARTD + r"Failed SMART usage Attribute: \d{1,3} [\w-]{1,40}",
        "failure-predicted",
        LogPlace.DISK,
    ),
    pattern(
        "unreadable",
        _SMARTD + r"\d{1,12} (?:Currently unreadable \(pending\)|Total unreadable) sectors",
        "pending-sectors",
        LogPlace.DISK,
    ),
    pattern(
        "ffline uncorrectable",
        _SMARTD + r"\d{1,12} (?:Total o|O)ffline uncorrectable sectors",
        "pending-sectors",
        LogPlace.DISK,
    ),
    pattern(
        "error count increased",
        _SMARTD + r"(?P<test>Self-Test Log|ATA) error count increased from \d{1,9} to \d{1,9}",
        lambda found: "error-count" if found["test"] == "ATA" else "selftest-failed",
        LogPlace.DISK,
    ),
    pattern(
        "Critical Warning (",
        _SMARTD + r"Critical Warning \(0x[0-9a-f]{2}\): [\w, -]{1,80}",
        "critical-warning",
        LogPlace.DISK,
    ),
    pattern(
        "Fail event detected",
        r"Fail" + _MDADM + r"(?P<hidden>[\w/-]{1,60}), component device /dev/(?P<dev>\w{1,40})",
        "member-failed",
        LogPlace.DISK,
    ),
    pattern("DegradedArray event", r"DegradedArray" + _MDADM + r"(?P<dev>md\d{1,5})", "degraded-array", LogPlace.DISK),
    pattern(
        "remaining active paths",
        r"(?P<dev>[\w.:+-]{1,128}): remaining active paths: (?P<left>\d{1,5})$",
        lambda found: "path-restored" if int(found["left"]) else "paths-gone",
        LogPlace.MAPPED,
    ),
    pattern(
        "is operational after recovery",
        r"(?P<dev>connection\d{1,6}:\d{1,4}) is operational after recovery",
        "session-restored",
        LogPlace.SESSION,
    ),
    pattern(
        "% full.",
        r"(?:WARNING: )?Thin pool (?P<dev>[\w.+-]{1,256}?)(?: (?:data|metadata))? is now \d{1,3}\.\d{2}% full\.",
        "thin-low",
        LogPlace.MAPPED,
    ),
    pattern(
        " array, ",
        r"(?:WARNING: )?Device #\d{1,4} of \w{1,20} array, (?P<dev>[\w.+-]{1,256}), has failed\.",
        "member-failed",
        LogPlace.MAPPED,
    ),
    pattern(
        "A processor failed",
        r" {0,4}(?:\[TOTEM {0,4}\] )?A processor failed, forming new configuration",
        "peer-lost",
        LogPlace.NODE,
    ),
    pattern(
        "heartbeat_check: no reply from",
        r"(?:\S{1,40} \w{4,20} {1,3}-1 )?osd\.\d{1,6} \d{1,9} heartbeat_check: no reply from "
        r"(?P<hidden>[\w.:\[\]/]{3,60}|-) osd\.\d",
        "peer-lost",
        LogPlace.NODE,
    ),
    pattern(
        " processing SEQNUM=",
        r"(?P<also>[\w.:!/@-]{1,100}): Worker \[\d{1,10}\] processing SEQNUM=\d{1,20} (?:is taking a long time|killed)",
        "udev-stuck",
        LogPlace.NODE,
    ),
)
