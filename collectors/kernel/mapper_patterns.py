"""Messages of device mapper, VDO, bcache and flashcache."""

from __future__ import annotations

from sdstop.collectors.kernel.message import DEVICE, LogPlace, pattern

_DM = r"device-mapper: (?P<target>[\w -]{1,30}): (?P<dev>\d{1,4}:\d{1,7}): "

_MODES = {
    "out-of-data-space": "thin-full",
    "read-only": "thin-readonly",
    "fail": "thin-failed",
    "write": "thin-restored",
}

PATTERNS = (
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
    pattern(
        "unable to service pool target messages",
        _DM + r"unable to service pool target messages in READ_ONLY or FAIL mode",
        "thin-readonly",
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
        "Completing ",
        r"(?:device-mapper: )?(?P<dev>k?vdo\d{1,5}):[\w. -]{1,40}: Completing \w{1,10} VIO for LBN \d{1,20} with error",
        "io-error",
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
        "checker reports path is down",
        r"(?P<hidden>[\w.-]{1,128}): " + DEVICE + r" - \w{1,20} checker reports path is down",
        "path-failed",
        LogPlace.DISK,
    ),
    pattern(
        "flashcache",
        r"(?:device-mapper: )?(?:flashcache: )?(?P<dev>flashcache)_\w{1,40}: (?:switching (?P<hidden>\S{1,128}) to "
        r"(?P<bypass>BYPASS) mode|io error -?\d{1,6} block \d{1,20})",
        lambda found: "cache-failed" if found["bypass"] else "io-error",
        LogPlace.CONTROLLER,
    ),
    pattern(
        "read superblock of device",
        r"device-mapper: raid: Failed to read superblock of device at position \d{1,4}",
        "superblock-error",
        LogPlace.NODE,
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
        "aborting current metadata transaction",
        _DM + r"aborting current metadata transaction",
        lambda found: "cache-failed" if found["target"] == "cache" else "thin-readonly",
        LogPlace.NUMBER,
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
)
