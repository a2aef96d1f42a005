"""Messages of ZFS and of its event daemon."""

from __future__ import annotations

from sdstop.collectors.kernel.message import Found, LogPlace, pattern

_ZED = {
    "io": "zfs-io",
    "checksum": "zfs-checksum",
    "io_failure": "pool-suspended",
    "probe_failure": "zfs-io",
    "data": "zfs-io",
    "delay": "timeout",
    "deadman": "timeout",
    "removed": "vdev-failed",
    "vdev.unknown": "vdev-failed",
    "vdev.open_failed": "vdev-failed",
    "vdev.corrupt_data": "vdev-failed",
    "vdev.no_replicas": "vdev-failed",
    "vdev.bad_label": "vdev-failed",
    "vdev.bad_guid_sum": "vdev-failed",
    "vdev.too_small": "vdev-failed",
}

_BAD_VDEV = frozenset({"FAULTED", "DEGRADED", "UNAVAIL", "REMOVED", "CANT_OPEN"})


def _of_zed(found: Found) -> str:
    if found["class"] == "statechange":
        return "vdev-failed" if found["state"] in _BAD_VDEV else ""
    return _ZED.get(found["class"], "")


PATTERNS = (
    pattern(
        "ncorrectable I/O failure",
        (
            r"(?:SPLError: \d{1,10}:\d{1,5}:\([\w.:()-]{1,60}\) )?WARNING: Pool '(?P<dev>[\w.: -]{1,200})'"
            r" has encountered an uncorrectable I/O"
            r" failure and has been suspended"
        ),
        "pool-suspended",
        LogPlace.POOL,
    ),
    pattern(
        "eid=",
        (
            r"eid=\d{1,9} class=(?P<class>[\w.]{1,60}) pool='(?P<also>[\w.: -]{1,200})'(?: vdev="
            r"(?P<dev>[\w./:-]{1,200}))?(?:.{0,400}? vdev_state=(?P<state>[A-Z_]{1,20}))?"
        ),
        _of_zed,
        LogPlace.POOL,
    ),
    pattern(
        " pool_guid=",
        (  # ZFS 0.7 and 0.8
            r"eid=\d{1,9} class=(?P<class>[\w.]{1,60}) pool_guid=(?P<also>0x[0-9A-Fa-f]{1,16}|-)"
            r"(?:(?: vdev_path=| vdev=)(?P<dev>[\w./:-]{1,200}))?(?:.{0,400}? vdev_state=(?P<state>[A-Z_]{1,20}))?"
        ),
        _of_zed,
        LogPlace.POOL,
    ),
    pattern(
        "suspending pool",
        r"WARNING: MMP writes to pool '(?P<dev>[\w.: -]{1,200})' have not succeeded in over \d{1,9} s; suspending pool",
        "pool-suspended",
        LogPlace.POOL,
    ),
)
