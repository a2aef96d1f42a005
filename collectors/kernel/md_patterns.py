"""Messages of md arrays."""

from __future__ import annotations

from sdstop.collectors.kernel.message import DEVICE, LogPlace, pattern

_MD = r"md/(?:raid\d{0,2}|linear|multipath|faulty):(?P<hidden>[\w-]{1,60}): "

PATTERNS = (
    pattern(
        "isk failure on", _MD + r"Disk failure on " + DEVICE + r", disabling device", "member-failed", LogPlace.DISK
    ),
    pattern(
        "peration continuing on",
        r"md/raid\d{0,2}:(?P<dev>[\w-]{1,60}): Operation continuing on \d{1,4} devices",
        "array-reduced",
        LogPlace.DISK,
    ),
    pattern(
        "failing array",
        r"md/(?:raid0:?|linear:?)(?P<dev>[\w-]{1,60}): Disk failure on [\w!-]{1,60} detected, failing array",
        "array-failed",
        LogPlace.DISK,
    ),
    pattern("md: kicking", r"md: kicking non-fresh " + DEVICE + r" from array", "member-failed", LogPlace.DISK),
    pattern(
        "rescheduling sector",
        r"md/raid\d{0,2}:(?:(?P<hidden>[\w-]{1,60}): )?" + DEVICE + r": rescheduling sector \d{1,20}",
        "read-repaired",
        LogPlace.DISK,
    ),
    pattern(
        "read error corrected",
        r"md/raid\d{0,2}:(?P<hidden>[\w-]{1,60}): read error corrected \(\d{1,9} sectors at \d{1,20} on "
        + DEVICE
        + r"\)",
        "read-repaired",
        LogPlace.DISK,
    ),
    pattern(
        "read error not correctable",
        r"md/raid\d{0,2}:(?P<hidden>[\w-]{1,60}): read error not correctable \(sector \d{1,20} on " + DEVICE + r"\)",
        "read-unrepaired",
        LogPlace.DISK,
    ),
    pattern(
        "read error NOT corrected",
        r"md/raid\d{0,2}:(?P<hidden>[\w-]{1,60}): read error NOT corrected!! \(sector \d{1,20} on " + DEVICE + r"\)",
        "read-unrepaired",
        LogPlace.DISK,
    ),
    pattern(
        "aid device",
        r"md/raid10:(?P<hidden>[\w-]{1,60}): "
        + DEVICE
        + r": (?:Raid device exceeded read_error threshold|Failing raid "
        r"device)",
        "read-unrepaired",
        LogPlace.DISK,
    ),
    pattern(
        "unrecoverable I/O",
        (
            r"md/raid\d{0,2}:(?P<dev>[\w-]{1,60}): (?:[\w-]{1,60}: )?unrecoverable I/O (?:read"
            r" )?error"
        ),
        "read-unrepaired",
        LogPlace.DISK,
    ),
    pattern(
        "enough operational",
        r"md/raid\d{0,2}:(?P<dev>[\w-]{1,60}): not enough operational (?:devices|mirrors)",
        "array-failed",
        LogPlace.DISK,
    ),
    pattern(
        "dirty degraded array",
        r"md/raid\d{0,2}:(?P<dev>[\w-]{1,60}): (?P<now>cannot start|starting) dirty degraded array",
        lambda found: "array-failed" if found["now"] == "cannot start" else "",
        LogPlace.DISK,
    ),
    pattern(
        "failed to run raid",
        r"md/raid\d{0,2}:(?P<dev>[\w-]{1,60}): failed to run raid set",
        "array-failed",
        LogPlace.DISK,
    ),
    pattern(
        "Cannot continue operation",
        r"md/raid\d{0,2}:(?P<dev>[\w-]{1,60}): Cannot continue operation",
        "array-failed",
        LogPlace.DISK,
    ),
    pattern("md: recovery of", r"md: recovery of RAID array (?P<dev>[\w-]{1,60})", "recovery", LogPlace.DISK),
    pattern("recovery done", r"md: (?P<dev>[\w-]{1,60}): recovery done", "recovery-done", LogPlace.DISK),
    pattern(
        " out of ",
        r"md/raid\d{0,2}:(?P<dev>md[\w-]{1,60}): (?:raid level \d{1,2} )?active with (?P<active>\d{1,5}) out of "
        r"(?P<all>\d{1,5}) (?:devices|mirrors)",
        lambda found: "degraded-array" if int(found["active"]) < int(found["all"]) else "",
        LogPlace.DISK,
    ),
    pattern("super_written gets error", r"md: super_written gets error=-?\d{1,4}", "superblock-error", LogPlace.NODE),
    pattern(
        "bitmap initialisation failed",
        r"(?P<dev>md[\w-]{1,60}): bitmap initialisation failed: -\d{1,4}",
        "array-failed",
        LogPlace.DISK,
    ),
    pattern(
        "disabling internal bitmap",
        r"(?P<dev>md[\w-]{1,60}): disabling internal bitmap due to errors",
        "bitmap-lost",
        LogPlace.DISK,
    ),
    pattern(
        "kicking failed bitmap file",
        r"(?P<dev>md[\w-]{1,60}): kicking failed bitmap file\b",
        "bitmap-lost",
        LogPlace.DISK,
    ),
    pattern(
        " is missing",
        r"md/raid\d{0,2}:(?P<dev>[\w-]{1,60}): journal (?:device|disk) is missing",
        "journal-missing",
        LogPlace.DISK,
    ),
    pattern(
        "not enough configured devices",
        r"md/raid\d{0,2}:(?P<dev>[\w-]{1,60}): not enough configured devices \(\d{1,5}, minimum \d{1,5}\)",
        "array-failed",
        LogPlace.DISK,
    ),
    pattern(
        "insufficient working devices",
        r"md/raid10:(?P<dev>[\w-]{1,60}): insufficient working devices for recovery",
        "degraded-array",
        LogPlace.DISK,
    ),
)
