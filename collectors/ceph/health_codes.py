"""Codes of Ceph's health checks by their messages: `ceph -s` prints the messages alone.

Messages: src/mon/HealthMonitor.cc, src/mon/PGMap.cc (get_health_checks), src/osd/OSDMap.cc (check_health),
src/mds/FSMap.cc, src/mds/MDSMap.cc, src/mgr and src/pybind/mgr of Ceph 12 to 19; src/mon/PGMonitor.cc, OSDMonitor.cc
and Monitor.cc (get_health) of Ceph 0.80 to 11, which had no codes.
"""

from __future__ import annotations

from sdstop.collectors.ceph.health import STOPPING, flags_in
from sdstop.core.expression import expression

UNKNOWN = "UNKNOWN_CHECK"
"""Code of a check whose message is not listed."""
SERIOUS = frozenset({
    "MDS_ALL_DOWN", "MDS_DAMAGE", "MGR_MODULE_ERROR", "MON_DISK_CRIT", "OSD_FULL", "OSD_OUT_OF_ORDER_FULL",
    "OSD_SCRUB_ERRORS", "PG_DAMAGED", "PG_DEGRADED_FULL", "PG_RECOVERY_FULL", "REQUEST_STUCK",
})  # fmt: skip
"""Checks that Ceph always reports as errors."""
_MESSAGES = (
    (r"\d+/\d+ mons? down, quorum", "MON_DOWN"),
    (r"clock skew detected on mon", "MON_CLOCK_SKEW"),
    (r"mons? .*\bvery low on available space", "MON_DISK_CRIT"),
    (r"mons? .*\blow on available space", "MON_DISK_LOW"),
    (r"mons? .*\busing a lot of disk space", "MON_DISK_BIG"),
    (r"\d+ monitors? ha(?:s|ve) not enabled msgr2", "MON_MSGR2_NOT_ENABLED"),
    (r"mons? .*\ballowing insecure global_id reclaim", "AUTH_INSECURE_GLOBAL_ID_RECLAIM_ALLOWED"),
    (r"clients? .*\busing insecure global_id reclaim", "AUTH_INSECURE_GLOBAL_ID_RECLAIM"),
    (r"\d+ auth entit(?:y|ies) ha(?:s|ve) invalid capabilities", "AUTH_BAD_CAPS"),
    (r"no active mgr", "MGR_DOWN"),
    (r"Module '.*' has failed dependency|\d+ mgr modules have failed dependencies", "MGR_MODULE_DEPENDENCY"),
    (r"Module '.*' has failed|\d+ mgr modules have failed", "MGR_MODULE_ERROR"),
    (r"\d+ osds? down", "OSD_DOWN"),
    (r"\d+ (?P<kind>[a-z]+?)s? \(\d+ osds?\) down", ""),
    (r"\d+ osds exist in the crush map but not in the osdmap", "OSD_ORPHAN"),
    (r"\d+ backfillfull osd\(s\)", "OSD_BACKFILLFULL"),
    (r"\d+ nearfull osd\(s\)", "OSD_NEARFULL"),
    (r"\d+ full osd\(s\)", "OSD_FULL"),
    (r"full ratio\(s\) out of order", "OSD_OUT_OF_ORDER_FULL"),
    (r"Some pool\(s\) have the .* flag\(s\) set", "POOL_SCRUB_FLAGS"),
    (r"\d+ OSDs or CRUSH .* flags set|\d+ osd\(s\) have .* flags set", "OSD_FLAGS"),
    (r"\S+ flag\(s\) set", "OSDMAP_FLAGS"),
    (r"crush map has legacy tunables", "OLD_CRUSH_TUNABLES"),
    (r"crush map has straw_calc_version=0", "OLD_CRUSH_STRAW_CALC_VERSION"),
    (r"\d+ cache pools are missing hit_sets", "CACHE_POOL_NO_HIT_SET"),
    (r"\d+ cache pools at or near target size", "CACHE_POOL_NEAR_FULL"),
    (r"\d+ pool\(s\) backfillfull", "POOL_BACKFILLFULL"),
    (r"\d+ pool\(s\) nearfull", "POOL_NEARFULL"),
    (r"\d+ pools nearfull", "POOL_NEAR_FULL"),
    (r"\d+ (?:pool\(s\)|pools) full", "POOL_FULL"),
    (r"\d+ pool\(s\) have no replicas configured", "POOL_NO_REDUNDANCY"),
    (r"\d+ pool\(s\) have non-power-of-two pg_num", "POOL_PG_NUM_NOT_POWER_OF_TWO"),
    (r"\d+ pools have too few placement groups", "POOL_TOO_FEW_PGS"),
    (r"\d+ pools have too many placement groups", "POOL_TOO_MANY_PGS"),
    (r"\d+ pools have pg_num > pgp_num", "SMALLER_PGP_NUM"),
    (r"\d+ pools have many more objects per pg than average", "MANY_OBJECTS_PER_PG"),
    (r"application not enabled on \d+ pool|\d+ pool\(s\) do not have an application enabled", "POOL_APP_NOT_ENABLED"),
    (r"too few PGs per OSD", "TOO_FEW_PGS"),
    (r"too many PGs per OSD", "TOO_MANY_PGS"),
    (r"OSD count \d+ < osd_pool_default_size", "TOO_FEW_OSDS"),
    (r"Reduced data availability", "PG_AVAILABILITY"),
    (r"Degraded data redundancy \(low space\)", "PG_DEGRADED_FULL"),
    (r"Degraded data redundancy", "PG_DEGRADED"),
    (r"Possible data damage", "PG_DAMAGED"),
    (r"Full OSDs blocking recovery", "PG_RECOVERY_FULL"),
    (r"Low space hindering backfill", "PG_BACKFILL_FULL"),
    (r"\d+/\d+ objects misplaced", "OBJECT_MISPLACED"),
    (r"\d+/\d+ objects unfound", "OBJECT_UNFOUND"),
    (r"\d+ scrub errors", "OSD_SCRUB_ERRORS"),
    (r"Too many repaired reads on \d+ OSDs", "OSD_TOO_MANY_REPAIRS"),
    (r"\d+ large omap objects", "LARGE_OMAP_OBJECTS"),
    (r"\d+ slow requests are blocked", "REQUEST_SLOW"),
    (r"\d+ stuck requests are blocked", "REQUEST_STUCK"),
    (r"\d+ slow ops, oldest one blocked for", "SLOW_OPS"),
    (r"\d+ pgs not deep-scrubbed", "PG_NOT_DEEP_SCRUBBED"),
    (r"\d+ pgs not scrubbed", "PG_NOT_SCRUBBED"),
    (r"(?:Slow OSD heartbeats|Long heartbeat ping times) on back", "OSD_SLOW_PING_TIME_BACK"),
    (r"(?:Slow OSD heartbeats|Long heartbeat ping times) on front", "OSD_SLOW_PING_TIME_FRONT"),
    (r"mon.* has mon_osd_down_out_interval set to 0", "OSD_NO_DOWN_OUT_INTERVAL"),
    (r"\d+ osd\(s\) are running Filestore", "OSD_FILESTORE"),
    (r"\d+ (?:daemons|daemon\(s\)) have recently crashed", "RECENT_CRASH"),
    (r"\d+ mgr modules have recently crashed", "RECENT_MGR_MODULE_CRASH"),
    (r"Telemetry requires re-opt-in", "TELEMETRY_CHANGED"),
    (r"There are daemons running (?:an older|multiple old)", "DAEMON_OLD_VERSION"),
    (r"Too many daemons are expected to fail soon", "DEVICE_HEALTH_TOOMANY"),
    (r"\d+ daemon\(s\) expected to fail soon", "DEVICE_HEALTH_IN_USE"),
    (r"\d+ (?:device\(s\)|devices?) expected to fail soon", "DEVICE_HEALTH"),
    (r"\d+ OSD\(s\) experiencing BlueFS spillover", "BLUEFS_SPILLOVER"),
    (r"\d+ OSD\(s\) reporting legacy \(not per-pool\) BlueStore stats", "BLUESTORE_LEGACY_STATFS"),
    (r"\d+ OSD\(s\) reporting legacy \(not per-pool\) BlueStore omap", "BLUESTORE_NO_PER_POOL_OMAP"),
    (r"\d+ OSD\(s\) reporting legacy \(not per-pg\) BlueStore omap", "BLUESTORE_NO_PER_PG_OMAP"),
    (r"\d+ OSD\(s\) have spurious read errors", "BLUESTORE_SPURIOUS_READ_ERRORS"),
    (r"\d+ OSD\(s\) have dangerous mismatch between BlueStore", "BLUESTORE_DISK_SIZE_MISMATCH"),
    (r"\d+ OSD\(s\) experiencing slow operations in BlueStore", "BLUESTORE_SLOW_OP_ALERT"),
    (r"\d+ filesystems? (?:is|are) degraded", "FS_DEGRADED"),
    (r"\d+ filesystems? ha(?:s|ve) a failed mds daemon", "FS_WITH_FAILED_MDS"),
    (r"\d+ filesystems? (?:is|are) offline", "MDS_ALL_DOWN"),
    (r"\d+ filesystems? (?:is|are) online with fewer MDS than max_mds", "MDS_UP_LESS_THAN_MAX"),
    (r"insufficient standby MDS daemons available", "MDS_INSUFFICIENT_STANDBY"),
    (r"\d+ MDSs report slow metadata IOs", "MDS_SLOW_METADATA_IO"),
    (r"\d+ MDSs report slow requests", "MDS_SLOW_REQUEST"),
    (r"\d+ MDSs behind on trimming", "MDS_TRIM"),
    (r"\d+ MDSs report oversized cache", "MDS_CACHE_OVERSIZED"),
    (r"\d+ MDSs report damaged metadata", "MDS_DAMAGE"),
    (r"\d+ MDSs are read only", "MDS_READ_ONLY"),
    (r"\d+ clients failing to respond to cache pressure", "MDS_CLIENT_RECALL"),
    (r"\d+ clients failing to respond to capability release", "MDS_CLIENT_LATE_RELEASE"),
    (r"\d+ clients failing to advance oldest client", "MDS_CLIENT_OLDEST_TID"),
    (r"\d+ failed cephadm daemon\(s\)", "CEPHADM_FAILED_DAEMON"),
    (r"\d+ hosts? fail(?:ed|ing)? cephadm check", "CEPHADM_HOST_CHECK_FAILED"),
    (r"\d+ stray daemon\(s\) not managed by cephadm", "CEPHADM_STRAY_DAEMON"),
    (r"\d+ stray host\(s\) with \d+ daemon\(s\) not managed by cephadm", "CEPHADM_STRAY_HOST"),
    (r"cephadm background work is paused", "CEPHADM_PAUSED"),
)  # fmt: skip
_OLD_MESSAGES = (
    (r"\d+ mons down, quorum", "MON_DOWN"),
    (r"\d+/\d+ in osds are down", "OSD_DOWN"),
    (r"\d+ near full osd\(s\)", "OSD_NEARFULL"),
    (r"pool '.*' is full", "POOL_FULL"),
    (r"\d+ pgs (?:are )?stuck (?:inactive|stale)|\d+ pgs (?:down|incomplete|peering|stale)$", "PG_AVAILABILITY"),
    (r"\d+ pgs (?:inconsistent|repair)$", "PG_DAMAGED"),
    (r"\d+ pgs backfill_toofull$", "PG_BACKFILL_FULL"),
    (r"\d+ pgs (?:stuck )?(?:degraded|undersized)$|recovery \d+/\d+ objects degraded", "PG_DEGRADED"),
    (r"recovery \d+/\d+ unfound", "OBJECT_UNFOUND"),
    (r"\d+ pgs (?:stuck unclean|recovering|recovery_wait|backfill_wait|backfilling|splitting)$", "OBJECT_MISPLACED"),
    (r"recovery \d+/\d+ objects misplaced", "OBJECT_MISPLACED"),
    (r"\d+ requests are blocked > \d+ sec|\d+ osds have (?:slow|blocked) requests", "REQUEST_SLOW"),
    (r"\d+ unscrubbed pgs$", "PG_NOT_SCRUBBED"),
    (r"pool \S+ pg_num \d+ > pgp_num \d+$", "SMALLER_PGP_NUM"),
    (r"pool \S+ has many more objects per pg than average", "MANY_OBJECTS_PER_PG"),
    (r"'.*' at/near target max", "CACHE_POOL_NEAR_FULL"),
    (r"mds cluster is degraded", "FS_DEGRADED"),
)
"""Messages up to Ceph 11. Groups that are not clean, but neither degraded nor unavailable, are being moved."""
_OLD_DETAILS = (
    (r"\d+ ops are blocked > |osd\.\d+ has blocked requests|\d+ osds have slow", "REQUEST_SLOW"),
    (r"osd\.\d+ is near full", "OSD_NEARFULL"),
    (r"osd\.\d+ is full", "OSD_FULL"),
    (r"osd\.\d+ is down", "OSD_DOWN"),
    (r"mon\.\S+ .*\bis down", "MON_DOWN"),
    (r"pg \S+ is .*\binconsistent\b", "PG_DAMAGED"),
    (r"pg \S+ is .*\b(?:down|incomplete|peering|stale|inactive)\b", "PG_AVAILABILITY"),
    (r"pg \S+ is .*\b(?:degraded|undersized)\b", "PG_DEGRADED"),
)
"""Lines of `ceph health detail` up to Ceph 11 by the check that they belong to."""
_CODES = tuple((expression(pattern), code) for pattern, code in (*_MESSAGES, *_OLD_MESSAGES))
_DETAILS = tuple((expression(pattern), code) for pattern, code in _OLD_DETAILS)


def code_of(message: str) -> str:
    """Return the code of a check by its message, UNKNOWN if it is not listed.

    1 host (2 osds) down        OSD_HOST_DOWN
    """
    for pattern, code in _CODES:
        found = pattern.match(message)
        if found is not None:
            return code or f"OSD_{found['kind'].upper()}_DOWN"
    return UNKNOWN


def code_of_detail(line: str) -> str:
    """Return the code of the check to which a detail without a code belongs (up to Ceph 11), "" if unknown.

    1 ops are blocked > 1048.58 sec on osd.2        REQUEST_SLOW
    """
    return next((code for pattern, code in _DETAILS if pattern.match(line)), "")


def severities(overall: str, found: list[tuple[str, str]]) -> list[str]:
    """Return the severity of each check, given as code and message, where only the overall health is printed.

    All are warnings unless the cluster is in error; then those that are always errors are, and those that are not
    listed. If none of them is listed so, any may be the one.
    """
    if overall != "HEALTH_ERR":
        return ["HEALTH_WARN"] * len(found)
    serious = [code in SERIOUS or code == UNKNOWN or _stops(code, message) for code, message in found]
    return ["HEALTH_ERR" if one or not any(serious) else "HEALTH_WARN" for one in serious]


def _stops(code: str, message: str) -> bool:
    return code == "OSDMAP_FLAGS" and "full" in STOPPING & flags_in(message)
