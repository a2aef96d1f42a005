"""Messages of md, device mapper, bcache, ZFS, and sessions with servers."""

from __future__ import annotations

from sdstop.collectors.kernel.message import DEVICE, Found, LogPlace, pattern

_MD = r"md/(?:raid\d{0,2}|linear|multipath|faulty):(?P<hidden>[\w-]{1,60}): "
_DM = r"device-mapper: (?P<target>[\w -]{1,30}): (?P<dev>\d{1,4}:\d{1,7}): "
_MODES = {
    "out-of-data-space": "thin-full",
    "read-only": "thin-readonly",
    "fail": "thin-failed",
    "write": "thin-restored",
}
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
        "switching pool to",
        _DM + r"switching pool to (?P<mode>[a-z-]{1,20})(?: \((?:queue|error) IO\))? mode",
        lambda found: _MODES.get(found["mode"], ""),
        LogPlace.NUMBER,
    ),
    pattern(
        "reached low water mark",
        _DM + r"reached low water mark for (?:data|metadata) device",
        "thin-low",
        LogPlace.NUMBER,
    ),
    pattern("no free", _DM + r"no free (?:metadata|data) space available", "thin-full", LogPlace.NUMBER),
    pattern(
        "etadata operation",
        _DM + r"metadata operation '\w{1,60}' failed: error = -\d{1,4}",
        lambda found: "cache-failed" if found["target"] == "cache" else "thin-readonly",
        LogPlace.NUMBER,
    ),
    pattern("switching cache to", _DM + r"switching cache to (?:fail|read-only) mode", "cache-failed", LogPlace.NUMBER),
    pattern(
        "Failing path",
        (
            r"device-mapper: multipath: (?:\d{1,4}:\d{1,7}: )?Failing path "
            r"(?P<dev>\d{1,4}:\d{1,7})"
        ),
        "path-failed",
        LogPlace.NUMBER,
    ),
    pattern(
        "einstating path",
        (
            r"device-mapper: multipath: (?:\d{1,4}:\d{1,7}: )?Reinstating path "
            r"(?P<dev>\d{1,4}:\d{1,7})"
        ),
        "path-restored",
        LogPlace.NUMBER,
    ),
    pattern(
        "nvalidating snapshot",
        (
            r"device-mapper: snapshots: (?:(?P<dev>\d{1,4}:\d{1,7}): )?Invalidating snapshot: "
            r"(?:Unable to allocate exception|Error reading/writing)"
        ),
        "snapshot-invalid",
        LogPlace.NUMBER,
    ),
    pattern(
        "hecksum failed at sector",
        r"device-mapper: integrity: " + DEVICE + r": Checksum failed at sector 0x[0-9a-f]{1,16}",
        "integrity-error",
        LogPlace.DISK,
    ),
    pattern(
        "too many IO errors on",
        r"bcache: \w{1,40}\(\) (?:stop )?" + DEVICE + r": too many IO errors on",
        "cache-failed",
        LogPlace.DISK,
    ),
    pattern(
        "IO error on",
        r"bcache: \w{1,40}\(\) " + DEVICE + r": IO error on [\w ]{1,40}(?P<lost>, unrecoverable)?",
        lambda found: "io-error" if found["lost"] else "cache-error",
        LogPlace.DISK,
    ),
    pattern(
        " out of ",
        r"md/raid\d{0,2}:(?P<dev>md[\w-]{1,60}): (?:raid level \d{1,2} )?active with (?P<active>\d{1,5}) out of "
        r"(?P<all>\d{1,5}) (?:devices|mirrors)",
        lambda found: "degraded-array" if int(found["active"]) < int(found["all"]) else "",
        LogPlace.DISK,
    ),
    pattern(
        "Completing ",
        r"(?:device-mapper: )?(?P<dev>k?vdo\d{1,5}):[\w. -]{1,40}: Completing \w{1,10} VIO for LBN \d{1,20} with error",
        "io-error",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "mapVolIO_ReportIOErrorIfNeeded",
        r"(?P<dev>ScaleIO) mapVolIO_ReportIOErrorIfNeeded:\d{1,6} ?:\[\d{1,12}\] IO-ERROR",
        "target-error",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "disabling caching",
        r"(?P<dev>bcache): (?:bch_cache_set_error\(\) )?error on (?P<hidden>[0-9a-f-]{1,40}): [ -~]{1,160}, "
        r"disabling caching",
        "cache-failed",
        LogPlace.CONTROLLER,
    ),
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
        "detected conn error",
        r" ?(?P<dev>connection\d{1,6}:\d{1,4}): detected conn error \(\d{1,6}\)",
        "session-error",
        LogPlace.SESSION,
    ),
    pattern(
        "ping timeout",
        r" ?(?P<dev>connection\d{1,6}:\d{1,4}): ping timeout of \d{1,6} secs expired",
        "session-error",
        LogPlace.SESSION,
    ),
    pattern(
        "session recovery timed out",
        r" ?(?P<dev>session\d{1,6}): session recovery timed out after \d{1,6} secs",
        "session-lost",
        LogPlace.SESSION,
    ),
    pattern(
        "not responding",
        r"nfs: server (?P<dev>[\w.:%-]{1,253}) not responding, (?:still trying|timed out)",
        "server-silent",
        LogPlace.SERVER,
    ),
    pattern(" OK", r"nfs: server (?P<dev>[\w.:%-]{1,253}) OK", "server-back", LogPlace.SERVER),
    pattern(
        "mds",
        r"(?:libceph|ceph): (?:\[[0-9a-f -]{20,60}\]: ?)?(?P<dev>mds\d{1,5}) (?P<now>hung|[a-z]{4} back)",
        lambda found: "server-silent" if found["now"] == "hung" else "server-back",
        LogPlace.SERVER,
    ),
    pattern(
        "has not responded in",
        (
            r"CIFS:? (?:VFS: )?(?:Server )?(?:\\\\|//)?(?P<dev>[\w.:%-]{1,253}) has not responded in \d{1,6}"
            r" seconds"
        ),
        "server-silent",
        LogPlace.SERVER,
    ),
    pattern(
        " stuck for ",
        r"CIFS:? (?:VFS: )?(?:\\\\|//)(?P<dev>[\w.:%-]{1,253}) sends on sock [0-9a-fx]{1,18} stuck for \d{1,6} seconds",
        "server-silent",
        LogPlace.SERVER,
    ),
    pattern(
        "checker reports path is down",
        r"(?P<hidden>[\w.-]{1,128}): " + DEVICE + r" - \w{1,20} checker reports path is down",
        "path-failed",
        LogPlace.DISK,
    ),
    pattern(
        " disk( ",
        (
            r"(?:block |drbd (?P<hidden>\S{1,128}) )(?P<dev>drbd\d{1,6}): (?:[\w( )>-]{0,120}? )?disk\( \w{1,20} -> "
            r"(?:Failed|Diskless) \)"
        ),
        "device-gone",
        LogPlace.DISK,
    ),
    pattern(
        "Split-Brain detected but unresolved",
        r"(?:block |drbd (?P<hidden>\S{1,128}) )(?P<dev>drbd\d{1,6})(?: (?P<hidden_peer>\S{1,128}))?: "
        r"Split-Brain detected but unresolved",
        "split-brain",
        LogPlace.DISK,
    ),
    pattern(
        "Split-Brain detected but unresolved",
        r"drbd (?P<dev>[\w.+-]{1,128})(?: (?P<hidden_peer>\S{1,128}))?: Split-Brain detected but unresolved",
        "split-brain",
        LogPlace.DISK,
    ),
    pattern(
        "ABORT_TASK",
        r"ABORT_TASK: Found referenced \w{1,20} task_tag: \d{1,20}",
        "client-abort",
        LogPlace.NODE,
    ),
    pattern(
        " expired",
        r"nvmet: ctrl \d{1,6} keep-alive timer \(\d{1,6} seconds\) expired|Time2Retain timer expired for SID: \d{1,10}",
        "client-lost",
        LogPlace.NODE,
    ),
    pattern(
        "Did not receive response to NOPIN",
        r"Did not receive response to NOPIN on CID: \d{1,6}, failing connection",
        "client-lost",
        LogPlace.NODE,
    ),
    pattern("nvmet: ctrl ", r"nvmet: ctrl \d{1,6} fatal error occurred", "client-lost", LogPlace.NODE),
    pattern(
        "ata error cmd=",
        r"aoe: (?:aoecmd_ata_rsp: )?ata error cmd=[0-9A-F]{2}h stat=[0-9A-F]{2}h from (?P<dev>e\d{1,5}\.\d{1,3})",
        "target-error",
        LogPlace.AOE,
    ),
    pattern("is not up", r"aoe: device (?P<dev>\d{1,5}\.\d{1,3}) is not up", "offline-io", LogPlace.AOE),
    pattern(
        "error packet from",
        r"aoe: error packet from (?P<dev>\d{1,5}\.\d{1,3})(?:@(?P<hidden>[\w.@-]{1,15}))?; ecode=\d{1,3}",
        "target-error",
        LogPlace.AOE,
    ),
    pattern(
        "flashcache",
        r"(?:device-mapper: )?(?:flashcache: )?(?P<dev>flashcache)_\w{1,40}: (?:switching (?P<hidden>\S{1,128}) to "
        r"(?P<bypass>BYPASS) mode|io error -?\d{1,6} block \d{1,20})",
        lambda found: "cache-failed" if found["bypass"] else "io-error",
        LogPlace.CONTROLLER,
    ),
    pattern("super_written gets error", r"md: super_written gets error=-?\d{1,4}", "superblock-error", LogPlace.NODE),
    pattern(
        "read superblock of device",
        r"device-mapper: raid: Failed to read superblock of device at position \d{1,4}",
        "superblock-error",
        LogPlace.NODE,
    ),
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
        "over max size limit",
        r"blk_(?:cloned_rq_check_limits|insert_cloned_request): over max size limit",
        "request-refused",
        LogPlace.NODE,
    ),
    pattern(
        "INTEGRITY AEAD ERROR",
        r"device-mapper: crypt: " + DEVICE + r": INTEGRITY AEAD ERROR",
        "integrity-error",
        LogPlace.DISK,
    ),
    pattern("is corrupted", _DM + r"(?:data|metadata) block \d{1,20} is corrupted", "integrity-error", LogPlace.NUMBER),
    pattern(
        "until repaired",
        _DM + r"unable to switch (?:cache|pool) to write mode until repaired",
        lambda found: "cache-failed" if found["target"] == "cache" else "thin-readonly",
        LogPlace.NUMBER,
    ),
    pattern(
        "ntering read-only mode",
        r"(?:device-mapper: )?(?P<dev>k?vdo\d{1,5}):[\w. -]{1,40}: (?:Unrecoverable error, )?"
        r"[Ee]ntering read-only mode",
        "volume-readonly",
        LogPlace.CONTROLLER,
    ),
    pattern(
        " IO error sector",
        r"(?:block |drbd (?P<hidden>\S{1,128}) )(?P<dev>drbd\d{1,6}): local (?:READ|WRITE|UNKNOWN) IO error sector",
        "io-error",
        LogPlace.DISK,
    ),
    pattern(
        "Local IO failed in",
        r"(?:block |drbd (?P<hidden>\S{1,128}) )(?P<dev>drbd\d{1,6}): Local IO failed in \w{1,60}",
        "device-gone",
        LogPlace.DISK,
    ),
    pattern(
        "aborting current metadata transaction",
        _DM + r"aborting current metadata transaction",
        lambda found: "cache-failed" if found["target"] == "cache" else "thin-readonly",
        LogPlace.NUMBER,
    ),
    pattern(
        "suspending pool",
        r"WARNING: MMP writes to pool '(?P<dev>[\w.: -]{1,200})' have not succeeded in over \d{1,9} s; suspending pool",
        "pool-suspended",
        LogPlace.POOL,
    ),
    pattern(
        "not responding",
        r"lockd: server (?P<dev>[\w.:%-]{1,253}) not responding, (?:still trying|timed out)",
        "server-silent",
        LogPlace.SERVER,
    ),
    pattern(" OK", r"lockd: server (?P<dev>[\w.:%-]{1,253}) OK", "server-back", LogPlace.SERVER),
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
    pattern(
        "disabled on cached dev",
        r"bcache: \w{1,40}\(\) I/O disabled on cached dev " + DEVICE,
        "cache-failed",
        LogPlace.DISK,
    ),
    pattern(
        "missing!",
        r"(?P<dev>bcache): \w{1,40}\(\) journal entries \d{1,20}-\d{1,20} missing!",
        "cache-failed",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "reading priorities",
        r"(?P<dev>bcache): \w{1,40}\(\) bad (?:magic|csum) reading priorities",
        "cache-error",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "closing iSCSI connection",
        r"(?:Unable to recover from DataOut timeout while in ERL=0|Command ITT: 0x[0-9a-f]{8} exceeded max retries for "
        r"DataOUT timeout \d{1,9}), closing iSCSI connection",
        "client-lost",
        LogPlace.NODE,
    ),
)
