"""Messages of mdadm, smartd and udev in a system log."""

from __future__ import annotations

from sdstop.collectors.kernel.message import DEVICE, Found, LogPlace, pattern

_MDADM = {"Fail": "member-failed", "FailSpare": "member-failed", "DeviceDisappeared": "array-failed",
          "DegradedArray": "array-reduced"}  # fmt: skip


def _of_mdadm(found: Found) -> str:
    return _MDADM[found["event"]]


PATTERNS = (
    pattern(
        " event detected on md device ",
        rf"(?P<event>{'|'.join(_MDADM)}) event detected on md device /dev/(?P<dev>md[\w-]{{1,60}})"
        r"(?:, component device /dev/[\w!-]{1,60})?",
        _of_mdadm,
        LogPlace.DISK,
    ),
    pattern(
        "FAILED SMART self-check",
        r"Device: /dev/" + DEVICE + r"(?: \[[\w +-]{1,20}\])?, FAILED SMART self-check",
        "sense-hardware",
        LogPlace.DISK,
    ),
    pattern(
        "(pending) sectors",
        r"Device: /dev/" + DEVICE + r"(?: \[[\w +-]{1,20}\])?, \d{1,12} Currently unreadable \(pending\) sectors",
        "medium-error",
        LogPlace.DISK,
    ),
    pattern(
        "ncorrectable sectors",
        r"Device: /dev/" + DEVICE + r"(?: \[[\w +-]{1,20}\])?, \d{1,12} Offline uncorrectable sectors",
        "medium-error",
        LogPlace.DISK,
    ),
    pattern(
        "is taking a long time",
        r"(?P<also>[\w.:!/@-]{1,100}): (?:Worker \[\d{1,10}\] processing SEQNUM=\d{1,20} is taking a long time"
        r"|SEQNUM=\d{1,20} is taking a long time)",
        "udev-stuck",
        LogPlace.NODE,
    ),
    pattern(
        " killed",
        r"(?P<also>[\w.:!/@-]{1,100}): Worker \[\d{1,10}\] processing SEQNUM=\d{1,20} killed",
        "udev-stuck",
        LogPlace.NODE,
    ),
)
